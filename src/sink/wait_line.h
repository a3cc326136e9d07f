/* The line about waiting that is drawn on a terminal: who holds the lock, how
 * long we have waited, what is left of -w, and the position in the queue. Where
 * the terminal is narrow, less important parts are left out. */
#ifndef WAIT_LINE_H
#define WAIT_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "lock/holder.h"

struct wait_line {
	const char *name; /* of the lock */
	const struct holder *holder;
	int64_t waited_ms;
	int64_t left_ms;  /* -1: without -w */
	int64_t position; /* in the queue, from 1; 0: none */
};

/* The line, in as many of these columns as it needs. Only if not even the
 * holder and the time fit, it is longer. size is at least 8; text is to be
 * escaped. */
void wait_line_format(const struct wait_line *line, size_t columns, char *text,
    size_t size);

#endif
