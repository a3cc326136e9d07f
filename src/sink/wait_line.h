/* The line about waiting that is drawn on a terminal: who holds the lock, how
 * long we have waited, what is left of -w, and the position in the queue. Where
 * the terminal is narrow, less important parts are left out. */
#ifndef WAIT_LINE_H
#define WAIT_LINE_H

#include <stddef.h>

#include "run/event.h"

/* The line for an EVENT_WAITING, whose left_ms is what is left of -w or -1, in
 * as many of these columns as it needs. Only if not even the holder and the
 * time fit, it is longer. size is at least 8; text is to be escaped. */
void wait_line_format(const struct event *event, size_t columns, char *text,
    size_t size);

#endif
