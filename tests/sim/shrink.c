#include "shrink.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The promise: what stands before the colon. */
static bool
is_same(const struct outcome *a, const struct outcome *b)
{
	size_t length = strcspn(a->found, ":");

	return b->findings > 0 && strncmp(a->found, b->found, length + 1) == 0;
}

static bool
is_header(const char *line)
{
	return strncmp(line, "servers", 7) == 0;
}

/* Without the lines from first on, as many as count. Whether it still fails so.
 */
static bool
fails_without(const struct history *history, size_t first, size_t count,
    const struct outcome *outcome)
{
	char **lines = malloc(history->count * sizeof(*lines));
	struct history shorter = {.seed = history->seed, .lines = lines};
	struct outcome other;

	for (size_t i = 0; i < history->count; i++)
		if (i < first || i >= first + count ||
		    is_header(history->lines[i]))
			lines[shorter.count++] = history->lines[i];
	if (shorter.count == history->count)
		other.findings = 0;
	else
		history_play(&shorter, &other);
	free(lines);
	return is_same(outcome, &other);
}

static void
remove_lines(struct history *history, size_t first, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		if (i < first || i >= first + count ||
		    is_header(history->lines[i]))
			history->lines[kept++] = history->lines[i];
		else
			free(history->lines[i]);
	}
	history->count = kept;
}

/* Half of the lines at a time, then a quarter, ..., then single ones, until
 * none can go any more. */
void
shrink(struct history *history, const struct outcome *outcome)
{
	size_t part = history->count / 2;
	bool smaller = true;

	while (part > 1 || smaller) {
		smaller = false;
		part = part > 1 ? part : 1;
		for (size_t first = history->count; first-- > 0;) {
			size_t from = first + 1 > part ? first + 1 - part : 0;
			if (!fails_without(history, from, part, outcome))
				continue;
			remove_lines(history, from, part);
			smaller = true;
			first = from < history->count ? from : history->count;
		}
		part /= 2;
	}
}
