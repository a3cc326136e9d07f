/* Checks how the options go together, and fills in the defaults that depend on
 * others. */
#ifndef OPTS_CHECK_H
#define OPTS_CHECK_H

#include "app/settings.h"

/* rest is what stands behind the options. Mistakes go to settings_fail. */
void opts_check(struct settings *settings, char **rest);

#endif
