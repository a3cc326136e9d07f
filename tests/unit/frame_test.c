#include "admin/frame.h"

#include <stdlib.h>

#include "admin/list_row.h"
#include "base/escape.h"
#include "tap.h"

enum { ROWS_MAX = 60, COLUMNS_MAX = 260, LOCKS = 40 };

#define EVIL "\x1b]0;t\a\n\xc2\x9b\xff"
#define WIDE "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"

/* A lock that web-3 has held for 3m12s, with two waiters. */
static struct look_holder holder = {.token = (char *)"t",
    .who = {.state = HOLDER_KNOWN,
	.held_ms = 192000,
	.host = "web-3",
	.pid = "4121",
	.user = "deploy",
	.label = "nightly sync"},
    .command = (char *)"sh",
    .fence = "7"};

static struct look held = {.kind = 'x',
    .count = 1,
    .left_ms = 25000,
    .holders = &holder,
    .listed = 1,
    .fence = "7",
    .waiting = 2};

static struct roster roster;

/* Frames of so many locks, and of others that are not shown. */
static struct frame
frame_of(size_t rows, size_t columns, size_t count, int64_t hidden)
{
	roster.count = count;
	roster.held = (int64_t)count + hidden;
	roster.waiting = 2;
	return (struct frame){.rows = rows,
	    .columns = columns,
	    .place = "redis://h:6379, db 0, no prefix",
	    .silent_ms = -1,
	    .why = "",
	    .roster = &roster};
}

static void
fill_in(size_t count, char *name)
{
	for (size_t i = 0; i < count; i++)
		roster.locks[i] =
		    (struct roster_lock){.key = name, .look = held};
}

/* --- what a terminal does with it ---------------------------------------- */

struct screen {
	size_t rows, widest;
	bool good; /* no sequence but those that are allowed */
	char text[ROWS_MAX + 1][4 * COLUMNS_MAX];
};

/* Moves past a sequence, and returns its last letter. */
static char
take_sequence(const char **text, size_t *number)
{
	const char *at = *text + 2;
	char *end;
	char letter;

	*number = strtoul(at, &end, 10);
	at = end;
	if (*at == ';')
		at += strspn(at, ";1");
	letter = *at;
	*text = at + 1;
	return letter;
}

static void
note_width(struct screen *screen, size_t row)
{
	size_t width = escape_columns(screen->text[row], ESCAPE_TEXT);

	if (width > screen->widest)
		screen->widest = width;
}

static void
show(struct screen *screen, const struct frame *frame)
{
	char *drawn = frame_draw(frame);
	const char *text = drawn;
	size_t row = 0, number;

	*screen = (struct screen){.good = true};
	while (*text != '\0') {
		char letter = '\0';

		if (*text == '\033')
			letter = take_sequence(&text, &number);
		if (letter == 'H' && number <= ROWS_MAX) {
			row = number;
		} else if (letter == 'J') {
			screen->good = screen->good && row == screen->rows + 1;
		} else if (letter == '\0') {
			strncat(screen->text[row], text++, 1);
			screen->rows = row;
		} else if (letter != 'm' && letter != 'K') {
			screen->good = false;
		}
	}
	for (row = 1; row <= screen->rows; row++)
		note_width(screen, row);
	free(drawn);
}

/* --- tests ---------------------------------------------------------------- */

static bool
fits(struct frame frame)
{
	static struct screen screen;
	size_t widest = frame.columns > 1 ? frame.columns - 1 : 1;

	show(&screen, &frame);
	if (screen.good && screen.rows <= frame.rows && screen.widest <= widest)
		return true;
	printf("# %zu rows of %zu columns: %zu, %zu\n", frame.rows,
	    frame.columns, screen.rows, screen.widest);
	return false;
}

static bool
fits_at_all_sizes(bool silent)
{
	for (size_t rows = 1; rows < ROWS_MAX; rows += rows < 8 ? 1 : 13) {
		for (size_t columns = 1; columns < COLUMNS_MAX; columns++) {
			size_t room = frame_room(rows);
			struct frame frame = frame_of(rows, columns,
			    room < LOCKS ? room : LOCKS, 3);

			if (silent) {
				frame.silent_ms = 15000;
				frame.why = "cannot connect to " WIDE;
			}
			if (!fits(frame))
				return false;
		}
	}
	return true;
}

static void
test_sizes(void)
{
	static char longest[1025];
	static char plain[] = "job:sync", wide[] = WIDE WIDE WIDE WIDE WIDE,
		    evil[] = EVIL;
	char *names[] = {plain, wide, evil, longest};

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		fill_in(LOCKS, names[i]);
		ok(fits_at_all_sizes(false) && fits_at_all_sizes(true),
		    "fits any terminal, %zu", i);
	}
}

static void
shows(size_t columns, const char *head, const char *titles, const char *row)
{
	static struct screen screen;
	static char name[] = "job:sync";
	struct frame frame = frame_of(10, columns, 1, 0);

	fill_in(1, name);
	show(&screen, &frame);
	if (head != NULL)
		ok(strncmp(screen.text[1], head, strlen(head)) == 0, "%zu: %s",
		    columns, screen.text[1]);
	is_text(screen.text[2], titles, "titles");
	is_text(screen.text[3], row, "a lock");
}

static void
test_columns(void)
{
	shows(10, "1 held", "NAME", "job:sync");
	shows(20, "1 held, 2 waiting", "NAME     HELD", "job:sync 3m12s");
	shows(36, "1 held, 2 waiting  ", "NAME     HELD   WAITING HOLDER",
	    "job:sync 3m12s  2       web-3");
	shows(62, NULL, "NAME      HELD    WAITING  HOLDER  LAST RUN  JOB",
	    "job:sync  3m12s   2        web-3   -         nightly sync");
	shows(140, NULL,
	    "NAME      KIND       HELD    TTL    WAITING  HOLDER  PID   USER"
	    "    FENCE  LAST RUN  JOB",
	    "job:sync  exclusive  3m12s   25.0s  2        web-3   4121  deploy"
	    "  7      -         nightly sync");
}

static const char *
head_of(struct frame frame)
{
	static struct screen screen;

	show(&screen, &frame);
	return screen.text[1];
}

static void
test_head(void)
{
	struct frame frame = frame_of(10, 80, 1, 0);
	const char *text;

	frame.is_first = true;
	text = head_of(frame);
	ok(strncmp(text, "reading  ", 9) == 0, "%s", text);
	frame.is_first = false;
	roster.held = 13;
	text = head_of(frame);
	ok(strncmp(text, "13 held, 2 waiting, 12 not shown  ", 34) == 0, "%s",
	    text);
	frame.columns = 10;
	is_text(head_of(frame), "+12 more", "ten columns");
	frame.silent_ms = 15000;
	is_text(head_of(frame), "old: 15s", "silent, ten columns");
	frame.columns = 5;
	is_text(head_of(frame), "15s", "silent, five columns");
	frame.columns = 80;
	frame.why = "it is gone";
	text = head_of(frame);
	ok(strncmp(text, "nothing new since ", 18) == 0 &&
		strstr(text, ", 15s ago: it is gone") != NULL,
	    "%s", text);
}

static void
test_times(void)
{
	struct look lasting = held;
	struct list_row row;

	list_row_describe(&row, &held, "n", 30000);
	is_text(row.held, "3m42s", "it is held for longer");
	is_text(row.left, "0.0s", "and its lease has ended");
	lasting.left_ms = -1;
	list_row_describe(&row, &lasting, "n", 30000);
	is_text(row.left, "no limit", "one that does not end");
}

static void
test_last_runs(void)
{
	struct look look = {.fence = "",
	    .now_ms = 1000000,
	    .left_ms = -2,
	    .last = {.exists = true,
		.start_ms = 500000,
		.end_ms = 700000,
		.status = 0,
		.who = {.host = "web-7", .pid = "9", .user = "u"}}};
	struct list_row row;

	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "ok, 5m00s ago", "a success");
	is_text(row.cells[LIST_HELD], "free", "of a free lock");
	is_text(row.cells[LIST_HOLDER], "web-7", "which ran there");
	look.last.status = 143;
	list_row_describe(&row, &look, "n", 60000);
	is_text(row.last, "status 143, 6m00s ago", "a failure, a minute later");
	look.last.status = -1;
	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "ended, 5m00s ago", "without a status");
	look.last.end_ms = 0;
	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "did not finish", "without an end");
	look.last.holds = true;
	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "-", "the one that runs");
	look.success.end_ms = 400000;
	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "ok, 10m00s ago", "and the success before it");
	look.success.end_ms = 1060000;
	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "ok, 0s ago", "a clock that is a little slower");
	look.success.end_ms = 4600000;
	list_row_describe(&row, &look, "n", 0);
	is_text(row.last, "ok, 1h00m in the future", "one that was stepped");
	list_row_describe(&row, &look, "n", 3600000);
	is_text(row.last, "ok, 0s ago", "until it is that time");
}

int
main(void)
{
	test_sizes();
	test_columns();
	test_head();
	test_times();
	test_last_runs();
	return tap_done();
}
