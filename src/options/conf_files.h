/* The configuration files of a run, and which of their lines hold for its locks
 * and its profile. */
#ifndef CONF_FILES_H
#define CONF_FILES_H

#include "options/conf.h"

#define CONF_FILES_MAX 2

struct conf_files {
	struct conf files[CONF_FILES_MAX];
	size_t count;
	char *user_path;
};

/* Reads the files that settings->opts names, or the usual ones, and sets each
 * option that has no value yet. Each line of each file is checked, whether it
 * counts or not. Mistakes go to settings_fail. Places and secret texts in
 * settings point into *files. */
void conf_files_apply(struct conf_files *files, struct settings *settings);

/* Wipes what was read. */
void conf_files_close(struct conf_files *files);

#endif
