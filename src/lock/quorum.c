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

#include "lock/key.h"
#include "lock/member.h"
#include "lock/single.h"
#include "lock/votes.h"
#include "redis/reply.h"
#include "redis/server.h"

struct quorum {
	struct loop *loop;
	const struct lock_config *config;
	size_t count;
	struct single *single; /* or, with several servers: */
	struct member *members;
	struct loop_timer timer; /* ends the time for votes */
	/* The question: */
	bool open;
	enum quorum_ask ask;
	reply_handler *on_reply;
	void *arg;
	int64_t asked_at;
	bool agreed;	      /* to the last renewal, by a majority */
	char duplicates[320]; /* see quorum_faults; never forgotten */
	char label[1024];
	char error[2048];
};

static void decide(void *arg);
static void on_time(void *arg);

/* --- set-up ----------------------------------------------------------- */

static int
add_members(struct quorum *quorum, void (*on_stray)(void *arg), void *arg)
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
		    .on_vote = decide,
		    .vote_arg = quorum,
		    .on_stray = on_stray,
		    .stray_arg = arg};

		snprintf(quorum->label + length, sizeof(quorum->label) - length,
		    "%s%s", i > 0 ? ", " : "", own.server->label);
		if (member_init(&quorum->members[i], quorum->loop, &own) == -1)
			return -1;
	}
	return 0;
}

struct quorum *
quorum_new(struct loop *loop, const struct lock_config *config,
    void (*on_stray)(void *arg), void *arg)
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
		add_members(quorum, on_stray, arg) == 0))
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

static size_t
count(const struct quorum *quorum, bool (*is)(const struct member *member))
{
	size_t found = 0;

	for (size_t i = 0; i < quorum->count; i++)
		found += is(&quorum->members[i]);
	return found;
}

static struct votes
count_votes(const struct quorum *quorum)
{
	struct votes votes = {.size = quorum->count,
	    .answered = count(quorum, member_has_answered),
	    .permanent = count(quorum, member_is_absent_for_good)};

	for (size_t i = 0; i < quorum->count; i++) {
		const struct member *member = &quorum->members[i];
		bool out = member->vote == MEMBER_OUT;
		bool no = member->vote == MEMBER_NO;

		votes.out += out;
		votes.yes += member->vote == MEMBER_YES;
		votes.no += no;
		votes.not_yet += member->vote == MEMBER_NOT_YET;
		votes.lost += no && member_had_lock(member);
		votes.maybe_granted += out || member->may_have_granted;
		votes.unsent += out && member_would_miss_release(member);
	}
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
				    server_label(members[j].server),
				    server_label(members[i].server));
		}
}

/* --- the answer ------------------------------------------------------- */

/* Why there is no majority, by each server. */
static void
explain(struct quorum *quorum)
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

/* For the speaker, or without a value. The handler may ask the next question,
 * which forgets the votes on this one. */
static void
deliver(struct quorum *quorum, struct reply *reply, struct member *speaker)
{
	struct reply_owned said = {NULL, NULL};

	if (speaker != NULL) {
		said = speaker->said;
		speaker->said = (struct reply_owned){NULL, NULL};
	}
	if (reply->kind != REPLY_NO_ACCESS) {
		reply->value = said.value;
		reply->answer = said.answer;
	}
	reply->sent_at = reply->value == NULL && quorum->ask == QUORUM_GRANT
			     ? CLOCK_NEVER
			     : quorum->asked_at;
	if (reply->label == NULL)
		reply->label = quorum->label;
	if (reply->value == NULL)
		reply->failure = quorum->error;
	quorum->open = false;
	loop_timer_set(quorum->loop, &quorum->timer, CLOCK_NEVER);
	if (quorum->on_reply != NULL)
		quorum->on_reply(quorum->arg, reply);
	reply_free(&said);
}

/* In the words of the first that voted so. */
static void
deliver_vote(struct quorum *quorum, enum member_vote vote, bool partial)
{
	struct reply reply = {.partial = partial};
	struct member *member = quorum->members;

	while (member->vote != vote)
		member++;
	reply.kind = member->kind;
	reply.error = value_error(member->said.value);
	deliver(quorum, &reply, member);
}

/* In the words of the first of those that make a majority impossible, if there
 * are any. */
static void
deliver_failure(struct quorum *quorum, const struct votes *votes, bool partial)
{
	bool heard = votes->answered >= votes_majority(votes->size);
	struct member *member = quorum->members;
	struct reply reply = {.kind = heard ? REPLY_TOO_FEW : REPLY_NONE,
	    .partial = partial};

	explain(quorum);
	if (!votes_never_agree(votes) || quorum->ask == QUORUM_RENEW) {
		deliver(quorum, &reply, NULL);
		return;
	}
	while (!member_is_absent_for_good(member))
		member++;
	reply.kind = member->kind;
	reply.error = member->kind == REPLY_NO_ACCESS
			  ? member->refusal
			  : value_error(member->said.value);
	reply.label = server_label(member->server);
	reply.permanent = member->vote == MEMBER_UNREACHABLE;
	deliver(quorum, &reply, member);
}

static void
decide(void *arg)
{
	struct quorum *quorum = arg;
	struct votes votes = count_votes(quorum);
	bool grant = quorum->ask == QUORUM_GRANT;
	bool partial = grant && votes.maybe_granted > 0;
	struct reply duplicate = {.kind = REPLY_DUPLICATE, .partial = true};
	enum votes_decision decision = grant ? votes_on_grant(&votes)
				       : quorum->ask == QUORUM_RENEW
					   ? votes_on_renewal(&votes)
					   : votes_on_release(&votes);

	if (!quorum->open)
		return;
	if (grant)
		find_duplicates(quorum);
	if (quorum->ask == QUORUM_RENEW)
		quorum->agreed = decision == VOTES_YES;
	if (grant && quorum->duplicates[0] != '\0') {
		snprintf(quorum->error, sizeof(quorum->error), "%s",
		    quorum->duplicates);
		deliver(quorum, &duplicate, NULL);
	} else if (decision == VOTES_YES) {
		deliver_vote(quorum, MEMBER_YES, false);
	} else if (decision == VOTES_NO) {
		deliver_vote(quorum, MEMBER_NO, partial);
	} else if (decision == VOTES_NOT_YET) {
		deliver_vote(quorum, MEMBER_NOT_YET, partial);
	} else if (decision == VOTES_FAILED) {
		deliver_failure(quorum, &votes, partial);
	}
}

static void
on_time(void *arg)
{
	struct quorum *quorum = arg;

	for (size_t i = 0; i < quorum->count; i++)
		if (quorum->open && quorum->members[i].vote == MEMBER_OUT)
			member_time_out(&quorum->members[i]);
	decide(quorum);
}

/* --- questions -------------------------------------------------------- */

/* A grant has to come soon, or little would be left of the lease. A renewal has
 * as long as the command. */
static void
ask_members(struct quorum *quorum, const struct command *command,
    enum quorum_ask ask)
{
	enum reply_phase phase = ask == QUORUM_GRANT   ? REPLY_ACQUIRING
				 : ask == QUORUM_RENEW ? REPLY_HOLDING
						       : REPLY_RELEASING;
	int64_t now = clock_now();
	int64_t due_at = clock_min(command->deadline,
	    now + command->replicas_ms +
		votes_patience_ms(quorum->config->ttl_ms));
	size_t out = 0;

	quorum->ask = ask;
	quorum->on_reply = command->on_reply;
	quorum->arg = command->arg;
	quorum->asked_at = now;
	quorum->open = false;
	for (size_t i = 0; i < quorum->count; i++) {
		member_ask(&quorum->members[i], command, phase);
		out += quorum->members[i].vote == MEMBER_OUT;
	}
	quorum->open = true;
	if (ask == QUORUM_RENEW)
		due_at = CLOCK_NEVER;
	loop_timer_set(quorum->loop, &quorum->timer, out == 0 ? now : due_at);
}

/* Without a majority for the renewal another client may have taken the lock
 * from a member; one that was away has just forgotten it. */
static void
send_to_member(struct quorum *quorum, struct member *member,
    const struct command *command, enum quorum_ask ask)
{
	if (ask == QUORUM_PLANT && (quorum->agreed || member->was_away))
		member_plant(member, command);
	else if (ask == QUORUM_RECALL)
		member_recall(member, command);
	else if (ask == QUORUM_SEND ||
		 (ask == QUORUM_UNDO && member_owes_grant(member)))
		member_send(member, command);
}

static int
send_to_single(struct single *single, const struct command *command,
    enum quorum_ask ask)
{
	if (ask == QUORUM_GRANT || ask == QUORUM_RENEW)
		return single_ask(single, command, ask == QUORUM_GRANT);
	if (ask == QUORUM_RENEW_AGAIN)
		return single_ask_again(single, command);
	if (ask == QUORUM_RELEASE)
		return single_release(single, command);
	if (ask == QUORUM_SEND || ask == QUORUM_UNDO)
		return server_send(single_server(single), command);
	return 0;
}

int
quorum_send(struct quorum *quorum, const struct command *command,
    enum quorum_ask ask)
{
	struct command own = *command;

	if (quorum->single != NULL)
		return send_to_single(quorum->single, command, ask);
	if (ask == QUORUM_GRANT || ask == QUORUM_RENEW ||
	    ask == QUORUM_RELEASE) {
		/* Not all replies to a release are awaited. */
		own.whole = own.whole || ask == QUORUM_RELEASE;
		ask_members(quorum, &own, ask);
		return 0;
	}
	own.on_reply = NULL;
	for (size_t i = 0; i < quorum->count; i++)
		send_to_member(quorum, &quorum->members[i], &own, ask);
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
	return count(quorum, member_lacks_lock) > 0;
}

bool
quorum_owes_grant(const struct quorum *quorum)
{
	return count(quorum, member_owes_grant) > 0;
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

static struct server *
server_at(const struct quorum *quorum, size_t i)
{
	return quorum->single != NULL ? single_server(quorum->single)
				      : quorum->members[i].server;
}

bool
quorum_is_up(const struct quorum *quorum)
{
	for (size_t i = 0; i < quorum->config->server_count; i++)
		if (server_is_up(server_at(quorum, i)))
			return true;
	return false;
}

void
quorum_drop(struct quorum *quorum)
{
	if (quorum->single != NULL)
		single_drop(quorum->single);
	for (size_t i = 0; i < quorum->count; i++)
		server_drop(quorum->members[i].server);
}

const char *
quorum_error(struct quorum *quorum)
{
	if (quorum->single != NULL)
		return single_error(quorum->single);
	if (quorum->open)
		explain(quorum);
	return quorum->error;
}

const char *
quorum_label(const struct quorum *quorum)
{
	return quorum->single != NULL
		   ? server_label(single_server(quorum->single))
		   : quorum->label;
}
