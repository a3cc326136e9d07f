/* Where the lines of a log go: stderr, syslog or a file. None of them blocks,
 * and what one of them does not take is dropped and counted. */
#ifndef LOG_TARGET_H
#define LOG_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "sink/log_file.h"

enum log_target_kind {
	LOG_TARGET_STDERR,
	LOG_TARGET_SYSLOG,
	LOG_TARGET_FILE,
};

struct log_target {
	enum log_target_kind kind;
	struct log_file file;
	int socket; /* to syslog, or -1 */
	int64_t dropped;
};

/* to is "syslog", a file, or NULL: stderr. A file that cannot be used ends the
 * program. */
void log_target_open(struct log_target *target, const char *to);
/* Reports how many lines were dropped. */
void log_target_close(struct log_target *target);

/* The line ends with a newline. The first that is dropped is reported. */
void log_target_write(struct log_target *target, const char *line,
    size_t length);

#endif
