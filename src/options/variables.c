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
static const char set_by_us[][16] = {"KEY", "TOKEN", "FENCE", "TTL_MS", "HELD",
    "SHORT_TOKEN", "SERVER", "EVENT", "MESSAGE", "WAITED_MS", "HELD_MS",
    "HOLDER", "STATUS", "REASON"};

static bool
is_known(const char *name)
{
	for (size_t i = 0; i < sizeof(set_by_us) / sizeof(*set_by_us); i++)
		if (strcmp(name + strlen(PREFIX), set_by_us[i]) == 0)
			return true;
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (strcmp(name, opts_table[id].variable) == 0)
			return true;
	return false;
}

static void
warn_unknown(const char *name)
{
	const struct opts_row *row = nearest_option(name + strlen(PREFIX));

	if (row == NULL)
		log_warnx("%s is not a variable of rlockrun; ignored", name);
	else if (*row->variable == '\0')
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
