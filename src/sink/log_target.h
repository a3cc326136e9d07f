/* Where the lines of a log go: stderr, syslog or a file. Those of a file wait
 * for a moment in which a slow disk delays nothing; the others never block.
 * What is not taken is dropped and counted. */
#ifndef LOG_TARGET_H
#define LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/backlog.h"
#include "sink/log_file.h"

enum log_target_kind {
	LOG_TARGET_STDERR,
	LOG_TARGET_SYSLOG,
	LOG_TARGET_FILE,
};

/* So many lines may wait to be written. */
enum { LOG_TARGET_LINES_MAX = 256 };

struct log_target {
	enum log_target_kind kind;
	struct log_file file;
	int socket; /* to syslog, or -1 */
	int64_t dropped;
	struct backlog backlog; /* of a file */
	struct log_target_line *first, *last;
	int waiting;   /* lines */
	bool followed; /* the file, for the first line */
};

/* to is "syslog", a file, or NULL: stderr. NULL, or the reason why the file
 * cannot be used; then there is nothing to close. */
const char *log_target_open(struct log_target *target, const char *to,
    struct loop *loop);
/* Writes what waits, for a bounded time. Reports how many lines were dropped.
 */
void log_target_close(struct log_target *target);

/* The line ends with a newline. The first that is dropped is reported. */
void log_target_write(struct log_target *target, const char *line,
    size_t length);

/* Sees when lines have to wait. */
void log_target_take(struct log_target *target, const struct event *event);

#endif
