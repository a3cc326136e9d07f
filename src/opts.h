/* The one table of options: getopt, the environment, --help and
 * --dump-options come from it. */
#ifndef OPTS_H
#define OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "url.h"

#define OPTS_WAIT_FOREVER (-1)
#define OPTS_KEY_MAX 1024 /* bytes, prefix included */

enum opts_action {
	OPTS_RUN,
	OPTS_HELP,
	OPTS_VERSION,
	OPTS_DUMP,
};

struct opts {
	enum opts_action action;
	char *key;	  /* prefix and name */
	const char *name; /* the name as the user gave it, for messages */
	struct endpoint server;
	int64_t ttl_ms;
	int64_t wait_ms;       /* OPTS_WAIT_FOREVER, or 0 and up */
	int64_t kill_after_ms; /* default min(ttl/6, 5 s) filled in */
	int64_t server_timeout_ms;
	int conflict_exit; /* -E */
	bool quiet;
	bool verbose;
	bool wait_all;
	bool lost_warn;		   /* --on-lost warn */
	bool unavailable_run;	   /* --on-unavailable run */
	const char *shell_command; /* -c, else NULL */
	char **command; /* NULL-terminated; with -c: $SHELL -c STRING */
};

/* Fills *opts from the command line, then the environment, then defaults;
 * conflicts are checked once, at the end. 0, or the exit code after one line
 * on stderr: EXITCODE_USAGE for what the command line got wrong,
 * EXITCODE_CONFIG for the environment or a password file; then there is
 * nothing to free. With -h and its like nothing but the action is filled in,
 * and what comes after them isn't looked at.
 *
 * Also on failure, passwords are wiped from argv and from the environment's
 * memory, RLOCKRUN_PASSWORD is unset, and RLOCKRUN_REDIS is left without user
 * and password for the job. What *opts holds points into argv and the
 * environment, and wants opts_fini. */
int opts_init(struct opts *opts, int argc, char **argv);
void opts_fini(struct opts *opts);

/* Print to stdout. 0, or -1 with errno when stdout can't take it. */
int opts_print_help(void);
int opts_print_dump(void);

#endif
