/* A question, with several servers:
 *
 *   nodes_send --> each server votes: yes, no, or absent --> enough? --> told
 *                        (its answer, its failure,
 *                         or the time is up)
 *
 * It is told as soon as the votes that are missing can't change it. What comes
 * later only tells whether that server has the lock. Nothing is sent to a
 * server twice for one question, and what is sent behind something arrives
 * behind it: a release undoes a grant that is still on its way. */
#include "nodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "num.h"
#include "quorum.h"
#include "reply.h"

/* Answers that one server may owe. */
enum { BALLOTS_MAX = 8 };
enum { WHY_MAX = 320, WORDS_MAX = 192, RUN_ID_MAX = 64 };

enum vote { VOTE_OUT, VOTE_YES, VOTE_NO, VOTE_ABSENT, VOTE_KINDS };

struct member {
	struct nodes *nodes;
	struct node *node;
	struct ballot {
		struct member *member;
		enum nodes_ask ask;
		unsigned question; /* 0: unused */
		unsigned grant;	   /* the one that it is about */
	} ballots[BALLOTS_MAX];
	enum vote vote;
	bool granted;  /* or perhaps: whatever the vote is */
	bool heard;    /* absent, but it answered */
	bool hopeless; /* absent, and it will be so again */
	bool doubtful; /* it may not be the primary */
	bool had;      /* the lock, with this token */
	bool lacks;    /* it, when it was last to be renewed */
	bool known;    /* what follows is about this connection's server */
	int64_t started_at;
	char run_id[RUN_ID_MAX];
	char secret[WORDS_MAX]; /* why it may not be asked, or empty */
	char why[WHY_MAX];
};

struct nodes {
	struct loop *loop;
	const struct nodes_config *config;
	struct member *members;
	struct loop_timer timer; /* decides */
	/* The question: */
	unsigned question;
	unsigned grant; /* the last question of that kind */
	bool open;
	enum nodes_ask ask;
	conn_on_reply *on_reply;
	void *arg;
	int replicas;
	int64_t asked_at;
	struct conn_reply *replies[VOTE_KINDS]; /* the first with that vote */
	/* What is to be known of its answer: */
	bool partial;
	bool heard;
	bool hopeless;
	bool unfit;
	const char *refusal;
	const struct member *speaker; /* NULL: all */
	char twins[WHY_MAX];	      /* two that are one, or empty */
	char label[1024];
	char error[2048];
};

/* --- set-up ----------------------------------------------------------- */

static void on_time(void *arg);

static void
write_label(struct nodes *nodes)
{
	size_t length = 0;

	for (size_t i = 0; i < nodes->config->count; i++) {
		snprintf(nodes->label + length, sizeof(nodes->label) - length,
		    "%s%s", i > 0 ? ", " : "", nodes->config->servers[i].label);
		length = strlen(nodes->label);
	}
}

struct nodes *
nodes_new(struct loop *loop, const struct nodes_config *config)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));

	if (nodes == NULL)
		return NULL;
	nodes->loop = loop;
	nodes->config = config;
	nodes->timer = (struct loop_timer){.on_due = on_time, .arg = nodes};
	nodes->members = calloc(config->count, sizeof(*nodes->members));
	if (nodes->members == NULL) {
		free(nodes);
		return NULL;
	}
	for (size_t i = 0; i < config->count; i++) {
		struct member *member = &nodes->members[i];
		member->nodes = nodes;
		member->node = node_new(loop, &config->servers[i], config->key);
		if (member->node == NULL) {
			nodes_free(nodes);
			return NULL;
		}
	}
	write_label(nodes);
	return nodes;
}

static void
forget_replies(struct nodes *nodes)
{
	for (size_t i = 0; i < VOTE_KINDS; i++) {
		conn_reply_free(nodes->replies[i]);
		nodes->replies[i] = NULL;
	}
}

void
nodes_free(struct nodes *nodes)
{
	if (nodes == NULL)
		return;
	loop_timer_remove(nodes->loop, &nodes->timer);
	for (size_t i = 0; i < nodes->config->count; i++)
		node_free(nodes->members[i].node);
	forget_replies(nodes);
	free(nodes->members);
	free(nodes);
}

/* --- votes ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void
say_why(struct member *member, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(member->why, sizeof(member->why), format, arguments);
	va_end(arguments);
}

static void
be_absent(struct member *member, const char *what, const char *words)
{
	member->vote = VOTE_ABSENT;
	say_why(member, "%s %.120s: %.180s", what, node_label(member->node),
	    words);
}

static void
keep_reply(struct nodes *nodes, enum vote vote, const struct conn_reply *reply)
{
	if (nodes->replies[vote] == NULL)
		nodes->replies[vote] = conn_reply_copy(reply);
}

static enum reply_phase
phase_of(enum nodes_ask ask)
{
	if (ask == NODES_GRANT)
		return REPLY_ACQUIRING;
	return ask == NODES_RENEW ? REPLY_HOLDING : REPLY_RELEASING;
}

static bool
is_hopeless(enum reply_verdict verdict)
{
	return verdict != REPLY_RETRY && verdict != REPLY_RECONNECT;
}

/* Words are the server's: an error, or why it has refused the connection. */
static void
vote_by_words(struct member *member, const struct conn_reply *reply,
    const char *words)
{
	bool refused = node_refusal(member->node) != NULL;
	enum reply_verdict verdict =
	    reply_judge(phase_of(member->nodes->ask), words);

	be_absent(member, refused ? "refused by" : "error from",
	    reply_explain(words));
	member->heard = true;
	member->hopeless = is_hopeless(verdict);
	if (verdict == REPLY_LOST)
		member->vote = VOTE_NO;
	if (member->hopeless)
		keep_reply(member->nodes, member->vote, reply);
	else if (refused || verdict == REPLY_RECONNECT)
		node_drop(member->node);
}

/* What the server has granted is not to be relied on. The reason goes into
 * text. */
static bool
lacks_replicas(const struct member *member, char text[WORDS_MAX])
{
	const struct conn_reply *acks = node_acks(member->node);
	const char *error = conn_reply_error(acks);
	int wanted = member->nodes->replicas;
	int64_t count = 0;

	conn_reply_integer(acks, &count);
	if (count >= wanted)
		return false;
	if (error != NULL)
		snprintf(text, WORDS_MAX, "%s", error);
	else
		snprintf(text, WORDS_MAX, "%d of %d replicas have the lock",
		    (int)count, wanted);
	return true;
}

static bool
is_too_young(const struct member *member, char text[WORDS_MAX])
{
	int64_t wanted = member->nodes->config->min_uptime_ms;
	int64_t up_ms = clock_now() - member->started_at;

	if (wanted == 0 || (member->known && up_ms >= wanted))
		return false;
	if (member->known)
		snprintf(text, WORDS_MAX,
		    "up for %.1f s only, so it abstains (--min-uptime)",
		    (double)up_ms / 1000);
	else
		snprintf(text, WORDS_MAX,
		    "it doesn't tell how long it is up (--min-uptime)");
	return true;
}

static void
vote_yes(struct member *member, const struct conn_reply *reply)
{
	struct nodes *nodes = member->nodes;
	bool grant = nodes->ask == NODES_GRANT;
	char doubt[WORDS_MAX];

	member->doubtful = lacks_replicas(member, doubt);
	if (member->doubtful || (grant && is_too_young(member, doubt))) {
		be_absent(member, "not counted", doubt);
		member->heard = true;
		member->hopeless = grant && member->secret[0] != '\0';
		return;
	}
	member->vote = VOTE_YES;
	say_why(member, "%s agrees", node_label(member->node));
	keep_reply(nodes, VOTE_YES, reply);
}

/* What a server has never had it can't have lost. */
static void
vote_no(struct member *member, const struct conn_reply *reply)
{
	if (member->nodes->ask == NODES_RENEW && !member->had) {
		be_absent(member, "not counted", "it has not got the lock");
		member->heard = true;
		return;
	}
	member->vote = VOTE_NO;
	say_why(member, "%s denies it", node_label(member->node));
	keep_reply(member->nodes, VOTE_NO, reply);
}

static void
vote(struct member *member, const struct conn_reply *reply, int64_t sent_at)
{
	const char *refusal = node_refusal(member->node);
	const char *error = conn_reply_error(reply);
	int64_t value;

	if (reply == NULL) {
		member->vote = VOTE_ABSENT;
		member->granted = sent_at != CLOCK_NEVER;
		member->hopeless = node_is_hopeless(member->node);
		say_why(member, "%s", node_error(member->node));
		return;
	}
	if (refusal != NULL || error != NULL) {
		member->granted = error == NULL;
		vote_by_words(member, reply, refusal ? refusal : error);
	} else if (!conn_reply_integer(conn_reply_at(reply, 0), &value)) {
		member->granted = true;
		be_absent(member, "unexpected answer from",
		    "not that of our script");
		node_drop(member->node);
	} else if (value == 1 || member->nodes->ask == NODES_RELEASE) {
		member->granted = value == 1;
		(value > 0 ? vote_yes : vote_no)(member, reply);
	} else {
		vote_no(member, reply);
	}
}

/* --- the outcome ------------------------------------------------------ */

static struct quorum
count_votes(const struct nodes *nodes)
{
	struct quorum quorum = {.size = nodes->config->count};

	for (size_t i = 0; i < quorum.size; i++) {
		enum vote vote = nodes->members[i].vote;
		quorum.yes += vote == VOTE_YES;
		quorum.no += vote == VOTE_NO;
		quorum.absent += vote == VOTE_ABSENT;
	}
	return quorum;
}

/* Absent although they answered. */
static size_t
count_heard(const struct nodes *nodes)
{
	size_t count = 0;

	for (size_t i = 0; i < nodes->config->count; i++)
		count += nodes->members[i].vote == VOTE_ABSENT &&
			 nodes->members[i].heard;
	return count;
}

/* One of those that make a majority impossible for good, or NULL. */
static const struct member *
find_obstacle(const struct nodes *nodes)
{
	size_t size = nodes->config->count;
	const struct member *first = NULL;
	size_t count = 0;

	for (size_t i = size; i-- > 0;) {
		const struct member *member = &nodes->members[i];
		if (member->vote != VOTE_ABSENT || !member->hopeless)
			continue;
		first = member;
		count++;
	}
	return count > size - quorum_majority(size) ? first : NULL;
}

static void
explain(struct nodes *nodes)
{
	size_t length;

	snprintf(nodes->error, sizeof(nodes->error),
	    "no majority of %zu servers", nodes->config->count);
	for (size_t i = 0; i < nodes->config->count; i++) {
		const struct member *member = &nodes->members[i];
		length = strlen(nodes->error);
		snprintf(nodes->error + length, sizeof(nodes->error) - length,
		    "%s%s", i == 0 ? ": " : "; ", member->why);
	}
}

/* Of VOTE_OUT there is no reply. */
static void
tell(struct nodes *nodes, enum vote vote)
{
	struct conn_reply *reply = nodes->replies[vote];
	bool is_sent = reply != NULL || nodes->ask != NODES_GRANT;
	conn_on_reply *on_reply = nodes->on_reply;

	nodes->open = false;
	nodes->replies[vote] = NULL;
	loop_timer_set(nodes->loop, &nodes->timer, CLOCK_NEVER);
	if (on_reply != NULL)
		on_reply(nodes->arg, reply,
		    is_sent ? nodes->asked_at : CLOCK_NEVER);
	conn_reply_free(reply);
}

/* As the first obstacle words it. */
static void
tell_obstacle(struct nodes *nodes, const struct member *obstacle)
{
	nodes->speaker = obstacle;
	nodes->hopeless = !obstacle->heard;
	if (obstacle->secret[0] != '\0')
		nodes->refusal = obstacle->secret;
	else
		nodes->refusal = node_refusal(obstacle->node);
	tell(nodes, nodes->refusal != NULL ? VOTE_OUT : VOTE_ABSENT);
}

static void
tell_failure(struct nodes *nodes)
{
	const struct member *obstacle = find_obstacle(nodes);
	struct quorum votes = count_votes(nodes);

	explain(nodes);
	nodes->heard = votes.yes + votes.no + count_heard(nodes) >=
		       quorum_majority(votes.size);
	if (obstacle != NULL && nodes->ask != NODES_RENEW)
		tell_obstacle(nodes, obstacle);
	else
		tell(nodes, VOTE_OUT);
}

static bool
any_may_have_granted(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++)
		if (nodes->members[i].granted ||
		    nodes->members[i].vote == VOTE_OUT)
			return true;
	return false;
}

static void
deny_grant(struct nodes *nodes, const struct quorum *votes)
{
	size_t answered = votes->yes + votes->no;

	nodes->partial = any_may_have_granted(nodes);
	if (find_obstacle(nodes) == NULL && votes->no > 0 &&
	    answered >= quorum_majority(votes->size))
		tell(nodes, VOTE_NO);
	else
		tell_failure(nodes);
}

/* Where no majority answers, each one's reason is waited for. */
static void
decide_grant(struct nodes *nodes, const struct quorum *votes)
{
	if (nodes->twins[0] != '\0') {
		nodes->unfit = true;
		nodes->partial = true;
		snprintf(nodes->error, sizeof(nodes->error), "%s",
		    nodes->twins);
		tell(nodes, VOTE_OUT);
	} else if (quorum_agrees(votes)) {
		tell(nodes, VOTE_YES);
	} else if (!quorum_can_agree(votes) && quorum_has_spoken(votes)) {
		deny_grant(nodes, votes);
	}
}

static void
decide_renewal(struct nodes *nodes, const struct quorum *votes)
{
	if (quorum_agrees(votes))
		tell(nodes, VOTE_YES);
	else if (quorum_denies(votes))
		tell(nodes, VOTE_NO);
	else if (!quorum_can_agree(votes) && !quorum_can_deny(votes))
		tell_failure(nodes);
}

/* Its release isn't on its way yet. */
static bool
any_keeps_it(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++) {
		const struct member *member = &nodes->members[i];
		if (member->vote == VOTE_OUT && member->had &&
		    !node_is_up(member->node))
			return true;
	}
	return false;
}

/* What is written arrives, whether its answer is waited for or not. */
static void
decide_release(struct nodes *nodes, const struct quorum *votes)
{
	size_t answered = votes->yes + votes->no;
	bool all = answered + votes->absent == votes->size;

	if (quorum_agrees(votes) && !any_keeps_it(nodes))
		tell(nodes, VOTE_YES);
	else if (!all)
		return;
	else if (quorum_denies(votes))
		tell(nodes, VOTE_NO);
	else if (answered >= quorum_majority(votes->size))
		tell(nodes, VOTE_YES);
	else
		tell_failure(nodes);
}

static void
decide(struct nodes *nodes)
{
	struct quorum votes = count_votes(nodes);

	if (!nodes->open)
		return;
	if (nodes->ask == NODES_GRANT)
		decide_grant(nodes, &votes);
	else if (nodes->ask == NODES_RENEW)
		decide_renewal(nodes, &votes);
	else
		decide_release(nodes, &votes);
}

/* Who hasn't answered in time may still do what was asked. */
static void
on_time(void *arg)
{
	struct nodes *nodes = arg;

	for (size_t i = 0; i < nodes->config->count; i++) {
		struct member *member = &nodes->members[i];
		if (!nodes->open || member->vote != VOTE_OUT)
			continue;
		member->granted = true;
		be_absent(member, "no answer from", "not within its time");
	}
	decide(nodes);
}

/* --- which server it is ------------------------------------------------ */

/* The value of "name:value" in its lines, or NULL. */
static const char *
find_value(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line == NULL ? NULL : line + strlen(name);
}

static bool
take_about(struct member *member, const char *text)
{
	const char *run_id = find_value(text, "\nrun_id:");
	const char *uptime = find_value(text, "\nuptime_in_seconds:");
	char digits[24] = "";
	int64_t seconds;

	if (run_id == NULL || uptime == NULL)
		return false;
	snprintf(member->run_id, sizeof(member->run_id), "%.*s",
	    (int)strcspn(run_id, "\r\n"), run_id);
	snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(uptime, "\r\n"),
	    uptime);
	if (num_int(digits, 0, NUM_DURATION_MAX_MS / 1000, &seconds) == -1)
		return false;
	member->started_at = clock_now() - seconds * 1000;
	return true;
}

static void
find_twin(struct member *member)
{
	struct nodes *nodes = member->nodes;

	for (size_t i = 0; i < nodes->config->count; i++) {
		const struct member *other = &nodes->members[i];
		if (other != member && other->known &&
		    strcmp(other->run_id, member->run_id) == 0)
			snprintf(nodes->twins, sizeof(nodes->twins),
			    "%.120s and %.120s are the same server",
			    node_label(other->node), node_label(member->node));
	}
}

static void
on_about(void *arg, const struct conn_reply *reply, int64_t sent_at)
{
	struct member *member = arg;
	const char *text = conn_reply_text(reply);
	const char *error = conn_reply_error(reply);

	(void)sent_at;
	member->secret[0] = '\0';
	member->known = text != NULL && take_about(member, text);
	if (member->known)
		find_twin(member);
	if (member->nodes->config->min_uptime_ms > 0 && error != NULL)
		snprintf(member->secret, sizeof(member->secret), "%s", error);
}

/* In the same write as the first try on a connection. */
static void
ask_about(struct member *member, int64_t deadline)
{
	const char *argv[] = {"INFO", "server"};
	const struct conn_command command = {.argc = 2,
	    .argv = argv,
	    .deadline = deadline,
	    .on_reply = on_about,
	    .arg = member,
	    .more = true};

	if (!member->known)
		node_send(member->node, &command);
}

/* --- questions -------------------------------------------------------- */

static void
on_reply(void *arg, const struct conn_reply *reply, int64_t sent_at)
{
	struct ballot *ballot = arg;
	struct member *member = ballot->member;
	struct nodes *nodes = member->nodes;
	bool stale =
	    ballot->question != nodes->question || ballot->ask == NODES_PLANT;
	int64_t value;

	ballot->question = 0;
	if (reply == NULL)
		member->known = false;
	if (ballot->ask != NODES_RELEASE && ballot->grant == nodes->grant &&
	    conn_reply_integer(conn_reply_at(reply, 0), &value)) {
		member->lacks = value == 0;
		member->had = member->had || value == 1;
	}
	if (stale || !nodes->open || member->vote != VOTE_OUT)
		return;
	vote(member, reply, sent_at);
	decide(nodes);
}

static bool
owes_grant(const struct member *member)
{
	for (size_t i = 0; i < BALLOTS_MAX; i++) {
		const struct ballot *ballot = &member->ballots[i];
		if (ballot->question != 0 &&
		    (ballot->ask == NODES_GRANT || ballot->ask == NODES_PLANT))
			return true;
	}
	return false;
}

static size_t
count_owed(const struct member *member)
{
	size_t owed = 0;

	for (size_t i = 0; i < BALLOTS_MAX; i++)
		owed += member->ballots[i].question != 0;
	return owed;
}

static struct ballot *
new_ballot(struct member *member, enum nodes_ask ask)
{
	for (size_t i = 0; i < BALLOTS_MAX; i++) {
		struct ballot *ballot = &member->ballots[i];
		if (ballot->question != 0)
			continue;
		*ballot = (struct ballot){.member = member,
		    .ask = ask,
		    .question = member->nodes->question,
		    .grant = member->nodes->grant};
		return ballot;
	}
	return NULL;
}

static int
send_ballot(struct member *member, const struct conn_command *command,
    enum nodes_ask ask)
{
	struct conn_command own = *command;
	struct ballot *ballot = new_ballot(member, ask);

	if (ballot == NULL)
		return -1;
	own.on_reply = on_reply;
	own.arg = ballot;
	if (node_send(member->node, &own) == 0)
		return 0;
	ballot->question = 0;
	return -1;
}

/* Who still owes an answer to an earlier try isn't sent another: all of them
 * would be run when a frozen server goes on. */
static void
put(struct member *member, const struct conn_command *command)
{
	struct nodes *nodes = member->nodes;

	if (nodes->ask == NODES_GRANT)
		member->had = member->lacks = false;
	member->vote = VOTE_OUT;
	member->granted = false;
	member->heard = false;
	member->hopeless = false;
	if (member->doubtful)
		node_doubt(member->node);
	member->doubtful = false;
	say_why(member, "%s has not answered", node_label(member->node));
	if (!node_is_up(member->node))
		member->known = false;
	if (nodes->ask == NODES_GRANT && count_owed(member) > 0) {
		be_absent(member, "no answer from", "not yet");
		return;
	}
	if (nodes->ask == NODES_GRANT)
		ask_about(member, command->deadline);
	if (send_ballot(member, command, nodes->ask) == -1)
		be_absent(member, "cannot ask", "too much is unanswered");
}

static void
tell_some(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	struct conn_command own = *command;

	own.on_reply = NULL;
	for (size_t i = 0; i < nodes->config->count; i++) {
		struct member *member = &nodes->members[i];
		if (ask == NODES_UNDO
			? owes_grant(member)
			: node_is_up(member->node) || count_owed(member) > 0)
			node_send(member->node, &own);
	}
}

static void
plant(struct nodes *nodes, const struct conn_command *command)
{
	for (size_t i = 0; i < nodes->config->count; i++) {
		struct member *member = &nodes->members[i];
		if (member->lacks && count_owed(member) == 0 &&
		    send_ballot(member, command, NODES_PLANT) == 0)
			member->lacks = false;
	}
}

/* A grant has to come soon, or little would be left of the lease. A renewal has
 * as long as the command. */
static int64_t
time_is_up_at(const struct nodes *nodes, const struct conn_command *command)
{
	int64_t at = nodes->asked_at + command->replicas_ms +
		     quorum_patience_ms(nodes->config->ttl_ms);

	if (nodes->ask == NODES_RENEW)
		return CLOCK_NEVER;
	return at < command->deadline ? at : command->deadline;
}

static void
put_to_all(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	size_t out = 0;

	forget_replies(nodes);
	nodes->question++;
	nodes->question += nodes->question == 0;
	if (ask == NODES_GRANT)
		nodes->grant = nodes->question;
	nodes->ask = ask;
	nodes->on_reply = command->on_reply;
	nodes->arg = command->arg;
	nodes->replicas = command->replicas;
	nodes->asked_at = clock_now();
	nodes->open = true;
	for (size_t i = 0; i < nodes->config->count; i++)
		put(&nodes->members[i], command);
	for (size_t i = 0; i < nodes->config->count; i++)
		out += nodes->members[i].vote == VOTE_OUT;
	loop_timer_set(nodes->loop, &nodes->timer,
	    out == 0 ? clock_now() : time_is_up_at(nodes, command));
}

/* --- one server ------------------------------------------------------- */

/* What its replicas don't have isn't granted, and not renewed. */
static void
on_only_reply(void *arg, const struct conn_reply *reply, int64_t sent_at)
{
	struct nodes *nodes = arg;
	const struct member *member = &nodes->members[0];
	char words[WORDS_MAX];
	int64_t value = 0;
	bool doubtful;

	conn_reply_integer(conn_reply_at(reply, 0), &value);
	doubtful = value == 1 && node_refusal(member->node) == NULL &&
		   lacks_replicas(member, words);
	if (doubtful) {
		reply = NULL;
		nodes->partial = nodes->ask == NODES_GRANT;
		nodes->heard = true;
		nodes->refusal = conn_reply_error(node_acks(member->node));
		snprintf(nodes->error, sizeof(nodes->error),
		    "not safe on %.512s: %s", node_label(member->node), words);
	}
	nodes->on_reply(nodes->arg, reply, sent_at);
	if (doubtful)
		node_doubt(member->node);
}

static int
send_replicated(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	struct conn_command own = *command;

	nodes->ask = ask;
	nodes->replicas = command->replicas;
	nodes->on_reply = command->on_reply;
	nodes->arg = command->arg;
	own.on_reply = on_only_reply;
	own.arg = nodes;
	return node_send(nodes->members[0].node, &own);
}

/* ---------------------------------------------------------------------- */

static void
forget_outcome(struct nodes *nodes)
{
	nodes->partial = false;
	nodes->heard = false;
	nodes->hopeless = false;
	nodes->unfit = false;
	nodes->refusal = NULL;
	nodes->speaker = NULL;
	if (nodes_are_one(nodes))
		nodes->error[0] = '\0';
}

static int
send_to_one(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	if (ask == NODES_PLANT)
		return 0;
	if (ask != NODES_TELL && ask != NODES_UNDO)
		forget_outcome(nodes);
	if (command->replicas > 0)
		return send_replicated(nodes, command, ask);
	return node_send(nodes->members[0].node, command);
}

int
nodes_send(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	if (nodes_are_one(nodes))
		return send_to_one(nodes, command, ask);
	if (ask == NODES_PLANT) {
		plant(nodes, command);
	} else if (ask == NODES_TELL || ask == NODES_UNDO) {
		tell_some(nodes, command, ask);
	} else {
		forget_outcome(nodes);
		put_to_all(nodes, command, ask);
	}
	return 0;
}

bool
nodes_are_partial(const struct nodes *nodes)
{
	return nodes->partial;
}

bool
nodes_are_heard(const struct nodes *nodes)
{
	return nodes->heard;
}

bool
nodes_are_hopeless(const struct nodes *nodes)
{
	if (nodes_are_one(nodes))
		return !nodes->heard &&
		       node_is_hopeless(nodes->members[0].node);
	return nodes->hopeless;
}

bool
nodes_are_unfit(const struct nodes *nodes)
{
	return nodes->unfit;
}

const char *
nodes_twins(const struct nodes *nodes)
{
	return nodes->twins[0] == '\0' ? NULL : nodes->twins;
}

bool
nodes_lack_it(const struct nodes *nodes)
{
	if (nodes_are_one(nodes))
		return false;
	for (size_t i = 0; i < nodes->config->count; i++)
		if (nodes->members[i].lacks)
			return true;
	return false;
}

bool
nodes_owe_grant(const struct nodes *nodes)
{
	if (nodes_are_one(nodes))
		return false;
	for (size_t i = 0; i < nodes->config->count; i++)
		if (owes_grant(&nodes->members[i]))
			return true;
	return false;
}

bool
nodes_are_one(const struct nodes *nodes)
{
	return nodes->config->count == 1;
}

bool
nodes_place(const struct nodes *nodes)
{
	const struct nodes_config *config = nodes->config;

	for (size_t i = 0; i < config->count; i++)
		if (!node_places(nodes->members[i].node, config->key))
			return false;
	return true;
}

bool
nodes_are_up(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++)
		if (node_is_up(nodes->members[i].node))
			return true;
	return false;
}

void
nodes_drop(struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++)
		node_drop(nodes->members[i].node);
}

const char *
nodes_error(const struct nodes *nodes)
{
	if (nodes_are_one(nodes) && nodes->error[0] == '\0')
		return node_error(nodes->members[0].node);
	return nodes->error;
}

const char *
nodes_refusal(const struct nodes *nodes)
{
	if (nodes_are_one(nodes) && nodes->refusal == NULL)
		return node_refusal(nodes->members[0].node);
	return nodes->refusal;
}

const char *
nodes_label(const struct nodes *nodes)
{
	if (nodes->speaker != NULL)
		return node_label(nodes->speaker->node);
	return nodes_are_one(nodes) ? node_label(nodes->members[0].node)
				    : nodes->label;
}
