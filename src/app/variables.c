#include "app/variables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/opts_table.h"
#include "base/log.h"

#define PREFIX "RLOCKRUN_"

enum { NAME_SIZE = 64, EDITS_MAX = 2 };

/* A nested run inherits these: THE JOB in rlockrun(1). */
static const char *const of_the_job[] = {PREFIX "KEY", PREFIX "TOKEN",
    PREFIX "FENCE", PREFIX "TTL_MS", PREFIX "HELD", NULL};

static bool
is_known(const char *name)
{
	for (const char *const *known = of_the_job; *known != NULL; known++)
		if (strcmp(name, *known) == 0)
			return true;
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (opts_table[id].variable != NULL &&
		    strcmp(name, opts_table[id].variable) == 0)
			return true;
	return false;
}

/* Whether at most so many edits turn one text into the other: adding, removing
 * or replacing a character, or swapping two. */
static bool
is_near(const char *one, const char *other, int edits)
{
	while (*one != '\0' && *one == *other) {
		one++;
		other++;
	}
	if (*one == *other)
		return true;
	if (edits-- == 0)
		return false;
	if ((*one != '\0' && is_near(one + 1, other, edits)) ||
	    (*other != '\0' && is_near(one, other + 1, edits)))
		return true;
	if (*one == '\0' || *other == '\0')
		return false;
	return is_near(one + 1, other + 1, edits) ||
	       (one[0] == other[1] && one[1] == other[0] &&
		   is_near(one + 2, other + 2, edits));
}

/* "max-run" and "Max_Run" become "MAX_RUN". */
static void
spell(const char *name, char text[NAME_SIZE])
{
	snprintf(text, NAME_SIZE, "%s", name);
	for (; *text != '\0'; text++) {
		if (*text == '-')
			*text = '_';
		else if (*text >= 'a' && *text <= 'z')
			*text -= 'a' - 'A';
	}
}

/* Half of a short name must be right. */
static bool
is_meant(const char *known, const char *wanted, int edits)
{
	char name[NAME_SIZE];

	spell(known, name);
	return (size_t)edits * 2 <= strlen(name) &&
	       is_near(wanted, name, edits);
}

/* Whether the option has a name like this one, for so many edits. */
static bool
has_name(const struct opts_row *row, const char *wanted, int edits)
{
	for (const char *const *known = row->longs; *known != NULL; known++)
		if (is_meant(*known, wanted, edits))
			return true;
	return row->variable != NULL &&
	       strncmp(row->variable, PREFIX, strlen(PREFIX)) == 0 &&
	       is_meant(row->variable + strlen(PREFIX), wanted, edits);
}

/* The option that is meant by what follows the prefix, or NULL. */
static const struct opts_row *
find_option(const char *name)
{
	char wanted[NAME_SIZE];

	spell(name, wanted);
	for (int edits = 0; edits <= EDITS_MAX; edits++)
		for (enum option_id id = 0; id < OPT_COUNT; id++) {
			const struct opts_row *row = &opts_table[id];

			if (row->help != NULL &&
			    (edits == 0 || row->variable != NULL) &&
			    has_name(row, wanted, edits))
				return row;
		}
	return NULL;
}

static void
warn_unknown(const char *name)
{
	const struct opts_row *row = find_option(name + strlen(PREFIX));

	if (row == NULL)
		log_warnx("%s is not a variable of rlockrun; ignored", name);
	else if (row->variable == NULL)
		log_warnx("%s is ignored: --%s is for the command line only",
		    name, row->longs[0]);
	else
		log_warnx("%s is not a variable of rlockrun; ignored "
			  "(did you mean %s?)",
		    name, row->variable);
}

void
variables_warn_unknown(void)
{
	char name[NAME_SIZE];

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
		size_t length = strcspn(*entry, "=");

		/* An empty variable counts as unset. */
		if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 ||
		    (*entry)[length] == '\0' || (*entry)[length + 1] == '\0')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *entry);
		if (!is_known(name))
			warn_unknown(name);
	}
}
