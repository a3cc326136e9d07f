/* What --watch draws: a line about all, and locks as rows of a table, cut to
 * the rows and columns of a terminal. */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/roster.h"

struct frame {
	size_t rows, columns; /* of the terminal */
	const char *place;
	bool is_first;	    /* nothing has been read yet */
	const char *notice; /* what is not shown, or NULL */
	int64_t silent_ms;  /* -1: what is shown is up to date */
	const char *why;    /* it is not, or empty */
	size_t prefix;	    /* so long is that of all keys */
	int64_t at;	    /* the locks are shown as they are then */
	const struct roster *roster;
};

/* For so many locks there is room. */
size_t frame_room(size_t rows);

/* With the sequences of ECMA-48 that paint it over the former one: no line is
 * longer than the terminal, and none is left. To be freed. Dies when memory is
 * out. */
char *frame_draw(const struct frame *frame);

#endif
