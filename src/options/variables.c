#include "options/variables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "options/nearest.h"
#include "options/opts_table.h"

#define PREFIX "RLOCKRUN_"

enum { NAME_SIZE = 64 };

/* A nested run inherits these, and a run that a hook starts: ENVIRONMENT and
 * HOOKS in rlockrun(1). */
static const char *const set_by_us[] = {PREFIX "KEY", PREFIX "TOKEN",
    PREFIX "FENCE", PREFIX "TTL_MS", PREFIX "HELD", PREFIX "SHORT_TOKEN",
    PREFIX "SERVER", PREFIX "EVENT", PREFIX "MESSAGE", PREFIX "WAITED_MS",
    PREFIX "HELD_MS", PREFIX "HOLDER", PREFIX "STATUS", PREFIX "REASON", NULL};

static bool
is_known(const char *name)
{
	for (const char *const *known = set_by_us; *known != NULL; known++)
		if (strcmp(name, *known) == 0)
			return true;
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (opts_table[id].variable != NULL &&
		    strcmp(name, opts_table[id].variable) == 0)
			return true;
	return false;
}

static void
warn_unknown(const char *name)
{
	const struct opts_row *row = nearest_option(name + strlen(PREFIX));

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
