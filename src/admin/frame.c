#include "admin/frame.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/list_row.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/moment.h"
#include "lock/holder.h"

/* Titles only where rows are not dearer. */
enum { ROWS_WITH_TITLES = 5, TEXT_MAX = 4096, COLUMNS_MAX = 1000 };

/* From here on a reason is shown, even if it is cut. */
enum { WHY_COLUMNS = 60 };

/* Columns of the table: a gap before all but the first. */
enum { GAP = 2, GAP_NARROW = 1, NARROW = 40, WHOLE = UCHAR_MAX };

#define PLAIN "\033[m"
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define UNDERLINED "\033[4m"
#define REVERSE "\033[7m"
#define ERASE_REST "\033[K"

/* The most important first: the least width for which a column is shown, unless
 * its texts need less. */
static const struct {
	unsigned char column, least;
} ranks[] = {{LIST_NAME, 20}, {LIST_HELD, WHOLE}, {LIST_WAITING, WHOLE},
    {LIST_HOLDER, 8}, {LIST_LAST_RUN, WHOLE}, {LIST_JOB, 12}, {LIST_TTL, WHOLE},
    {LIST_PID, WHOLE}, {LIST_USER, 8}, {LIST_KIND, WHOLE}, {LIST_FENCE, WHOLE}};

/* In the order in which they are shown. */
static const enum list_column order[] = {LIST_NAME, LIST_KIND, LIST_HELD,
    LIST_TTL, LIST_WAITING, LIST_HOLDER, LIST_PID, LIST_USER, LIST_FENCE,
    LIST_LAST_RUN, LIST_JOB};

enum { SHOWN = sizeof(order) / sizeof(*order) };

struct canvas {
	FILE *out;
	size_t columns; /* that are used */
	size_t gap;	/* between those of the table */
	size_t row;	/* the next, from 1 */
};

/* --- lines --------------------------------------------------------------- */

static void
begin_line(struct canvas *canvas, const char *style)
{
	fprintf(canvas->out, "\033[%zu;1H%s", canvas->row++, style);
}

static void
end_line(struct canvas *canvas)
{
	fputs(PLAIN ERASE_REST, canvas->out);
}

/* Where there is no room at all, escape_shorten leaves three dots. */
static size_t
put_text(const struct canvas *canvas, const char *text, size_t columns)
{
	char cut[TEXT_MAX];
	size_t used;

	escape_shorten(text, ESCAPE_TEXT, columns, cut, sizeof(cut));
	used = escape_columns(cut, ESCAPE_TEXT);
	if (used > columns)
		cut[used = columns] = '\0';
	fputs(cut, canvas->out);
	return used;
}

static size_t
count_heads(size_t rows)
{
	return rows >= ROWS_WITH_TITLES ? 2 : 1;
}

size_t
frame_room(size_t rows)
{
	return rows > count_heads(rows) ? rows - count_heads(rows) : 0;
}

static size_t
count_rows(const struct frame *frame)
{
	size_t room = frame_room(frame->rows);

	return frame->roster->count < room ? frame->roster->count : room;
}

/* --- the line about all -------------------------------------------------- */

/* The first that fits, or the last. */
static const char *
choose_text(const char *const *texts, size_t columns)
{
	while (
	    texts[1] != NULL && escape_columns(*texts, ESCAPE_TEXT) > columns)
		texts++;
	return *texts;
}

static void
draw_silence(struct canvas *canvas, const struct frame *frame)
{
	char text[TEXT_MAX], medium[64], brief[48], age[32], since[32];
	const char *texts[] = {text, medium, brief, age, NULL};

	moment_describe_age(frame->silent_ms, age, sizeof(age));
	moment_describe_time(-frame->silent_ms, since, sizeof(since));
	snprintf(brief, sizeof(brief), "old: %s", age);
	snprintf(medium, sizeof(medium), "nothing new for %s", age);
	snprintf(text, sizeof(text), "nothing new since %s, %s ago%s%s", since,
	    age, *frame->why != '\0' ? ": " : "", frame->why);
	begin_line(canvas, REVERSE);
	/* A reason that is cut still says more than none. */
	put_text(canvas,
	    canvas->columns >= WHY_COLUMNS
		? text
		: choose_text(texts, canvas->columns),
	    canvas->columns);
	end_line(canvas);
}

static void
draw_counts(struct canvas *canvas, const struct frame *frame)
{
	char text[160], medium[96], brief[48], rest[TEXT_MAX];
	char without[48] = "", now[32];
	const char *texts[] = {text, medium, brief, NULL};
	int64_t held = frame->roster->held, hidden = held;
	size_t used;

	for (size_t i = 0; i < count_rows(frame); i++)
		hidden -= frame->roster->locks[i].look.kind != '\0';
	if (hidden > 0)
		snprintf(without, sizeof(without), ", %" PRId64 " not shown",
		    hidden);
	snprintf(text, sizeof(text), "%" PRId64 " held, %" PRId64 " waiting%s",
	    held, frame->roster->waiting, without);
	snprintf(medium, sizeof(medium), "%" PRId64 " held%s", held, without);
	snprintf(brief, sizeof(brief),
	    hidden > 0 ? "+%" PRId64 " more" : "%" PRId64 " held",
	    hidden > 0 ? hidden : held);
	if (frame->is_first)
		texts[0] = texts[1] = texts[2] = "reading";
	begin_line(canvas, BOLD);
	used = put_text(canvas, choose_text(texts, canvas->columns),
	    canvas->columns);
	moment_describe_time(0, now, sizeof(now));
	snprintf(rest, sizeof(rest), "  %s  %s", now,
	    frame->notice != NULL ? frame->notice : frame->place);
	if (used + 2 + strlen(now) <= canvas->columns)
		put_text(canvas, rest, canvas->columns - used);
	end_line(canvas);
}

/* --- the table ------------------------------------------------------------ */

static size_t
min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Columns whose texts change all the time keep their width for most of them, so
 * that the others stay in their place. */
static void
measure(const struct list_row *rows, size_t count, size_t *widths)
{
	for (size_t column = 0; column < LIST_COLUMNS; column++) {
		widths[column] =
		    strlen(column == LIST_HELD	? "59m59s"
			   : column == LIST_TTL ? "59.9s"
						: list_titles[column]);
		for (size_t i = 0; i < count; i++) {
			size_t width =
			    escape_columns(rows[i].cells[column], ESCAPE_TEXT);

			if (width > widths[column])
				widths[column] = width;
		}
	}
}

/* Width 0: the column is not shown. What is left widens the others. */
static void
fit_columns(const struct canvas *canvas, const size_t *wanted, size_t *widths)
{
	size_t room = canvas->columns;

	for (size_t i = 0; i < SHOWN; i++) {
		size_t gap = i > 0 ? canvas->gap : 0;
		size_t least = min(wanted[ranks[i].column], ranks[i].least);

		if (i > 0 && least + gap > room)
			break;
		widths[ranks[i].column] = min(least, room);
		room -= min(least + gap, room);
	}
	for (size_t i = 0; i < SHOWN && widths[ranks[i].column] > 0; i++) {
		size_t *width = &widths[ranks[i].column];
		size_t more = min(wanted[ranks[i].column] - *width, room);

		*width += more;
		room -= more;
	}
}

static void
draw_row(struct canvas *canvas, const char *const *cells, const size_t *widths,
    const char *style)
{
	size_t gap = 0;

	begin_line(canvas, style);
	for (size_t i = 0; i < SHOWN; i++) {
		enum list_column column = order[i];
		size_t width = widths[column], used;

		if (width == 0)
			continue;
		fprintf(canvas->out, "%*s", (int)gap, "");
		used = put_text(canvas, cells[column], width);
		gap = canvas->gap + width - used;
	}
	end_line(canvas);
}

/* ---------------------------------------------------------------------- */

static void
draw_table(struct canvas *canvas, const struct frame *frame)
{
	size_t wanted[LIST_COLUMNS], widths[LIST_COLUMNS] = {0};
	size_t count = count_rows(frame);
	struct list_row *rows = mem_alloc(count * sizeof(*rows));

	for (size_t i = 0; i < count; i++) {
		const struct roster_lock *lock = &frame->roster->locks[i];

		list_row_describe(&rows[i], &lock->look,
		    lock->key + frame->prefix, frame->at - lock->seen_at);
	}
	canvas->gap = canvas->columns < NARROW ? GAP_NARROW : GAP;
	measure(rows, count, wanted);
	fit_columns(canvas, wanted, widths);
	if (count_heads(frame->rows) > 1)
		draw_row(canvas, list_titles, widths, UNDERLINED);
	for (size_t i = 0; i < count; i++)
		draw_row(canvas, rows[i].cells, widths,
		    frame->roster->locks[i].look.kind == '\0' ? DIM : "");
	free(rows);
}

char *
frame_draw(const struct frame *frame)
{
	struct canvas canvas = {.columns = 1, .row = 1};
	size_t length;
	char *text;

	/* The last column stays empty: after a character there, some terminals
	 * erase it. */
	if (frame->columns > 1)
		canvas.columns = min(frame->columns - 1, COLUMNS_MAX);
	canvas.out = open_memstream(&text, &length);
	if (canvas.out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	if (frame->silent_ms >= 0)
		draw_silence(&canvas, frame);
	else
		draw_counts(&canvas, frame);
	draw_table(&canvas, frame);
	/* Without lines below, there is nothing to erase: there the cursor
	 * would stay in the last one. */
	if (canvas.row <= frame->rows)
		fprintf(canvas.out, "\033[%zu;1H\033[J", canvas.row);
	if (fclose(canvas.out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return text;
}
