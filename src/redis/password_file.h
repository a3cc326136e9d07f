/* A file with a password: one line of at most 4096 bytes, whose end does not
 * count, in a regular file or a pipe that others can neither read nor write. A
 * regular file is read again when a connection is made: see reread.h. */
#ifndef PASSWORD_FILE_H
#define PASSWORD_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "redis/reread.h"

struct password_file {
	const char *path;
	bool exposed; /* others can read it, who cannot be kept out here */
	char *text;   /* of secret.h */
	struct reread reread;
};

/* Reads it for the first time; path must outlive it. A pipe is waited for.
 * NULL, or the reason, which quotes nothing of the file; then there is nothing
 * to free. */
const char *password_file_init(struct password_file *file, const char *path);

/* Whether this is a secret that somebody else has mounted for us, read-only: it
 * belongs to root, and its mode cannot be changed here. Such volumes are often
 * 0444 or 0644 in a container without other users, so a secret there that
 * others can read is worth a warning, and no reason to refuse a run. */
bool password_file_is_mounted(const char *path, const struct stat *status);

/* Its newest password, for the caller to free by secret_free; anew: see
 * reread.h. Never blocks. */
char *password_file_get(struct password_file *file, bool anew);

void password_file_fini(struct password_file *file);

#endif
