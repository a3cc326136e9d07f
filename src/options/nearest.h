/* What a misspelt name was meant to be. */
#ifndef NEAREST_H
#define NEAREST_H

#include "options/opts_table.h"

/* The option with a name like this one, in the spelling of a variable (without
 * RLOCKRUN_) or of an option; or NULL. An option that is for the command line
 * only must be spelt right. */
const struct opts_row *nearest_option(const char *name);

/* The long options that begin with this text, with their dashes and a comma
 * between them, each by one name, and how many; *first is set to the first.
 * NULL if there is none, or the text is empty. To be freed. */
char *nearest_list(const char *start, size_t *count, enum option_id *first);

/* The action whose name the word is, or which other programs call so, as a
 * subcommand: the long name of its option, or NULL. */
const char *nearest_action(const char *word, enum option_id *id);

/* Whether the text is the address of a server without a scheme, such as
 * "localhost:6379", which then becomes a URL. Anything else may be a password.
 */
bool nearest_url(const char *text, char *url, size_t size);

/* The long option with a name like this one on the command line, which *meant
 * is set to, or NULL; both without dashes. */
const char *nearest_long(const char *name, enum option_id *meant);

#endif
