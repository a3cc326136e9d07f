/* Messages to people, on stderr: "rlockrun: text", lower case, no full stop.
 * Control characters and invalid UTF-8 are escaped, since messages contain text
 * from the server and from other sources. A message is one write(2) of at most
 * PIPE_BUF bytes (longer ones are cut) that never blocks: if stderr is closed
 * or full, the message is dropped and nothing else changes. errno is
 * preserved. */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>

#define LOG_PREFIX "rlockrun: "
#define LOG_FORMAT(text, first) __attribute__((format(printf, text, first)))

void log_warn(const char *format, ...) LOG_FORMAT(1, 2); /* ": strerror" */
void log_warnx(const char *format, ...) LOG_FORMAT(1, 2);

/* A line of another format, with its newline, as it is. */
void log_raw(const char *line, size_t length);

/* How many columns of a terminal a line can have without wrapping, also when
 * the terminal shows "^C" behind it. */
size_t log_columns(void);
/* One line on a terminal, without a prefix, cut to these columns. The next one,
 * a message or log_progress_end erases it. */
void log_progress(const char *text, size_t columns);
void log_progress_end(void);

/* Whether fd, stdout or stderr, is a terminal that obeys control sequences
 * (moves its cursor, erases, shows colours): NULL, or why not. Which process
 * has it is a question of job control: see job/terminal. */
const char *log_find_obstacle(int fd);

/* Another process may show such a line on this terminal: each message erases
 * it. */
void log_erase_others(void);

/* What log_die says after its message, such as "command not started"; at first
 * nothing. The text must last. */
void log_set_consequence(const char *text);

/* log_warnx, then exit(status). Only before a job exists. */
_Noreturn void log_die(int status, const char *format, ...) LOG_FORMAT(2, 3);

#endif
