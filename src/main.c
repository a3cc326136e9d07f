/* rlockrun: run a command while holding a lock that a fleet shares. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "conn.h"
#include "exitcode.h"
#include "log.h"
#include "opts.h"
#include "run.h"
#include "sig.h"

/* Where stdin, stdout or stderr is closed, none of our descriptors may take its
 * number: the job would see it closed all the same, but our messages would go
 * to the server. */
static void
fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 &&
		    open("/dev/null", O_RDWR | O_CLOEXEC) == -1)
			log_die(EXITCODE_RESOURCE, "cannot open /dev/null");
}

static int
print_version(void)
{
	printf("rlockrun " RLOCKRUN_VERSION "\n%s\n", conn_library());
	return fflush(stdout);
}

static int
print(enum opts_action action)
{
	int rc = action == OPTS_HELP	  ? opts_print_help()
		 : action == OPTS_VERSION ? print_version()
					  : opts_print_dump();

	if (rc == 0)
		return EXITCODE_OK;
	log_warn("cannot write to stdout");
	return EXITCODE_RESOURCE;
}

int
main(int argc, char **argv)
{
	struct opts opts;
	struct sig sig;
	int result;

	fill_standard_fds();
	result = opts_init(&opts, argc, argv);
	if (result != 0)
		return result;
	if (opts.action != OPTS_RUN)
		return print(opts.action);
	log_verbose(opts.verbose);
	if (sig_init(&sig) == -1)
		log_die(EXITCODE_RESOURCE, "cannot read signals");
	result = run(&opts, &sig);
	opts_fini(&opts);
	if (result < 0)
		sig_die(-result);
	return result;
}
