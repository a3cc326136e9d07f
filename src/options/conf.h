/* A configuration file: found, checked and read; then one item a line, one
 * after the other, in the syntax of rlockrun.conf(5). What names and values
 * mean is for the caller. */
#ifndef CONF_H
#define CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "options/settings.h"

/* The only file that may belong to a root whom we do not know: see
 * is_of_outer_root. */
#define CONF_OF_THE_HOST RLOCKRUN_SYSCONFDIR "/rlockrun.conf"

enum conf_item {
	CONF_END,
	CONF_HEADING, /* a section begins */
	CONF_VALUE,
	CONF_MISTAKE,
};

struct conf {
	char *text; /* NULL if there is no file */
	size_t length;
	struct stat status; /* of the file */
	char *rest;
	/* Of the item. The section has the name of the profile, or the glob, or
	 * an empty one. */
	enum origin origin;
	struct place place;
	const char *name, *value; /* of CONF_VALUE */
	const char *mistake;	  /* quotes nothing of the text */
};

/* Reads the file. NULL, or the reason why it cannot be used. Nobody else may
 * write to it: it names the server and the commands of hooks. /dev/null is an
 * empty one. If it is optional, a file that does not exist, or is in a folder
 * that this user may not enter, is none; but a link to nothing is a mistake,
 * and so is a pipe. Otherwise a pipe is waited for. The path must outlive it.
 * It needs conf_close in each case. */
const char *conf_open(struct conf *conf, const char *path, bool optional);

/* Whether anybody may read it but root and its owner. */
bool conf_is_readable(const struct conf *conf);

/* For a text of another source: text and length are set. It is changed, with a
 * byte behind it. */
void conf_begin(struct conf *conf);

/* After CONF_MISTAKE only the line is known. */
enum conf_item conf_next(struct conf *conf);

/* Wipes the text, in which there may be passwords. Items point into it. */
void conf_close(struct conf *conf);

/* How a value has to be written to be read as it is. */
enum conf_form {
	CONF_PLAIN,
	CONF_QUOTED,
	CONF_IMPOSSIBLE,
};

enum conf_form conf_form_of(const char *value);

#endif
