#include "sink/log_target.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"

#define SYSLOG_PATH "/dev/log"

enum { NAME_SIZE = 1024 };

void
log_target_open(struct log_target *target, const char *to)
{
	const char *why;
	char name[NAME_SIZE];

	*target = (struct log_target){.socket = -1};
	if (to == NULL)
		return;
	if (strcmp(to, "syslog") == 0) {
		target->kind = LOG_TARGET_SYSLOG;
		return;
	}
	target->kind = LOG_TARGET_FILE;
	why = log_file_open(&target->file, to);
	if (why == NULL)
		return;
	escape_quote(to, name, sizeof(name));
	log_die(EXITCODE_CONFIG, "cannot log to %s: %s", name, why);
}

void
log_target_close(struct log_target *target)
{
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
		why = log_file_append(&target->file, line, length);
		break;
	}
	if (why != NULL)
		drop(target, why);
}
