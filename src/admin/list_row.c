#include "admin/list_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admin/look.h"
#include "base/moment.h"
#include "base/table.h"

const char *const list_titles[LIST_COLUMNS] = {"NAME", "KIND", "HOLDER", "PID",
    "USER", "HELD", "TTL", "WAITING", "FENCE", "LABEL"};

static void
describe_holder(struct list_row *row, const struct holder *who)
{
	size_t length = strlen(row->left);

	row->cells[LIST_HOLDER] = table_or_dash(who->host);
	row->cells[LIST_PID] =
	    holder_has_end(who) ? "-" : table_or_dash(who->pid);
	row->cells[LIST_USER] = table_or_dash(who->user);
	row->cells[LIST_LABEL] = table_or_dash(who->label);
	if (who->held_ms >= 0)
		moment_describe_age(who->held_ms, row->held, sizeof(row->held));
	if (who->state == HOLDER_ENDED)
		snprintf(row->left + length, sizeof(row->left) - length,
		    " kept");
	else if (who->state == HOLDER_HOLD)
		snprintf(row->left + length, sizeof(row->left) - length,
		    " hold");
	else if (who->state == HOLDER_PAUSED)
		snprintf(row->left + length, sizeof(row->left) - length,
		    " paused");
}

void
list_row_describe(struct list_row *row, const struct look *look,
    const char *name)
{
	const struct look_holder *oldest = look_oldest(look);

	*row =
	    (struct list_row){.cells = {name, row->kind, "(another client)",
				  "-", "-", row->held, row->left, row->waiting,
				  table_or_dash(look->fence), "-"},
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
