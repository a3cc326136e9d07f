/* What a misspelt name was meant to be. */
#ifndef NEAREST_H
#define NEAREST_H

#include "options/opts_table.h"

/* Whether at most so many edits turn one text into the other: adding, removing
 * or replacing a character, or swapping two. */
bool nearest_edits_suffice(const char *one, const char *other, int edits);

/* The long name that is like this one, both without dashes, and its option; or
 * NULL. From anywhere, the name may also be spelt like a variable (without
 * RLOCKRUN_), the long name is empty if the option has only a variable, and an
 * option that is for the command line only must be spelt right. */
const char *nearest_name(const char *name, bool anywhere,
    enum option_id *meant);

/* The long options that begin with this text, with their dashes and a comma
 * between them, each by one name, and how many; otherwise the one that is like
 * it. *first is set to the first. NULL if there is none. To be freed. */
char *nearest_list(const char *start, size_t *count, enum option_id *first);

/* The action whose name the word is, or which other programs call so, as a
 * subcommand: the long name of its option, or NULL. */
const char *nearest_action(const char *word, enum option_id *id);

/* Whether the text is the address of a server without a scheme, such as
 * "localhost:6379", which then becomes a URL. Anything else may be a password.
 */
bool nearest_url(const char *text, char *url, size_t size);

#endif
