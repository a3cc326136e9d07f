/* A history as text, and how it is played. A line is a header, a step or an
 * expectation, and `#` begins a comment. Times are in seconds. README.md lists
 * all of them. */
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
