/* The variables of the environment. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "options/settings.h"

/* All variables but REDIS_URL, which counts only if no other source has a
 * server. Then, also after a mistake, RLOCKRUN_PASSWORD and
 * RLOCKRUN_SENTINEL_PASSWORD are wiped and unset, and RLOCKRUN_REDIS is left
 * without users and passwords. Texts point into the environment. */
void environment_read(struct settings *settings);
void environment_read_one(struct settings *settings, enum option_id id);

/* Warns of variables that look like ours and are not, without their values:
 * misspelt ones, and those of options that only the command line has. Those
 * that are set for a job or a hook are ours. */
void environment_warn_unknown(void);

#endif
