/* A configuration file as bytes: found, checked and read. It belongs to root or
 * to the effective user, and nobody else can write to it. */
#ifndef CONF_FILE_H
#define CONF_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct conf_file {
	const char *path; /* the caller's */
	char *text;	  /* NULL if there is no file; text[length] is free */
	size_t length;
	bool readable; /* by others */
};

/* NULL, or the reason why it cannot be used. If it is optional, a file that
 * does not exist, or is in a folder that this user may not enter, is none; but
 * a link to nothing is a mistake. Never blocks on a pipe. */
const char *conf_file_read(struct conf_file *file, const char *path,
    bool optional);

/* Wipes the text, in which there may be passwords. */
void conf_file_fini(struct conf_file *file);

#endif
