/* A model of the guard and the job below it, in place of job/guard.c: the job
 * starts, ends, is stopped and killed in virtual time, and the facts are
 * reported as guard.h says. It keeps the promises of the guard and uses all the
 * freedom that they leave. Whether the real guard keeps them is what the suites
 * of the job test. */
#ifndef GUARDED_H
#define GUARDED_H

#include <stdbool.h>
#include <stdint.h>

struct actor;

/* What the world knows of the job of a run, in true time; -1: not yet. */
struct guarded {
	int64_t started_at;
	int64_t ended_at; /* the command */
	int64_t gone_at;  /* all that it has started, too */
	int64_t told_to_end_at;
	int status;	 /* of the command: a signal's number as -N */
	bool was_killed; /* by the deadline, or with rlockrun or the guard */
	bool was_forwarded;
	char fence[512], token[512], held[2048]; /* of its environment */
	char **environment;			 /* of nested runs */
};

bool guarded_has_report(const struct actor *actor);
/* rlockrun has been killed: its job dies within a second. */
void guarded_on_killed(struct actor *actor);
/* A run that its job has started has ended. */
void guarded_on_nested_ended(struct actor *outer);
/* The guard is killed: the command dies with it, and what it started is left to
 * rlockrun. */
void guarded_kill_guard(struct actor *actor);
/* Whether the command, or what it started, runs. */
bool guarded_is_alive(const struct actor *actor);
/* The command alone. */
bool guarded_command_runs(const struct actor *actor);

#endif
