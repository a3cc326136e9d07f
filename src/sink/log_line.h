/* An event as one line of a log: text, or a JSON object. The fields of JSON are
 * those of LOGS in rlockrun-events(7). */
#ifndef LOG_LINE_H
#define LOG_LINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lock/holder.h"
#include "run/events.h"

/* With the newline. What is longer has its texts cut. */
enum { LOG_LINE_MAX = PIPE_BUF };

/* What precedes the message. JSON has all of it in fields. */
enum log_line_head {
	LOG_LINE_DATED,	 /* of a file: time, process and level */
	LOG_LINE_SYSLOG, /* RFC 3164; also before JSON */
};

struct log_line {
	const struct facts *facts;
	struct holder self; /* host and pid of this process */
	bool json;
	enum log_line_head head;
};

/* Returns the length, or 0 if there is no message for the event, or no memory
 * for JSON. */
size_t log_line_format(const struct log_line *line, const struct event *event,
    char text[LOG_LINE_MAX]);

#endif
