/* A row of --list: what no table of tests/tables/list.txt shows. */
#include "admin/lock_row.h"

#include "tap.h"

#define HELD(how)                                                              \
	.left_ms = 19500, .listed = 1, .holders = (struct look_holder[])       \
	{                                                                      \
		{                                                              \
			.token = "t", .token_is_whole = true, .command = "sh", \
			.who = {.state = (how),                                \
				.host = "web-1",                               \
				.pid = "41",                                   \
				.user = "u",                                   \
				.held_ms = -1,                                 \
				.left_ms = 19500 }                             \
		}                                                              \
	}
#define ALONE(how) HELD(how), .kind = 'x', .count = 1

static const struct {
	const char *what;
	struct look look;
	const char *cells; /* behind the name */
} rows[] = {
    {"a holder with a record", {ALONE(HOLDER_KNOWN), .fence = "7"},
	"exclusive|web-1|41|u|-|19.5s|0|7|-"},
    {"a pause", {ALONE(HOLDER_PAUSED)},
	"exclusive|web-1|-|u|-|19.5s paused|0|-|-"},
    {"another client, behind one with a fence",
	{.kind = 'x', .count = 1, .left_ms = -1, .fence = "7", .waiting = -1},
	"exclusive|(another client)|-|-|-|no limit|?|-|-"},
    {"more holders than permits",
	{HELD(HOLDER_KNOWN), .kind = 'p', .count = 2, .permits = 1},
	"2/1 permit|web-1|41|u|-|19.5s|0|-|-"},
};

int
main(void)
{
	static const struct opts opts = {.prefix = "x:"};
	static const struct client client = {.opts = &opts};
	static const struct key_names keys = {.lock = (char *)"x:job"};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table table;
		struct row row = {.table = &table};
		struct look look = rows[i].look;
		char got[512] = "";

		table_init(&table, LOCK_ROW_HELD);
		table_add(&table);
		look.keys = &keys;
		lock_row_put(&row, &look, &client);
		is_text(table.cell[1][0], "job", rows[i].what);
		for (size_t at = 1; at < table.columns; at++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got),
			    "%s%s", at > 1 ? "|" : "", table.cell[1][at]);
		is_text(got, rows[i].cells, "  its cells");
		table.out = fopen("/dev/null", "w");
		table_print(&table);
		fclose(table.out);
	}
	return tap_done();
}
