/* A visit of --doctor to one server: questions, and what came back. Each
 * question is sent once, and its reply is awaited for --server-timeout. */
#ifndef DOCTOR_VISIT_H
#define DOCTOR_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "doctor/findings.h"
#include "options/opts.h"
#include "redis/server.h"
#include "redis/value.h"

#define DOCTOR_WORDS 12

enum doctor_outcome {
	DOCTOR_UNASKED,
	DOCTOR_ANSWERED, /* with a value */
	DOCTOR_FAILED,	 /* with an error reply */
	DOCTOR_REFUSED,	 /* likewise: AUTH or SELECT was */
	DOCTOR_SILENT,	 /* there is no reply */
};

struct doctor_question {
	const char *argv[DOCTOR_WORDS]; /* NULL-terminated, set by the asker */
	char text[40];			/* room for words */
	enum doctor_outcome outcome;
	struct value *value; /* NULL unless it was answered */
	char *error;	     /* the words of the error, or why there is none */
	/* Of clock_now_us. */
	int64_t sent_us;
	int64_t took_us;
	struct doctor_visit *visit;
};

struct doctor_visit {
	const struct opts *opts;
	struct loop *loop;
	struct findings *findings;
	const struct endpoint *endpoint;
	struct server *server;
	size_t unanswered;
	/* The first of these, until the end: nothing more is asked then. */
	enum doctor_outcome ended; /* DOCTOR_UNASKED: it goes on */
};

/* Connects when something is asked. The key: see server_new. Dies when memory
 * is out, like all of these. */
void doctor_visit_begin(struct doctor_visit *visit,
    const struct endpoint *endpoint, const char *key);
void doctor_visit_end(struct doctor_visit *visit);

/* Asks them all, several at a time. False when the server has refused access or
 * does not reply, now or before. */
bool doctor_visit_ask(struct doctor_visit *visit,
    struct doctor_question *questions, size_t count);

/* Adds the reason why that question has no answer: it is about the server, with
 * the remedy if one is known. Then the same as an error that ends a run. */
void doctor_visit_warn(struct doctor_visit *visit,
    const struct doctor_question *question, const char *check);
void doctor_visit_report_end(struct doctor_visit *visit,
    const struct doctor_question *question);

/* Frees what came back. */
void doctor_visit_forget(struct doctor_question *questions, size_t count);

#endif
