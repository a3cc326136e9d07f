/* What a misspelt name was meant to be. */
#ifndef NEAREST_H
#define NEAREST_H

#include "options/opts_table.h"

/* The option with a name like this one, in the spelling of a variable (without
 * RLOCKRUN_) or of an option; or NULL. An option that is for the command line
 * only must be spelt right. */
const struct opts_row *nearest_option(const char *name);

/* The long option with a name like this one on the command line, which *meant
 * is set to, or NULL; both without dashes. */
const char *nearest_long(const char *name, enum option_id *meant);

#endif
