#include "admin/list_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admin/look.h"
#include "base/moment.h"

const char *const list_titles[LIST_COLUMNS] = {"NAME", "KIND", "HOLDER", "PID",
    "USER", "HELD", "TTL", "WAITING", "FENCE", "LABEL", "LAST RUN", "JOB"};

static const char *
or_dash(const char *text)
{
	return *text != '\0' ? text : "-";
}

static void
describe_who(struct list_row *row, const struct holder *who)
{
	row->cells[LIST_HOLDER] = or_dash(who->host);
	row->cells[LIST_PID] = or_dash(who->pid);
	row->cells[LIST_USER] = or_dash(who->user);
	row->cells[LIST_LABEL] = row->cells[LIST_JOB] = or_dash(who->label);
}

static void
describe_holder(struct list_row *row, const struct look_holder *holder,
    int64_t elapsed_ms)
{
	const struct holder *who = &holder->who;
	size_t length = strlen(row->left);

	describe_who(row, who);
	if (holder_has_end(who))
		row->cells[LIST_PID] = "-";
	if (*who->label == '\0')
		row->cells[LIST_JOB] = or_dash(holder->command);
	if (who->held_ms >= 0)
		moment_describe_age(who->held_ms + elapsed_ms, row->held,
		    sizeof(row->held));
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

/* The last that has ended: "ok, 3m12s ago", "status 2, 3m12s ago". */
static void
describe_last(struct list_row *row, const struct look *look, int64_t elapsed_ms)
{
	const struct look_run *run = &look->last;
	bool runs = run->holds && run->end_ms == 0;
	int64_t end_ms = runs ? look->success.end_ms : run->end_ms;
	char how[32] = "ended", ago[64];

	if (!run->exists || (runs && end_ms == 0))
		return;
	if (runs || run->status == 0)
		snprintf(how, sizeof(how), "ok");
	else if (run->status > 0)
		snprintf(how, sizeof(how), "status %d", run->status);
	look_describe_ago(end_ms, look->now_ms + elapsed_ms, ago, sizeof(ago));
	if (end_ms == 0)
		snprintf(row->last, sizeof(row->last), "did not finish");
	else
		snprintf(row->last, sizeof(row->last), "%s, %s", how, ago);
}

void
list_row_describe(struct list_row *row, const struct look *look,
    const char *name, int64_t elapsed_ms)
{
	const struct look_holder *oldest = look_oldest(look);
	int64_t left_ms = look->left_ms;

	*row =
	    (struct list_row){.cells = {name, row->kind, "(another client)",
				  "-", "-", row->held, row->left, row->waiting,
				  or_dash(look->fence), "-", row->last, "-"},
		.held = "-",
		.waiting = "?",
		.last = "-"};
	if (left_ms > 0) /* otherwise it has no end */
		left_ms = left_ms > elapsed_ms ? left_ms - elapsed_ms : 0;
	look_describe_kind(look, row->kind, sizeof(row->kind));
	look_describe_left(left_ms, row->left, sizeof(row->left));
	if (look->kind == '\0') {
		snprintf(row->kind, sizeof(row->kind), "free");
		snprintf(row->held, sizeof(row->held), "free");
		snprintf(row->left, sizeof(row->left), "-");
		describe_who(row, &look->last.who);
	} else if (oldest != NULL) {
		describe_holder(row, oldest, elapsed_ms);
	} else {
		row->cells[LIST_FENCE] = "-"; /* that of an earlier holder */
	}
	if (look->waiting >= 0)
		snprintf(row->waiting, sizeof(row->waiting), "%" PRId64,
		    look->waiting);
	describe_last(row, look, elapsed_ms);
}
