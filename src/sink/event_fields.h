/* What is known of an event, field by field. One table says how each field is
 * called in messages, in JSON and in the environment of hooks, and where it is
 * read. */
#ifndef EVENT_FIELDS_H
#define EVENT_FIELDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/row.h"
#include "run/events.h"

/* Texts are NULL, and numbers below 0, if they are unknown. */
struct event_fields {
	/* May be set after event_fields_init, by those who print them. */
	const struct holder *self; /* this process */
	const char *level, *message;
	const char *hook; /* the event of --hook */

	struct event event; /* with the server, if the facts know it */
	const struct facts *facts;
	const struct facts_lock *lock; /* NULL: several, or none of the run */
	const struct holder *holder;   /* NULL: it left no record */
	const char *word, *reason, *label;
	int64_t waited_ms, held_ms;  /* of the run */
	int64_t waiting_ms, left_ms; /* of this wait, after a minute of it */
	int64_t status, signal;
	char room[2048]; /* for a value, such as the names of all locks */
};

/* Both must outlive the fields. */
void event_fields_init(struct event_fields *fields, const struct facts *facts,
    const struct event *event);

/* What is left of -w after so much waiting, or -1: it has no limit. */
int64_t event_fields_left_ms(const struct opts *opts, int64_t waited_ms);

/* A template_value: the field of that word, in words for people. */
const char *event_fields_word(void *fields, const char *word, bool *many);

/* As members of JSON: those of LOGS in rlockrun-events(7). What is unknown is
 * left out. */
void event_fields_put(const struct event_fields *fields, struct row *row);

/* The variables of a hook, NAME=VALUE, each of which ends with a NUL; the first
 * is the event. All of them are set, so that a hook inherits none. */
void event_fields_environment(struct event_fields *fields, FILE *out);

#endif
