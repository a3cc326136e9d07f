/* rlockrun: run a command while holding a lock that a fleet shares. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "admin/commands.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "doctor/doctor.h"
#include "job/signals.h"
#include "options/opts_help.h"
#include "options/opts_parse.h"
#include "redis/reread.h"
#include "redis/tls/tls.h"
#include "redis/value.h"
#include "run/run.h"
#include "sink/sinks.h"
#include "sink/writer.h"

/* The sinks of the events, in the order in which they are closed: that of the
 * hooks waits for them. */
static const struct event_sink *const sinks[] = {&event_text, &event_log,
    &metrics, &event_hook, NULL};

struct program {
	bool dumpable; /* as it was started: not if it is setuid, for example */
	struct opts opts;
	struct loop loop;
	struct signals signals; /* of a run */
	struct events events;
	struct writer *writer;
	struct tls_context *tls_context; /* NULL if no server needs it */
};

/* Where stdin, stdout or stderr is closed, none of our descriptors may take its
 * number: the job would see it closed all the same, but our messages would go
 * to the server. What is printed to a closed stdout must fail, so it cannot be
 * written to. */
static void
fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 &&
		    open("/dev/null",
			O_CLOEXEC |
			    (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR)) == -1)
			log_die(EXITCODE_RESOURCE, "cannot open /dev/null");
}

static int
print_version(void)
{
	char openssl[TLS_ERROR_MAX];

	tls_describe_library(openssl);
	printf("rlockrun " RLOCKRUN_VERSION "\n%s\n%s\n", value_library(),
	    openssl);
	return ferror(stdout) || fflush(stdout) == EOF ? -1 : 0;
}

static int
print_text(const struct opts *opts)
{
	enum opts_action action = opts->action;
	int rc = opts->summary || action == OPTS_HELP
		     ? opts_help_print(!opts->summary)
		 : action == OPTS_VERSION     ? print_version()
		 : action == OPTS_SHOW_CONFIG ? fputs(opts->shown, stdout)
					      : opts_help_print_dump();

	if (rc >= 0 && !ferror(stdout) && fflush(stdout) == 0)
		return EXITCODE_OK;
	log_warn("cannot write to stdout");
	return EXITCODE_RESOURCE;
}

static void
die_of_tls(int status, const char *why)
{
	log_die(status == -1 ? EXITCODE_RESOURCE : EXITCODE_CONFIG, "%s", why);
}

/* One context does for all servers. */
static void
set_tls(struct program *self)
{
	const struct tls_config config = {.ca_file = self->opts.tls_ca,
	    .cert_file = self->opts.tls_cert,
	    .key_file = self->opts.tls_key,
	    .die = die_of_tls};

	for (size_t i = 0; i < self->opts.server_count; i++) {
		struct endpoint *server = &self->opts.servers[i];

		if (!server->tls)
			continue;
		if (self->tls_context == NULL)
			self->tls_context = tls_context_new(&config);
		if (self->tls_context == NULL)
			log_die(EXITCODE_RESOURCE, "out of memory");
		server->tls_context = self->tls_context;
		for (size_t j = 0; j < server->host_count; j++)
			server->hosts[j].tls_context = self->tls_context;
	}
}

/* Of the actions that visit each server; --list --watch has another one. */
static client_command *const commands[] = {
    [OPTS_STATUS] = lock_show,
    [OPTS_LIST] = list_show,
    [OPTS_HISTORY] = lock_show,
    [OPTS_CHECK] = check_show,
    [OPTS_FORCE_RELEASE] = force_release,
    [OPTS_HOLD] = hold_extend,
    [OPTS_PAUSE] = pause_locks,
    [OPTS_RESUME] = resume_locks,
};

static void
on_not_reread(void *arg, const char *why)
{
	events_emit(arg, &(struct event){.type = EVENT_NOT_REREAD, .why = why});
}

static void
report_failures(struct reread *reread, struct events *events)
{
	reread->on_failure = on_not_reread;
	reread->arg = events;
}

/* A file of certificates that cannot be used is found before anything is asked:
 * with one server, that is after the connection is made, so OpenSSL is loaded
 * meanwhile. While a file blocks, signals must still end us, which are blocked
 * later. */
static void
begin(struct program *self)
{
	struct opts *opts = &self->opts;
	struct tls_context *context;

	set_tls(self);
	context = self->tls_context;
	report_failures(&opts->login.file.reread, &self->events);
	report_failures(&opts->sentinel_login.file.reread, &self->events);
	if (context != NULL)
		report_failures(tls_context_reread(context), &self->events);
	if (loop_init(&self->loop) == -1)
		log_die(EXITCODE_RESOURCE, "cannot wait for events");
	if (context != NULL)
		tls_context_begin(context,
		    opts->server_count == 1 ? &self->loop : NULL);
	self->writer = mem_alloc(sizeof(*self->writer));
	events_open(&self->events, sinks, opts, &self->loop, self->writer);
}

/* Only what acquires a lock reads signals: it may have to release the lock, and
 * a run has a job to pass them on to. From then on no signal leaves a core.
 *
 * The agents of CI systems end what a cancelled step has left. They find it by
 * a variable in /proc/PID/environ, and only root may read that of a process
 * that is not dumpable. A waiter that they do not find gets the lock later, and
 * starts the deploy that was cancelled. */
static void
begin_run(struct program *self)
{
	bool has_tls_key =
	    self->tls_context != NULL && self->opts.tls_cert != NULL;

	if (signals_init(&self->signals) == -1)
		log_die(EXITCODE_RESOURCE, "cannot read signals");
	if (self->dumpable && !has_tls_key && !secret_was_here())
		prctl(PR_SET_DUMPABLE, 1);
}

/* Nobody but root may read our memory or trace us, and we leave no core: there
 * may be a password. A limit on cores would reach the job, and not a
 * core_pattern that is a pipe. What we fork inherits it, and executing the job
 * ends it. See begin_run for who may be read, and the guard for who never is.
 */
static __attribute__((noinline)) int
run_program(int argc, char **argv)
{
	struct program self = {.dumpable = prctl(PR_GET_DUMPABLE) == 1};
	const struct opts *opts = &self.opts;
	int result;

	prctl(PR_SET_DUMPABLE, 0);
	fill_standard_fds();
	result = opts_parse(&self.opts, argc, argv);
	secret_wipe_stack();
	if (result != 0)
		return result;
	if (opts->action == OPTS_HELP || opts->action == OPTS_VERSION ||
	    opts->action == OPTS_DUMP || opts->action == OPTS_SHOW_CONFIG) {
		result = print_text(opts);
	} else {
		begin(&self);
		if (opts->action == OPTS_RUN ||
		    (opts->action == OPTS_HOLD && opts->token == NULL)) {
			begin_run(&self);
			result =
			    run(opts, &self.loop, &self.events, &self.signals);
		} else if (opts->action == OPTS_DOCTOR) {
			result = doctor(opts, &self.loop);
		} else {
			result =
			    client_visit_servers(opts, &self.loop, &self.events,
				opts->watch_ms > 0 ? watch_show
						   : commands[opts->action]);
		}
		events_close(&self.events);
		/* A thread that hangs in a slow disk uses it until we end. */
		if (!self.writer->has_thread)
			free(self.writer);
		loop_fini(&self.loop);
		tls_context_free(self.tls_context);
	}
	opts_fini(&self.opts);
	if (result < 0)
		signals_die(-result);
	return result;
}

int
main(int argc, char **argv)
{
	secret_wipe_start();
	return run_program(argc, argv);
}
