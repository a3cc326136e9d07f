/* What the configuration files say for this run: which of their values hold for
 * its locks and its profile. */
#ifndef CONFIGURED_H
#define CONFIGURED_H

#include "options/conf_file.h"
#include "options/settings.h"

#define CONFIGURED_FILES_MAX 2

struct configured {
	struct conf_file files[CONFIGURED_FILES_MAX];
	size_t count;
	char *user_path;
};

/* Reads the files that settings->opts names, or the usual ones, and sets each
 * option that has no value yet. Each line of each file is checked, whether it
 * counts or not. Mistakes go to settings_fail. The places in settings point
 * into *configured. */
void configured_apply(struct configured *configured, struct settings *settings);

/* Wipes what was read. */
void configured_fini(struct configured *configured);

#endif
