/* What a run says of itself in the keys beside a lock: words with blanks
 * between them, which the server stores and nobody but this module takes apart.
 * A word has '%XX' for blanks, control characters, '%' and '|'; an empty one is
 * "-". See RECORDS in rlockrun-protocol(7). */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "lock/config.h"
#include "lock/holder.h"
#include "lock/token.h"

/* Takes one word of a text after the other; of what is damaged, nothing. */
struct record_words {
	const char *at;
};

/* Decoded; cut where the word is longer. */
void record_word(struct record_words *words, char *word, size_t size);
/* A whole number in range, in digits; otherwise -1. */
int64_t record_number(struct record_words *words, int64_t max);
/* A time near now_ms, by the same clock; otherwise 0, as clocks are stepped. */
int64_t record_time(struct record_words *words, int64_t now_ms);

enum { RECORD_SIZE = 5000 };

/* The record of a run: how it holds the lock, permits, pid, host, user, label
 * and command. */
void record_make(char record[RECORD_SIZE], const struct lock_config *config,
    const struct holder *self);

/* The holder that a record describes. command may be NULL. */
void record_read(struct record_words *words, struct holder *holder,
    char *command, size_t size);

/* A holder's entry in :i: member, fence, start and record. The fence is empty
 * where it is damaged. since_ms: 0 if it is no time near now_ms, both by the
 * server's clock. False if there is none. */
struct record_entry {
	char fence[24];
	int64_t since_ms;
	bool is_left; /* to nested runs: the outermost run has ended */
	bool is_kept; /* for --min-hold */
	char command[LIMIT_LONG_TEXT + 1];
};
bool record_read_entry(const char *text, int64_t now_ms, struct holder *holder,
    struct record_entry *entry);

/* That of a holder that is described for a waiter: without an entry it is a
 * foreign one. */
void record_read_holder(const char *entry, int64_t now_ms,
    struct holder *holder);

/* The run that has had a success: its end, fence, start and record. */
void record_read_success(const char *text, struct holder *holder);

/* An order to stop: for which token, until when, by which waiter and its
 * record. */
void record_read_order(const char *text, char token[TOKEN_SIZE],
    struct holder_by *by);

/* A waiter by its name in the queue, and the label in its record. */
void record_read_by(const char *name, const char *record, struct holder_by *by);

#endif
