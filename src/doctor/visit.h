/* A visit to one server: what is asked there, and what becomes of it. All of it
 * dies when memory is out. */
#ifndef VISIT_H
#define VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor/findings.h"
#include "enquiry/enquiry.h"
#include "redis/ways/sentinel.h"

/* Stand in the words of a question for a key and for a user. */
#define VISIT_KEY "\001"
#define VISIT_USER "\002"

enum { VISIT_QUESTIONS = 42, VISIT_WORDS = 14, VISIT_PROBES = 9 };

/* By how much the server's clock is ahead of clock_now_us. */
struct offset {
	bool is_known;
	int64_t us;
	int64_t error_us; /* that may be wrong by so much */
};

/* What probes by TIME have shown. */
struct clock {
	struct offset best; /* by the shortest round trip */
	struct offset last;
	int64_t step_us; /* the longest one between two, beyond doubt */
	/* From the shortest on. One more is taken right before the end. */
	int64_t took_us[VISIT_PROBES + 1];
	size_t count;
};

/* Several servers: what shows that one of them is not another one. */
struct identity {
	char *facts; /* to be freed; NULL: it has not replied */
	struct offset clock;
};

struct visit {
	struct enquiry enquiry;
	struct findings *findings;
	/* A key beside the lock of the options, for trials; NULL: the server is
	 * a primary of a cluster, and its permissions are not examined. */
	const char *scratch;
	char *facts; /* of the server, to be freed, or NULL */
	/* It is a replica: if it cannot be asked, that is a note. */
	bool is_replica;
	/* The server has refused access or does not reply: that is a finding
	 * then, and nothing more is asked. */
	bool is_over;
	struct clock clock;
	struct identity identity;
	/* The replicas that sentinels know; NULL: none of them says it. */
	struct url_address *known;
	size_t known_count;

	/* For the words that are added next, */
	const char *key, *user;
	/* and what is asked. */
	size_t count;
	bool is_asked;
	struct question questions[VISIT_QUESTIONS];
	struct visit_words {
		char text[120];
		const char *argv[VISIT_WORDS];
	} words[VISIT_QUESTIONS];
};

/* Adds a question: the words of the prefix and the others, with '|' between
 * them. What was asked before is forgotten. */
void visit_add(struct visit *visit, const char *prefix, const char *words);

/* Asks what was added. The questions with their answers, of which there are
 * none when the visit is over. */
const struct question *visit_ask(struct visit *visit);

/* Both, for a single question. */
const struct question *visit_ask_one(struct visit *visit, const char *words);

/* Adds that finding: the visit is over. */
void visit_judge_failure(struct visit *visit, const struct question *question);

/* Puts facts: why a question, which was refused or has no reply, was not
 * answered, and what to do. */
void visit_put_failure(char **facts, const struct question *question);

/* Puts facts: why something is not known, and what lets one see it: the rule
 * that is missing, or another place. error: NULL if there was none. */
void visit_put_unknown(char **facts, const char *what, const char *error,
    const char *rule);

/* Forgets all answers and facts, and ends the enquiry. */
void visit_end(struct visit *visit);

#endif
