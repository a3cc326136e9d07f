/* The settings as text, as --show-config prints them. */
#ifndef SETTINGS_TEXT_H
#define SETTINGS_TEXT_H

#include "options/settings.h"

/* One option a line, as in a configuration file, with its origin as a comment;
 * with --json all of them as one object. Without passwords, and without options
 * that have no value. To be called after opts_check; to be freed. */
char *settings_text(const struct settings *settings);

#endif
