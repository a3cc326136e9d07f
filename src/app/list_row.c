#include "app/list_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const list_titles[LIST_COLUMNS] = {"NAME", "KIND", "HOLDER", "PID",
    "USER", "HELD", "TTL", "WAITING", "FENCE", "LABEL"};

static const char *
or_dash(const char *text)
{
	return *text != '\0' ? text : "-";
}

static void
describe_holder(struct list_row *row, const struct holder *who)
{
	size_t length = strlen(row->left);
	const char **cells = row->cells;

	cells[LIST_HOLDER] = or_dash(who->host);
	cells[LIST_PID] = who->state == HOLDER_HOLD ? "-" : or_dash(who->pid);
	cells[LIST_USER] = or_dash(who->user);
	cells[LIST_LABEL] = or_dash(who->label);
	if (who->held_ms >= 0)
		holder_describe_age(who->held_ms, row->held, sizeof(row->held));
	if (who->state == HOLDER_ENDED)
		snprintf(row->left + length, sizeof(row->left) - length,
		    " kept");
	else if (who->state == HOLDER_HOLD)
		snprintf(row->left + length, sizeof(row->left) - length,
		    " hold");
}

void
list_row_describe(struct list_row *row, const struct look *look,
    const char *name)
{
	const struct look_holder *oldest = look_oldest(look);

	*row = (struct list_row){.cells = {name, row->kind, "(another client)",
				     "-", "-", row->held, row->left,
				     row->waiting, or_dash(look->fence), "-"},
	    .held = "-",
	    .waiting = "?"};
	look_describe_kind(look, row->kind, sizeof(row->kind));
	look_describe_left(look->left_ms, row->left, sizeof(row->left));
	if (oldest != NULL)
		describe_holder(row, &oldest->who);
	else
		row->cells[LIST_FENCE] = "-"; /* that of an earlier holder */
	if (look->waiting >= 0)
		snprintf(row->waiting, sizeof(row->waiting), "%" PRId64,
		    look->waiting);
}
