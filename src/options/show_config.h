/* --show-config: what would hold for a run, and where it comes from. */
#ifndef SHOW_CONFIG_H
#define SHOW_CONFIG_H

#include "options/settings.h"

/* One option a line, as in a configuration file, with its origin as a comment.
 * Without passwords, and without options that have no value. To be called after
 * opts_check; to be freed. */
char *show_config(const struct settings *settings);

#endif
