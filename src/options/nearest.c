#include "options/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PREFIX "RLOCKRUN_"

#define DIGITS "0123456789"
#define HOST                         \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz" DIGITS "-."

enum { NAME_SIZE = 64, EDITS_MAX = 2 };

bool
nearest_edits_suffice(const char *one, const char *other, int edits)
{
	while (*one != '\0' && *one == *other) {
		one++;
		other++;
	}
	if (*one == *other)
		return true;
	if (edits-- == 0)
		return false;
	if ((*one != '\0' && nearest_edits_suffice(one + 1, other, edits)) ||
	    (*other != '\0' && nearest_edits_suffice(one, other + 1, edits)))
		return true;
	if (*one == '\0' || *other == '\0')
		return false;
	return nearest_edits_suffice(one + 1, other + 1, edits) ||
	       (one[0] == other[1] && one[1] == other[0] &&
		   nearest_edits_suffice(one + 2, other + 2, edits));
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
	return *name != '\0' && (size_t)edits * 2 <= strlen(name) &&
	       (size_t)edits * 2 <= strlen(wanted) &&
	       nearest_edits_suffice(wanted, name, edits);
}

const char *
nearest_name(const char *name, bool anywhere, enum option_id *meant)
{
	char wanted[NAME_SIZE];

	spell(name, wanted);
	for (int edits = 0; edits <= EDITS_MAX; edits++)
		for (enum option_id id = 0; id < OPT_COUNT; id++) {
			const struct opts_row *row = &opts_table[id];
			const char *variable = row->variable;
			const char *found = NULL;

			if (*row->help == '\0' ||
			    (anywhere && edits > 0 && *variable == '\0'))
				continue;
			if (anywhere &&
			    strncmp(variable, PREFIX, strlen(PREFIX)) == 0 &&
			    is_meant(variable + strlen(PREFIX), wanted, edits))
				found = row->longs[0];
			for (size_t i = OPTS_LONGS_MAX; i-- > 0;)
				if (is_meant(row->longs[i], wanted, edits))
					found = row->longs[i];
			if (found != NULL) {
				*meant = id;
				return found;
			}
		}
	return NULL;
}

char *
nearest_list(const char *start, size_t *count, enum option_id *first)
{
	const char *near;
	char *list = NULL;

	*count = 0;
	for (enum option_id id = 0; id < OPT_COUNT && *start != '\0'; id++) {
		const struct opts_row *row = &opts_table[id];
		size_t i = 0;
		char *longer;

		while (i < OPTS_LONGS_MAX &&
		       strncmp(row->longs[i], start, strlen(start)) != 0)
			i++;
		if (*row->help == '\0' || i == OPTS_LONGS_MAX)
			continue;
		if (list == NULL)
			*first = id;
		longer = mem_printf("%s%s--%s", list != NULL ? list : "",
		    list != NULL ? ", " : "", row->longs[i]);
		free(list);
		list = longer;
		++*count;
	}
	near = *count == 0 ? nearest_name(start, false, first) : NULL;
	if (near != NULL) {
		list = mem_printf("--%s", near);
		*count = 1;
	}
	return list;
}

const char *
nearest_action(const char *word, enum option_id *id)
{
	static const struct {
		char word[8], action[16];
	} habits[] = {{"config", "show-config"}, {"info", "status"},
	    {"release", "force-release"}, {"show", "status"},
	    {"unlock", "force-release"}};

	for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++)
		if (strcmp(habits[i].word, word) == 0)
			word = habits[i].action;
	for (*id = 0; *id < OPT_COUNT; ++*id) {
		const struct opts_row *row = &opts_table[*id];

		if (row->action != OPTS_RUN && *row->help != '\0' &&
		    strcmp(row->longs[0], word) == 0)
			return row->longs[0];
	}
	return NULL;
}

bool
nearest_url(const char *text, char *url, size_t size)
{
	size_t host = strspn(text, HOST);
	size_t port = text[host] == ':' ? strspn(text + host + 1, DIGITS) : 0;

	if (host == 0 || text[host + (port > 0 ? port + 1 : 0)] != '\0' ||
	    (port == 0 && strcmp(text, "localhost") != 0))
		return false;
	snprintf(url, size, "redis://%s", text);
	return true;
}
