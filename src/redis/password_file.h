/* A file with a password: one line of at most 4096 bytes, whose end does not
 * count, in a regular file or
 * a pipe that others can neither read nor write. A regular file is read again
 * when a connection is made: see reread.h. */
#ifndef PASSWORD_FILE_H
#define PASSWORD_FILE_H

#include "redis/reread.h"

struct password_file {
	const char *path;
	char *text; /* of secret.h */
	struct reread reread;
};

/* Reads it for the first time; path must outlive it. A pipe is waited for.
 * NULL, or the reason, which quotes nothing of the file; then there is nothing
 * to free. */
const char *password_file_init(struct password_file *file, const char *path);

/* Its newest password, for the caller to free by secret_free; anew: see
 * reread.h. Never blocks. */
char *password_file_get(struct password_file *file, bool anew);

void password_file_fini(struct password_file *file);

#endif
