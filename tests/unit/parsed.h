/* The options of one command line, as opts_parse makes them. */
#ifndef PARSED_H
#define PARSED_H

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/opts_parse.h"
#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define MAX 10
#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define KEY_1024                                                        \
	HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED \
	    HUNDRED HUNDRED TEN TEN "aaaa"

/* One call of opts_parse, with arguments, environment and stderr of its own,
 * and without the configuration files of this machine. Both lists end with
 * NULL; "rlockrun" comes before the arguments. */
struct run {
	int status;
	struct opts opts;
	char message[PIPE_BUF + 1];
	char *argv[64];
	char *variables[MAX + 1]; /* their memory, whatever environ has now */
	char *environment[MAX + 2];
};

static void
copy_list(char **to, const char *const *from)
{
	for (; *from != NULL; from++)
		*to++ = strdup(*from);
	*to = NULL;
}

static void
free_list(char **list)
{
	for (; *list != NULL; list++)
		free(*list);
}

static void
run_start(struct run *run, const char *const *args, const char *const *env)
{
	static char no_files[] = "RLOCKRUN_CONFIG=none";
	int ends[2], saved = dup(STDERR_FILENO), argc = 0;
	ssize_t length;

	memset(run, 0, sizeof(*run));
	run->argv[0] = strdup("rlockrun");
	copy_list(run->argv + 1, args);
	copy_list(run->variables, env);
	run->environment[0] = no_files;
	memcpy(run->environment + 1, run->variables, sizeof(run->variables));
	environ = run->environment;
	while (run->argv[argc] != NULL)
		argc++;

	if (pipe2(ends, O_NONBLOCK) < 0)
		abort();
	dup2(ends[1], STDERR_FILENO);
	run->status = opts_parse(&run->opts, argc, run->argv);
	dup2(saved, STDERR_FILENO);
	length = read(ends[0], run->message, sizeof(run->message) - 1);
	run->message[length > 0 ? length : 0] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(saved);
}

static void
run_end(struct run *run)
{
	static char *nothing[] = {NULL};

	opts_fini(&run->opts);
	environ = nothing;
	free_list(run->argv);
	free_list(run->variables);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

#endif
