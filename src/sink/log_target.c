#include "sink/log_target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"

#define SYSLOG_PATH "/dev/log"

enum { NAME_SIZE = 1024 };

struct log_target_line {
	struct log_target_line *next;
	size_t length;
	char text[];
};

static void
drop(struct log_target *target, const char *why)
{
	char name[NAME_SIZE];
	const char *to =
	    target->kind == LOG_TARGET_SYSLOG ? SYSLOG_PATH : target->file.path;

	if (target->dropped++ > 0)
		return;
	escape_quote(to, name, sizeof(name));
	log_warnx("cannot write to the log %s: %s; dropping lines", name, why);
}

/* --- lines that wait --------------------------------------------------- */

static void
add_line(struct log_target *target, const char *text, size_t length)
{
	struct log_target_line *line = NULL;

	if (target->waiting == LOG_TARGET_LINES_MAX) {
		drop(target, "it is too slow");
		return;
	}
	line = malloc(sizeof(*line) + length);
	if (line == NULL) {
		drop(target, strerror(errno));
		return;
	}
	*line = (struct log_target_line){.length = length};
	memcpy(line->text, text, length);
	if (target->first == NULL)
		target->first = line;
	else
		target->last->next = line;
	target->last = line;
	target->waiting++;
	backlog_add(&target->backlog);
}

static void
remove_line(struct log_target *target)
{
	struct log_target_line *line = target->first;

	target->first = line->next;
	target->waiting--;
	free(line);
}

/* One look at the path, or one write. */
static bool
write_step(void *arg)
{
	struct log_target *target = arg;
	const char *why;

	target->followed = !target->followed;
	if (target->followed) {
		log_file_follow(&target->file);
		return true;
	}
	why = log_file_append(&target->file, target->first->text,
	    target->first->length);
	if (why != NULL)
		drop(target, why);
	remove_line(target);
	return target->first != NULL;
}

static void
finish_lines(struct log_target *target)
{
	backlog_finish(&target->backlog);
	while (target->first != NULL) {
		drop(target, "it is too slow");
		remove_line(target);
	}
}

/* ------------------------------------------------------------------------ */

const char *
log_target_open(struct log_target *target, const char *to, struct loop *loop)
{
	*target = (struct log_target){.socket = -1};
	backlog_init(&target->backlog, loop, write_step, target);
	if (to == NULL)
		return NULL;
	if (strcmp(to, "syslog") == 0) {
		target->kind = LOG_TARGET_SYSLOG;
		return NULL;
	}
	target->kind = LOG_TARGET_FILE;
	return log_file_open(&target->file, to);
}

void
log_target_close(struct log_target *target)
{
	finish_lines(target);
	if (target->dropped > 0)
		log_warnx("%" PRId64 " line%s of the log %s dropped",
		    target->dropped, target->dropped > 1 ? "s" : "",
		    target->dropped > 1 ? "were" : "was");
	if (target->kind == LOG_TARGET_FILE)
		log_file_close(&target->file);
	else if (target->socket != -1)
		close(target->socket);
}

/* syslog(3) would block while the daemon does not read. Without a connection a
 * daemon that was restarted is found again. NULL, or why not. */
static const char *
send_to_syslog(struct log_target *target, const char *line, size_t length)
{
	const struct sockaddr_un address = {.sun_family = AF_UNIX,
	    .sun_path = SYSLOG_PATH};

	if (target->socket == -1)
		target->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (target->socket == -1)
		return strerror(errno);
	if (sendto(target->socket, line, length - strlen("\n"),
		MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
		sizeof(address)) != -1)
		return NULL;
	return errno == EAGAIN ? "it is full" : strerror(errno);
}

void
log_target_write(struct log_target *target, const char *line, size_t length)
{
	const char *why = NULL;

	switch (target->kind) {
	case LOG_TARGET_STDERR:
		log_raw(line, length);
		break;
	case LOG_TARGET_SYSLOG:
		why = send_to_syslog(target, line, length);
		break;
	case LOG_TARGET_FILE:
		add_line(target, line, length);
		break;
	}
	if (why != NULL)
		drop(target, why);
}

void
log_target_take(struct log_target *target, const struct event *event)
{
	backlog_take(&target->backlog, event);
}
