/* The options of this process, from all sources. */
#ifndef OPTS_PARSE_H
#define OPTS_PARSE_H

#include "options/opts.h"

/* Fills *opts from the command line, then the environment, then the files, then
 * defaults; conflicts are checked once, at the end. 0, or the exit code after
 * one line on stderr: EXITCODE_USAGE for what the command line got wrong,
 * EXITCODE_CONFIG for the environment, a configuration or a password file; then
 * there is nothing to free. With -h, -V and --dump-options only the action is
 * filled in, and what follows is ignored.
 *
 * Also on failure, passwords are wiped from argv and from the environment's
 * memory, RLOCKRUN_PASSWORD and RLOCKRUN_SENTINEL_PASSWORD are unset, and
 * RLOCKRUN_REDIS is left without users and passwords for the job. What *opts
 * holds points into argv and the environment. It needs opts_fini. */
int opts_parse(struct opts *opts, int argc, char **argv);

void opts_fini(struct opts *opts);

#endif
