#include "admin/frame.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "lock/holder.h"

/* Titles only where rows are not dearer. */
enum { ROWS_WITH_TITLES = 5, TEXT_MAX = 4096, COLUMNS_MAX = 1000 };

/* From here on a reason is shown, even if it is cut. */
enum { WHY_COLUMNS = 60 };

/* Columns of the table: a gap before all but the first. */
enum { GAP = 2, GAP_NARROW = 1, NARROW = 40 };

#define PLAIN "\033[m"
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define UNDERLINED "\033[4m"
#define REVERSE "\033[7m"
#define ERASE_REST "\033[K"

/* Step by step columns get room, at least so much or what their texts need;
 * WHOLE: all that they need. */
enum { WHOLE = 0 };

static const struct {
	enum list_column column;
	size_t width;
} steps[] = {{LIST_NAME, 6}, {LIST_HELD, WHOLE}, {LIST_WAITING, WHOLE},
    {LIST_HOLDER, 8}, {LIST_NAME, 20}, {LIST_LAST_RUN, WHOLE}, {LIST_JOB, 12},
    {LIST_TTL, WHOLE}, {LIST_HOLDER, 16}, {LIST_NAME, 32}, {LIST_JOB, 24},
    {LIST_PID, WHOLE}, {LIST_USER, 8}, {LIST_KIND, WHOLE}, {LIST_NAME, 48},
    {LIST_FENCE, WHOLE}, {LIST_HOLDER, WHOLE}, {LIST_USER, WHOLE},
    {LIST_JOB, WHOLE}, {LIST_NAME, WHOLE}};

enum { STEPS = sizeof(steps) / sizeof(*steps) };

/* In the order in which they are shown. */
static const enum list_column order[] = {LIST_NAME, LIST_KIND, LIST_HELD,
    LIST_TTL, LIST_WAITING, LIST_HOLDER, LIST_PID, LIST_USER, LIST_FENCE,
    LIST_LAST_RUN, LIST_JOB};

#define LONG_RUN "status 1, 59m59s ago"

enum { SHOWN = sizeof(order) / sizeof(*order) };

struct canvas {
	FILE *out;
	size_t columns; /* that are used */
	size_t gap;	/* between those of the table */
	size_t row;	/* the next, from 1 */
};

/* --- lines --------------------------------------------------------------- */

/* The last column stays empty: after a character there, some terminals erase
 * it. */
static size_t
usable_columns(const struct frame *frame)
{
	if (frame->columns > COLUMNS_MAX)
		return COLUMNS_MAX;
	return frame->columns > 1 ? frame->columns - 1 : 1;
}

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

/* What escape_shorten leaves may be longer where there is no room at all. */
static size_t
put_text(const struct canvas *canvas, const char *text, size_t columns)
{
	char cut[TEXT_MAX];
	const char *rest = cut;
	size_t used = 0;

	escape_shorten(text, ESCAPE_TEXT, columns, cut, sizeof(cut));
	while (*rest != '\0') {
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&rest, ESCAPE_TEXT, out);
		size_t width = escape_width(out, length);

		if (used + width > columns)
			break;
		fwrite(out, 1, length, canvas->out);
		used += width;
	}
	return used;
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

	holder_describe_age(frame->silent_ms, age, sizeof(age));
	holder_describe_time(-frame->silent_ms, since, sizeof(since));
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
	char hidden[48] = "", now[32];
	const char *texts[] = {text, medium, brief, NULL};
	size_t used;

	if (frame->hidden > 0)
		snprintf(hidden, sizeof(hidden), ", %" PRId64 " not shown",
		    frame->hidden);
	snprintf(text, sizeof(text), "%" PRId64 " held, %" PRId64 " waiting%s",
	    frame->held, frame->waiting, hidden);
	snprintf(medium, sizeof(medium), "%" PRId64 " held%s", frame->held,
	    hidden);
	snprintf(brief, sizeof(brief),
	    frame->hidden > 0 ? "+%" PRId64 " more" : "%" PRId64 " held",
	    frame->hidden > 0 ? frame->hidden : frame->held);
	if (frame->is_first)
		texts[0] = texts[1] = texts[2] = "reading";
	begin_line(canvas, BOLD);
	used = put_text(canvas, choose_text(texts, canvas->columns),
	    canvas->columns);
	holder_describe_time(0, now, sizeof(now));
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
static size_t
usual_width(size_t column)
{
	const char *longest = column == LIST_HELD  ? "59m59s"
			      : column == LIST_TTL ? "59.9s"
						   : list_titles[column];

	return strlen(longest);
}

static void
measure(const struct frame *frame, size_t *widths)
{
	for (size_t column = 0; column < LIST_COLUMNS; column++) {
		widths[column] = usual_width(column);
		for (size_t i = 0; i < frame->count; i++) {
			size_t width =
			    escape_columns(frame->row[i].cells.cells[column],
				ESCAPE_TEXT);

			if (width > widths[column])
				widths[column] = width;
		}
	}
	if (widths[LIST_LAST_RUN] > usual_width(LIST_LAST_RUN) &&
	    widths[LIST_LAST_RUN] < strlen(LONG_RUN))
		widths[LIST_LAST_RUN] = strlen(LONG_RUN);
}

/* Width 0: the column is not shown. After the first that has no room, columns
 * only become wider. */
static void
fit_columns(const struct frame *frame, size_t room, size_t gap, size_t *widths)
{
	size_t wanted[LIST_COLUMNS] = {0};
	bool is_full = false;

	measure(frame, wanted);
	memset(widths, 0, LIST_COLUMNS * sizeof(*widths));
	for (size_t i = 0; i < STEPS; i++) {
		size_t *width = &widths[steps[i].column];
		size_t enough = wanted[steps[i].column];
		bool is_new = *width == 0 && i > 0;
		size_t more;

		if (steps[i].width != WHOLE)
			enough = min(enough, steps[i].width);
		more = enough > *width ? enough - *width : 0;
		if (is_new && (is_full || more + gap > room)) {
			is_full = true;
			continue;
		}
		more = min(more, room);
		room -= is_new ? more + gap : more;
		*width += more;
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

static void
draw_table(struct canvas *canvas, const struct frame *frame)
{
	size_t widths[LIST_COLUMNS];

	canvas->gap = canvas->columns < NARROW ? GAP_NARROW : GAP;
	fit_columns(frame, canvas->columns, canvas->gap, widths);
	if (count_heads(frame->rows) > 1)
		draw_row(canvas, list_titles, widths, UNDERLINED);
	for (size_t i = 0; i < frame->count; i++)
		draw_row(canvas, frame->row[i].cells.cells, widths,
		    frame->row[i].is_free ? DIM : "");
}

/* Without lines below, there is nothing to erase: there the cursor would stay
 * in the last one. */
static void
erase_below(struct canvas *canvas, const struct frame *frame)
{
	if (canvas->row <= frame->rows)
		fprintf(canvas->out, "\033[%zu;1H\033[J", canvas->row);
}

char *
frame_draw(const struct frame *frame)
{
	struct canvas canvas = {.columns = usable_columns(frame), .row = 1};
	size_t length;
	char *text;

	canvas.out = open_memstream(&text, &length);
	if (canvas.out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	if (frame->silent_ms >= 0)
		draw_silence(&canvas, frame);
	else
		draw_counts(&canvas, frame);
	draw_table(&canvas, frame);
	erase_below(&canvas, frame);
	if (fclose(canvas.out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return text;
}
