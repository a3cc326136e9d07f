/* Checks combinations of options, and fills in defaults that depend on other
 * options. */
#ifndef OPTS_CHECK_H
#define OPTS_CHECK_H

#include "options/settings.h"

/* rest is what follows the options. Mistakes go to settings_fail. */
void opts_check(struct settings *settings, char **rest);

#endif
