/* A row of --list, a second after its lock was looked at: what no table of
 * tests/tables/list.txt shows, above all rows of the live view, which has last
 * runs. */
#include "admin/list_row.h"

#include "tap.h"

#define HELD(how)                                                        \
	.left_ms = 19500, .listed = 1, .holders = (struct look_holder[]) \
	{                                                                \
		{                                                        \
			.token = (char *)"t", .token_is_whole = true,    \
			.command = (char *)"sh",                         \
			.who = {.state = (how),                          \
				.host = "web-1",                         \
				.pid = "41",                             \
				.user = "u",                             \
				.held_ms = -1,                           \
				.left_ms = 19500 }                       \
		}                                                        \
	}
#define ALONE(how) HELD(how), .kind = 'x', .count = 1
#define RUN                               \
	.exists = true, .start_ms = 1000, \
	.who = {.state = HOLDER_KNOWN,    \
	    .host = "web-3",              \
	    .pid = "4",                   \
	    .user = "ci"}

static const struct {
	const char *what;
	struct look look;
	const char *cells; /* behind the name */
} rows[] = {
    {"a run that did not finish",
	{.left_ms = -1, .now_ms = 900000, .last = {RUN, .status = -1}},
	"free|web-3|4|ci|free|-|0|-|-|did not finish|-"},
    {"one that has failed",
	{.left_ms = -1,
	    .now_ms = 900000,
	    .last = {RUN, .end_ms = 247000, .status = 3}},
	"free|web-3|4|ci|free|-|0|-|-|status 3, 10m54s ago|-"},
    {"one that was fine, of a lock that is held",
	{ALONE(HOLDER_KNOWN), .now_ms = 900000,
	    .last = {RUN, .end_ms = 247000, .holds = true}},
	"exclusive|web-1|41|u|-|18.5s|0|-|-|ok, 10m54s ago|sh"},
    {"a run that holds the lock, and the success before",
	{ALONE(HOLDER_KNOWN), .now_ms = 900000,
	    .last = {RUN, .holds = true, .status = -1},
	    .success = {.host = "web-2", .end_ms = 247000}},
	"exclusive|web-1|41|u|-|18.5s|0|-|-|ok, 10m54s ago|sh"},
    {"a run that holds the lock, and none before",
	{ALONE(HOLDER_KNOWN), .last = {RUN, .holds = true, .status = -1}},
	"exclusive|web-1|41|u|-|18.5s|0|-|-|-|sh"},
    {"a pause", {ALONE(HOLDER_PAUSED)},
	"exclusive|web-1|-|u|-|18.5s paused|0|-|-|-|sh"},
    {"more holders than permits",
	{HELD(HOLDER_KNOWN), .kind = 'p', .count = 2, .permits = 1},
	"2/1 permit|web-1|41|u|-|18.5s|0|-|-|-|sh"},
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct list_row row;
		char got[512] = "";

		list_row_describe(&row, &rows[i].look, "job", 1000);
		is_text(row.cells[LIST_NAME], "job", rows[i].what);
		for (size_t at = LIST_KIND; at < LIST_COLUMNS; at++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got),
			    "%s%s", at > LIST_KIND ? "|" : "", row.cells[at]);
		is_text(got, rows[i].cells, "  its cells");
	}
	return tap_done();
}
