/* A question, with several servers:
 *
 *   quorum_send --> each votes: yes, no, or absent --> enough? --> delivered
 *
 * The answer is delivered as soon as the votes that are out can't change it.
 * Later ones only show whether that server has the lock. Nothing is sent to a
 * server twice for one question, and what is sent behind something arrives
 * behind it: a release undoes a grant that is still on its way. */
#include "lock/quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/claim.h"
#include "lock/member.h"
#include "lock/single.h"
#include "lock/votes.h"
#include "redis/reply.h"
#include "redis/way.h"

struct quorum {
	struct loop *loop;
	const struct lock_config *config;
	size_t count;
	struct single *single; /* or, with several servers: */
	struct member *members;
	struct loop_timer timer; /* ends the time for votes */
	/* The question: */
	bool open;
	enum ask ask;
	reply_handler *on_reply;
	void *arg;
	int64_t asked_at, due_at;
	bool agreed;	      /* to the last renewal, by a majority */
	char duplicates[320]; /* see quorum_faults; never forgotten */
	char label[1024];
	char error[2048];
};

static void on_vote(void *arg);
static void on_time(void *arg);

/* --- set-up ----------------------------------------------------------- */

static int
add_members(struct quorum *quorum, void (*on_stray)(void *arg),
    void (*on_again)(void *arg), void *arg)
{
	const struct lock_config *config = quorum->config;

	quorum->members =
	    calloc(config->server_count, sizeof(*quorum->members));
	if (quorum->members == NULL)
		return -1;
	while (quorum->count < config->server_count) {
		size_t i = quorum->count++;
		size_t length = strlen(quorum->label);
		const struct member_config own = {.server = &config->servers[i],
		    .lock = config,
		    .on_vote = on_vote,
		    .vote_arg = quorum,
		    .on_stray = on_stray,
		    .on_again = on_again,
		    .lock_arg = arg};

		snprintf(quorum->label + length, sizeof(quorum->label) - length,
		    "%s%s", i > 0 ? ", " : "", own.server->label);
		if (member_init(&quorum->members[i], quorum->loop, &own) == -1)
			return -1;
	}
	return 0;
}

struct quorum *
quorum_new(struct loop *loop, const struct lock_config *config,
    void (*on_stray)(void *arg), void (*on_again)(void *arg), void *arg)
{
	struct quorum *quorum = calloc(1, sizeof(*quorum));

	if (quorum == NULL)
		return NULL;
	quorum->loop = loop;
	quorum->config = config;
	quorum->timer = (struct loop_timer){.on_due = on_time, .arg = quorum};
	if (config->server_count == 1)
		quorum->single = single_new(loop, config->servers, config->key);
	if (quorum->single != NULL ||
	    (config->server_count > 1 &&
		add_members(quorum, on_stray, on_again, arg) == 0))
		return quorum;
	quorum_free(quorum);
	return NULL;
}

void
quorum_free(struct quorum *quorum)
{
	if (quorum == NULL)
		return;
	loop_timer_remove(quorum->loop, &quorum->timer);
	single_free(quorum->single);
	for (size_t i = 0; i < quorum->count; i++)
		member_fini(&quorum->members[i]);
	free(quorum->members);
	free(quorum);
}

/* --- counting --------------------------------------------------------- */

static struct votes
count_votes(const struct quorum *quorum)
{
	struct votes votes = {0};

	for (size_t i = 0; i < quorum->count; i++)
		member_add_vote(&quorum->members[i], &votes);
	return votes;
}

static void
find_duplicates(struct quorum *quorum)
{
	const struct member *members = quorum->members;

	for (size_t i = 0; i < quorum->count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct member_identity *a = &members[j].identity;
			const struct member_identity *b = &members[i].identity;

			if (a->known && b->known &&
			    strcmp(a->run_id, b->run_id) == 0)
				snprintf(quorum->duplicates,
				    sizeof(quorum->duplicates),
				    "%.120s and %.120s are the same server",
				    way_label(members[j].server),
				    way_label(members[i].server));
		}
}

/* --- the answer ------------------------------------------------------- */

/* Why there is no majority, by each server. */
static void
explain_votes(struct quorum *quorum)
{
	char *error = quorum->error;
	size_t size = sizeof(quorum->error);

	snprintf(error, size, "no majority of %zu servers", quorum->count);
	for (size_t i = 0; i < quorum->count; i++) {
		size_t length = strlen(error);
		snprintf(error + length, size - length, "%s%s",
		    i == 0 ? ": " : "; ", quorum->members[i].why);
	}
}

/* In the words of the speaker, or without a value. The handler may ask the next
 * question, which forgets the votes on this one. */
static void
deliver_votes(struct quorum *quorum, struct reply reply, struct member *speaker)
{
	struct value *said = NULL;

	if (speaker != NULL) {
		said = speaker->said;
		speaker->said = NULL;
		reply.tag = speaker->tag;
		reply.kind = speaker->kind;
		reply.error = speaker->error;
	}
	if (reply.kind != REPLY_NO_ACCESS)
		reply.value = said;
	reply.sent_at = reply.value == NULL && quorum->ask == ASK_GRANT
			    ? CLOCK_NEVER
			    : quorum->asked_at;
	if (reply.label == NULL)
		reply.label = quorum->label;
	if (reply.value == NULL)
		reply.failure = quorum->error;
	quorum->open = false;
	loop_timer_set(quorum->loop, &quorum->timer, CLOCK_NEVER);
	if (quorum->on_reply != NULL)
		quorum->on_reply(quorum->arg, &reply);
	value_free(said);
}

/* In the words of the first of those that make a majority impossible, if there
 * are any. */
static void
deliver_no_majority(struct quorum *quorum, const struct votes *votes,
    bool partial)
{
	bool heard = votes->answered >= votes_majority(votes->size);
	struct member *member = quorum->members;
	struct reply reply = {.kind = heard ? REPLY_TOO_FEW : REPLY_NONE,
	    .partial = partial};

	explain_votes(quorum);
	if (!votes_never_agree(votes) || quorum->ask == ASK_RENEW) {
		deliver_votes(quorum, reply, NULL);
		return;
	}
	while (!member_is_absent_for_good(member))
		member++;
	reply.label = way_label(member->server);
	reply.permanent = member->vote == MEMBER_UNREACHABLE;
	deliver_votes(quorum, reply, member);
}

static void
decide(struct quorum *quorum)
{
	static const enum member_vote agreeing[] =
	    {[VOTES_YES] = MEMBER_YES, [VOTES_NO] = MEMBER_NO};
	struct member *member = quorum->members;
	struct votes votes = count_votes(quorum);
	bool grant = quorum->ask == ASK_GRANT;
	bool partial = grant && votes.maybe_granted > 0;
	enum votes_decision decision = votes_decide(quorum->ask, &votes);

	if (!quorum->open)
		return;
	if (grant)
		find_duplicates(quorum);
	if (quorum->ask == ASK_RENEW)
		quorum->agreed = decision == VOTES_YES;
	if (grant && quorum->duplicates[0] != '\0') {
		snprintf(quorum->error, sizeof(quorum->error), "%s",
		    quorum->duplicates);
		deliver_votes(quorum,
		    (struct reply){.kind = REPLY_DUPLICATE, .partial = true},
		    NULL);
	} else if (decision == VOTES_FAILED) {
		deliver_no_majority(quorum, &votes, partial);
	} else if (decision != VOTES_WAIT) {
		/* In the words of the first that voted so. */
		while (member->vote != agreeing[decision])
			member++;
		partial = partial && decision != VOTES_YES;
		if (quorum->ask == ASK_RELEASE)
			partial = votes.yes - votes.unreplicated <
				  votes_majority(votes.size);
		deliver_votes(quorum, (struct reply){.partial = partial},
		    member);
	}
}

/* A grant is decided when all that has arrived is read, by timers that come
 * after it in this turn: the end of a connection may be behind this vote. */
static void
on_vote(void *arg)
{
	struct quorum *quorum = arg;
	struct votes votes = count_votes(quorum);

	if (quorum->ask != ASK_GRANT)
		decide(quorum);
	else if (quorum->open && votes_decide(ASK_GRANT, &votes) != VOTES_WAIT)
		loop_timer_set(quorum->loop, &quorum->timer, 0);
}

static void
on_time(void *arg)
{
	struct quorum *quorum = arg;
	bool over = clock_now() >= quorum->due_at;

	for (size_t i = 0; i < quorum->count && quorum->open; i++) {
		member_doubt_grant(&quorum->members[i]);
		if (over && quorum->members[i].vote == MEMBER_OUT)
			member_time_out(&quorum->members[i]);
	}
	loop_timer_set(quorum->loop, &quorum->timer,
	    over ? CLOCK_NEVER : quorum->due_at);
	decide(quorum);
}

/* --- questions -------------------------------------------------------- */

/* A grant has to come soon, or little would be left of the lease. A renewal has
 * as long as the command. */
static void
ask_members(struct quorum *quorum, const struct command *command, enum ask ask)
{
	struct command own = *command;
	int64_t now = clock_now();

	quorum->ask = ask;
	quorum->on_reply = command->on_reply;
	quorum->arg = command->arg;
	quorum->asked_at = now;
	quorum->due_at =
	    ask == ASK_RENEW
		? CLOCK_NEVER
		: clock_min(command->deadline,
		      now + command->replicas_ms +
			  votes_patience_ms(quorum->config->ttl_ms));
	own.counts_until = quorum->due_at;
	quorum->open = false;
	for (size_t i = 0; i < quorum->count; i++)
		member_send(&quorum->members[i], &own, ask);
	quorum->open = true;
	loop_timer_set(quorum->loop, &quorum->timer,
	    count_votes(quorum).out == 0 ? now : quorum->due_at);
}

int
quorum_send(struct quorum *quorum, const struct command *command, enum ask ask)
{
	struct command own = *command;

	if (quorum->single != NULL)
		return single_send(quorum->single, command, ask);
	if (ask == ASK_GRANT || ask == ASK_RENEW || ask == ASK_RELEASE) {
		/* Not all replies to a release are awaited. */
		if (ask == ASK_RELEASE)
			own.again = AGAIN_AS_TEXT;
		ask_members(quorum, &own, ask);
		return 0;
	}
	own.on_reply = NULL;
	for (size_t i = 0; i < quorum->count; i++)
		/* Without a majority for the renewal another client may have
		 * taken the lock from a member; one that was away has just
		 * forgotten it. */
		if (ask != ASK_PLANT || quorum->agreed ||
		    quorum->members[i].was_away)
			member_send(&quorum->members[i], &own, ask);
	return 0;
}

/* --- facts ------------------------------------------------------------ */

struct quorum_faults
quorum_faults(struct quorum *quorum)
{
	struct quorum_faults faults = {0};

	find_duplicates(quorum);
	if (quorum->duplicates[0] != '\0')
		faults.duplicates = quorum->duplicates;
	for (size_t i = 0; i < quorum->count; i++)
		if (member_is_absent_for_good(&quorum->members[i]))
			faults.unusable[i] = quorum->members[i].why;
	return faults;
}

bool
quorum_lacks_lock(const struct quorum *quorum)
{
	return count_votes(quorum).lacking > 0;
}

bool
quorum_owes_grant(const struct quorum *quorum)
{
	return count_votes(quorum).owing > 0;
}

bool
quorum_await_renewals(struct quorum *quorum, bool keep,
    void (*on_quiet)(void *arg))
{
	return quorum->single != NULL &&
	       single_await_renewals(quorum->single, keep, on_quiet);
}

bool
quorum_is_one(const struct quorum *quorum)
{
	return quorum->single != NULL;
}

bool
quorum_is_up(const struct quorum *quorum)
{
	for (size_t i = 0; i < quorum->count; i++)
		if (way_is_up(quorum->members[i].server))
			return true;
	return quorum->single != NULL &&
	       way_is_up(single_server(quorum->single));
}

int64_t
quorum_rests_until(const struct quorum *quorum, const char **why)
{
	const struct way *server = NULL;
	int64_t until = CLOCK_NEVER;

	if (quorum->single != NULL) {
		server = single_server(quorum->single);
		until = way_rests_until(server);
	}
	for (size_t i = 0; i < quorum->count; i++) {
		const struct way *other = quorum->members[i].server;
		int64_t other_until = way_rests_until(other);

		if (other_until < until) {
			server = other;
			until = other_until;
		}
	}
	*why = way_error(server);
	return until;
}

void
quorum_drop(struct quorum *quorum)
{
	if (quorum->single != NULL)
		single_drop(quorum->single);
	for (size_t i = 0; i < quorum->count; i++)
		way_drop(quorum->members[i].server);
}

void
quorum_reject(struct quorum *quorum)
{
	if (quorum->single != NULL)
		way_reject(single_server(quorum->single));
}

const char *
quorum_error(struct quorum *quorum)
{
	if (quorum->single != NULL)
		return single_error(quorum->single);
	if (quorum->open)
		explain_votes(quorum);
	return quorum->error;
}

const char *
quorum_label(const struct quorum *quorum)
{
	return quorum->single != NULL ? way_label(single_server(quorum->single))
				      : quorum->label;
}
