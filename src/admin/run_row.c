#include "admin/run_row.h"

#include <stdio.h>
#include <string.h>

#include "admin/look.h"
#include "base/moment.h"
#include "base/table.h"

const char run_row_titles[RUN_COLUMNS][8] = {"STARTED", "TOOK", "WAITED",
    "STATUS", "REASON", "HOST", "PID", "USER", "FENCE", "LABEL"};

void
run_row_describe(struct run_row *row, const struct look_run *run,
    int64_t now_ms)
{
	const struct holder *who = &run->who;
	int64_t until_ms = look_run_is_on(run) ? now_ms : run->end_ms;

	*row = (struct run_row){.cells = {row->started, row->took, row->waited,
				    row->status, "", table_or_dash(who->host),
				    table_or_dash(who->pid),
				    table_or_dash(who->user),
				    table_or_dash(run->fence),
				    table_or_dash(who->label)},
	    .took = "-",
	    .waited = "-",
	    .status = "-"};
	look_describe_time(run->start_ms, now_ms, row->started,
	    sizeof(row->started));
	if (until_ms > 0)
		moment_describe_age(until_ms - run->start_ms, row->took,
		    sizeof(row->took));
	if (run->waited_ms >= 0)
		moment_describe_age(run->waited_ms, row->waited,
		    sizeof(row->waited));
	if (run->status >= 0)
		snprintf(row->status, sizeof(row->status), "%d", run->status);
	row->cells[RUN_REASON] = look_run_is_on(run) ? "running"
				 : run->end_ms == 0
				     ? "no end recorded"
				     : table_or_dash(run->reason);
}
