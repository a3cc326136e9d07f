/* A history as text, and how it is played. A line is a header, a step or an
 * expectation; `#` begins a comment:
 *
 *     servers one                 one, sentinel, or redlock N; they are s1, s2,
 * ... calm                        no delay is long clock NAME PPM the clock of
 * a run's host, or a server, is that fast 0.1 run A -k x -t 2 -- 1.5 exit 3
 * deaf leaves 2 0.4 run B in A -k x -- 0.1  started by A's job 0.5 run C
 * --status -k x     no job: an action 1.0 kill A                  kill -9;
 * guard A: its guard; stop A 2.5: SIGSTOP 2.0 freeze s1 3             SIGSTOP
 * of a server; crash s1 3 kept, or lost expect A 79
 *
 * Times are in seconds. README.md lists all steps. */
#ifndef PLAY_H
#define PLAY_H

#include <stddef.h>
#include <stdint.h>

struct history {
	uint64_t seed;
	char **lines;
	size_t count, room;
};

void history_add(struct history *history, const char *line);
/* 0, or -1: it cannot be read. */
int history_read(struct history *history, const char *path);
void history_free(struct history *history);

/* How a history has gone. */
struct outcome {
	int findings;
	char found[1200]; /* the first one */
	int runs, ended[256];
	int64_t virtual_us;
};

/* Exits with 2 and a message if a line cannot be understood. */
void history_play(const struct history *history, struct outcome *outcome);

/* For one that plays in a world of its own, line by line (the tables). Between
 * its begin and its end, a line is a header, a step or an expectation. */
void play_begin(uint64_t seed);
void play_line(const char *line);
/* RLOCKRUN_REDIS for the servers so far; NULL: there are none. */
const char *play_urls(void);
void play_end(void);

#endif
