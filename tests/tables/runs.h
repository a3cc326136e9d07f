/* Runs of a table: a line such as `HOST$ NAME=VALUE rlockrun ...`, and what it
 * prints. */
#ifndef RUNS_H
#define RUNS_H

#include <stddef.h>

#include "text.h"

struct actor;

/* The latest one of a host. */
struct actor *run_find(const char *line, const char *host);
struct actor *run_start(char *line);
/* Until it has ended, or for an hour. */
void run_to_end(const struct actor *actor);
/* Time passes in whole beats, so that a round trip more changes no table. */
void run_end_beat(void);
/* Compares what it has printed, and its status. */
void run_report(const struct actor *actor);
/* All of these, unless the line ends with `&`. */
void run_play(char *line);
/* With $PWD in place of the folder of the test. */
void run_add_output(struct lines *got, char kind, const char *text,
    size_t length);

#endif
