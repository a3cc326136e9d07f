/* Password files: one line of at most 4096 bytes, in a regular file or a pipe
 * that others can neither read nor write. */
#ifndef PASSWORD_H
#define PASSWORD_H

/* Sets *password, memory of secret.h. NULL, or the reason
 * (which quotes nothing of the file) with *password untouched. */
const char *password_read(const char *path, char **password);

#endif
