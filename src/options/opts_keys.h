/* The keys of the locks, and the command that runs under them; what was meant
 * where one is missing. */
#ifndef OPTS_KEYS_H
#define OPTS_KEYS_H

#include "options/settings.h"

/* rest is what follows the options. Mistakes go to settings_fail. */
void opts_keys_check(struct settings *settings, char **rest);
void opts_keys_check_command(struct settings *settings, char **rest);

#endif
