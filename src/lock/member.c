#include "lock/member.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "lock/answer.h"
#include "redis/info.h"

int
member_init(struct member *member, struct loop *loop,
    const struct member_config *config)
{
	*member = (struct member){.config = *config};
	member->server = way_new(loop, config->server, config->lock->key);
	return member->server == NULL ? -1 : 0;
}

void
member_fini(struct member *member)
{
	way_free(member->server);
	value_free(member->said);
}

/* --- votes ------------------------------------------------------------ */

bool
member_is_absent_for_good(const struct member *member)
{
	return member->vote == MEMBER_UNREACHABLE ||
	       member->vote == MEMBER_UNUSABLE;
}

static bool
had_lock(const struct member *member)
{
	return member->presence == MEMBER_HAS ||
	       member->presence == MEMBER_LOST;
}

static bool
lacks_lock(const struct member *member)
{
	return member->presence == MEMBER_NEVER_HAD ||
	       member->presence == MEMBER_LOST;
}

static const char *
label(const struct member *member)
{
	return way_label(member->server);
}

__attribute__((format(printf, 3, 4))) static void
set_vote(struct member *member, enum member_vote vote, const char *format, ...)
{
	va_list arguments;

	member->vote = vote;
	va_start(arguments, format);
	vsnprintf(member->why, sizeof(member->why), format, arguments);
	va_end(arguments);
}

/* why: what happened, and the reason. */
static void
set_absent(struct member *member, enum member_vote vote, const char *what,
    const char *why)
{
	set_vote(member, vote, "%s %.120s: %.180s", what, label(member), why);
}

static void
vote_by_error(struct member *member, const struct reply *reply)
{
	bool refused = reply->kind == REPLY_NO_ACCESS;
	enum verdict verdict = reply_judge(reply);
	bool renewal = member->ask == ASK_RENEW;
	bool lost = renewal && verdict == VERDICT_WRONGTYPE;
	bool anew = verdict == VERDICT_ANEW;
	bool transient = verdict == VERDICT_RETRY || verdict == VERDICT_AGAIN ||
			 anew || (renewal && !lost);

	member->vote = transient ? MEMBER_FAILED : MEMBER_UNUSABLE;
	reply_describe(member->why, sizeof(member->why),
	    refused ? "refused by" : "error from", label(member), reply->error);
	if (lost && had_lock(member))
		member->vote = MEMBER_NO;
	if (anew || (refused && transient))
		way_drop(member->server);
}

bool
member_denies_wait(const struct reply *reply)
{
	const char *error = value_error(reply->acks);

	return error != NULL && reply_judge_error(error) == VERDICT_REFUSED;
}

bool
member_lacks_replicas(const struct reply *reply, int replicas,
    char why[MEMBER_WORDS_MAX])
{
	const char *error = value_error(reply->acks);
	int count = answer_replicas(reply->acks);

	if (count >= replicas)
		return false;
	if (error != NULL)
		snprintf(why, MEMBER_WORDS_MAX, MEMBER_NEEDS_WAIT ": %s",
		    error);
	else
		snprintf(why, MEMBER_WORDS_MAX,
		    "%d of %d replicas have the lock", count, replicas);
	return true;
}

static bool
does_count(struct member *member, const struct reply *reply,
    char why[MEMBER_WORDS_MAX])
{
	const struct member_identity *identity = &member->identity;
	int64_t up_ms = clock_now() - identity->started_at;

	member->may_be_replica =
	    member_lacks_replicas(reply, member->replicas, why);
	if (member->ask == ASK_RELEASE)
		return true;
	if (member->may_be_replica || member->ask != ASK_GRANT)
		return !member->may_be_replica;
	/* One server behind two addresses would be a majority of itself. */
	if (!identity->known)
		snprintf(why, MEMBER_WORDS_MAX, "%s",
		    *identity->obstacle != '\0' ? identity->obstacle
						: "it is not identified yet");
	else if (up_ms < member->config.lock->min_uptime_ms)
		snprintf(why, MEMBER_WORDS_MAX,
		    "up for %.1f s only, so it abstains (--min-uptime)",
		    (double)up_ms / 1000);
	else
		return true;
	return false;
}

/* A server that never stored the lock cannot have lost it. */
static void
vote_by_value(struct member *member, const struct reply *reply)
{
	enum answer_vote vote = answer_vote(&member->answer);
	bool for_good =
	    member->ask == ASK_GRANT &&
	    (member->identity.obstacle[0] != '\0' || member_denies_wait(reply));
	char why[MEMBER_WORDS_MAX];

	if (vote == ANSWER_YES) {
		set_vote(member, MEMBER_YES, "%s agrees", label(member));
		if (!does_count(member, reply, why))
			set_absent(member,
			    for_good ? MEMBER_UNUSABLE : MEMBER_FAILED,
			    "not counted", why);
	} else if (member->ask == ASK_RENEW && !had_lock(member)) {
		set_absent(member, MEMBER_FAILED, "not counted",
		    "it has not got the lock");
	} else {
		set_vote(member, MEMBER_NO, "%s denies it", label(member));
	}
}

static void
vote(struct member *member, const struct reply *reply,
    const struct answer *answer)
{
	const char *refusal = reply->error;
	char wait_refusal[sizeof(member->refusal)];

	member->said = reply_take(reply);
	member->tag = reply->tag;
	member->answer = *answer;
	member->may_have_granted = reply->value == NULL
				       ? reply->sent_at != CLOCK_NEVER
				       : answer_vote(answer) == ANSWER_YES;
	if (reply->value == NULL)
		set_vote(member,
		    reply->permanent ? MEMBER_UNREACHABLE : MEMBER_SILENT, "%s",
		    reply->failure);
	else if (reply->error != NULL)
		vote_by_error(member, reply);
	else
		vote_by_value(member, reply);
	member->kind = reply->kind;
	member->error = value_error(reply->value);
	if (member->vote == MEMBER_UNUSABLE && *member->identity.obstacle) {
		member->kind = REPLY_NO_ACCESS;
		refusal = member->identity.obstacle;
	} else if (member->vote == MEMBER_UNUSABLE &&
		   member_denies_wait(reply)) {
		member->kind = REPLY_NO_ACCESS;
		snprintf(wait_refusal, sizeof(wait_refusal),
		    MEMBER_NEEDS_WAIT ": %.200s", value_error(reply->acks));
		refusal = wait_refusal;
	}
	if (member->kind != REPLY_NO_ACCESS)
		return;
	snprintf(member->refusal, sizeof(member->refusal), "%s", refusal);
	member->error = member->refusal;
}

/* --- which server it is ------------------------------------------------ */

/* The server takes the difference of two clocks that are cut to whole seconds:
 * it may be up for a second less. A server that is busy with itself can be
 * asked again. */
static void
on_info(void *arg, const struct reply *reply)
{
	struct member_identity *identity = arg;
	const char *info = value_text(reply->value);
	const char *error = value_error(reply->value);
	int64_t seconds = info_number(info, "uptime_in_seconds");

	info_text(info, "run_id", identity->run_id, sizeof(identity->run_id));
	identity->obstacle[0] = '\0';
	identity->known = identity->run_id[0] != '\0' && seconds >= 0 &&
			  seconds <= NUM_DURATION_MAX_MS / 1000;
	if (identity->known) {
		identity->started_at =
		    clock_now() - (seconds > 0 ? seconds - 1 : 0) * 1000;
		snprintf(identity->label, sizeof(identity->label), "%s",
		    reply->label);
	} else if (reply->value != NULL &&
		   (error == NULL ||
		       reply_judge_error(error) != VERDICT_RETRY)) {
		snprintf(identity->obstacle, sizeof(identity->obstacle),
		    "cannot be identified by INFO (+info): %s",
		    error != NULL ? error : "no run_id and no uptime in it");
	}
}

/* In the same write as the first try on a connection. */
static void
ask_info(struct member *member, const struct command *grant)
{
	static const char *const words[] = {"INFO", "server", NULL};
	const struct command command = {.words = words,
	    .deadline = grant->deadline,
	    .counts_until = grant->counts_until,
	    .on_reply = on_info,
	    .arg = &member->identity,
	    .more = true};

	if (!member->identity.known)
		way_send(member->server, &command, 1);
}

/* --- questions -------------------------------------------------------- */

/* A late reply also shows whether the lock is there. But what runs behind a
 * refused AUTH or SELECT runs as the default user, or in db 0. An earlier grant
 * was withdrawn with its token. */
static void
note_presence(struct member *member, const struct ballot *ballot,
    const struct reply *reply, enum answer_vote vote)
{
	bool is_last_grant = ballot->grant == member->grant;

	if (reply->kind == REPLY_NO_ACCESS) {
		member->access = MEMBER_REFUSES;
		if (vote != ANSWER_YES || ballot->ask != ASK_GRANT ||
		    !is_last_grant)
			return;
		member->access = MEMBER_STRAY;
		member->config.on_stray(member->config.lock_arg);
		return;
	}
	member->access = MEMBER_ADMITS;
	if (ballot->ask == ASK_RELEASE || !is_last_grant ||
	    vote == ANSWER_ABSENT)
		return;
	if (vote == ANSWER_YES)
		member->presence = MEMBER_HAS;
	else
		member->presence =
		    had_lock(member) ? MEMBER_LOST : MEMBER_NEVER_HAD;
	member->was_away = member->was_away && member->presence == MEMBER_LOST;
}

static void
on_ballot(void *arg, const struct reply *received)
{
	struct ballot *ballot = arg;
	struct reply own = *received;
	const struct reply *reply = &own;
	struct answer answer = {.outcome = ANSWER_NONE};
	struct member *member = ballot->member;
	const char *known = member->identity.label;
	bool counts = ballot->counts && ballot->question == member->question &&
		      member->vote == MEMBER_OUT;

	ballot->question = 0;
	if (own.value != NULL && value_error(own.value) == NULL &&
	    !answer_read(&answer, (enum answer_to)own.tag, own.value)) {
		way_reject(member->server);
		own.value = NULL;
		own.kind = own.kind == REPLY_NO_ACCESS ? own.kind : REPLY_NONE;
		own.failure = way_error(member->server);
	}
	/* In a cluster another node may have answered than the one asked. */
	if (reply->value == NULL ||
	    strncmp(known, reply->label, sizeof(member->identity.label) - 1) !=
		0)
		member->identity.known = false;
	if (counts && reply_judge(reply) == VERDICT_AGAIN &&
	    ballot->ask == ASK_GRANT) {
		member->again = reply->again;
		member->config.on_again(member->config.lock_arg);
		return;
	}
	note_presence(member, ballot, reply, answer_vote(&answer));
	if (!counts)
		return;
	vote(member, reply, &answer);
	member->config.on_vote(member->config.vote_arg);
}

static int
send_ballot(struct member *member, const struct command *command, enum ask ask,
    bool counts)
{
	struct ballot *ballot = member->ballots;
	struct ballot *end = ballot + MEMBER_OWED_MAX;
	struct command own = *command;

	while (ballot < end && ballot->question != 0)
		ballot++;
	if (ballot == end)
		return -1;
	*ballot = (struct ballot){.member = member,
	    .ask = ask,
	    .question = member->question,
	    .grant = member->grant,
	    .counts = counts};
	own.on_reply = on_ballot;
	own.arg = ballot;
	if (way_send(member->server, &own, 1) == 0)
		return 0;
	ballot->question = 0;
	return -1;
}

/* A reply to any question but this one, or to a grant alone. */
static bool
owes(const struct member *member, unsigned but, bool grant)
{
	for (size_t i = 0; i < MEMBER_OWED_MAX; i++) {
		const struct ballot *ballot = &member->ballots[i];

		if (ballot->question != 0 && ballot->question != but &&
		    (!grant || ballot->ask == ASK_GRANT))
			return true;
	}
	return false;
}

void
member_add_vote(const struct member *member, struct votes *votes)
{
	enum member_vote vote = member->vote;
	bool out = vote == MEMBER_OUT;
	/* A server that cannot send the reply to an earlier command, as we have
	 * gone, does not read the release behind it. One that is still being
	 * connected to has read nothing, and has no lock unless it had one
	 * before. */
	bool misses_release = way_is_up(member->server)
				  ? owes(member, member->question, false)
				  : had_lock(member);

	votes->size++;
	votes->out += out;
	votes->yes += vote == MEMBER_YES;
	votes->unreplicated += vote == MEMBER_YES && member->may_be_replica;
	votes->no += vote == MEMBER_NO;
	votes->unsent += out && misses_release;
	votes->lost += vote == MEMBER_NO && had_lock(member);
	votes->gone +=
	    vote == MEMBER_NO && member->answer.outcome == ANSWER_NOT_HELD;
	votes->permanent += member_is_absent_for_good(member);
	votes->answered +=
	    !out && vote != MEMBER_SILENT && vote != MEMBER_UNREACHABLE;
	votes->maybe_granted += out || member->may_have_granted;
	votes->lacking += lacks_lock(member);
	votes->owing += owes(member, 0, true);
}

static void
notice_gap(struct member *member)
{
	if (way_is_up(member->server))
		return;
	member->identity.known = false;
	member->access = MEMBER_ADMITS;
	member->was_away = true;
}

static void
ask_for_vote(struct member *member, const struct command *command, enum ask ask)
{
	bool grant = ask == ASK_GRANT;
	bool owes_any = owes(member, 0, false);

	value_free(member->said);
	member->said = NULL;
	member->answer.outcome = ANSWER_NONE;
	member->may_have_granted = false;
	member->question++;
	member->question += member->question == 0;
	member->ask = ask;
	member->replicas = command->replicas;
	if (grant) {
		member->deadline = command->deadline;
		member->counts_until = command->counts_until;
		member->grant = member->question;
		member->presence = MEMBER_UNKNOWN;
		member->was_away = false;
	}
	if (member->may_be_replica)
		way_doubt(member->server);
	member->may_be_replica = false;
	notice_gap(member);
	if (grant && owes_any) {
		member->vote = MEMBER_SILENT;
		return;
	}
	set_vote(member, MEMBER_OUT, "%s has not answered", label(member));
	if (grant)
		ask_info(member, command);
	if (send_ballot(member, command, ask, true) == -1)
		set_absent(member, MEMBER_SILENT, "cannot ask",
		    "too much is unanswered");
}

static void
repeat_grant(struct member *member, const struct command *command)
{
	struct command own = *command;

	own.again = member->again;
	own.deadline = member->deadline;
	own.counts_until = member->counts_until;
	member->again = AGAIN_NO;
	if (own.again != AGAIN_NO &&
	    send_ballot(member, &own, ASK_GRANT, true) == -1)
		set_absent(member, MEMBER_SILENT, "cannot ask",
		    "too much is unanswered");
}

void
member_time_out(struct member *member)
{
	member->may_have_granted = true;
	set_absent(member, MEMBER_SILENT, "no answer from",
	    "not within its time");
}

void
member_doubt_grant(struct member *member)
{
	if (member->ask == ASK_GRANT && member->vote == MEMBER_YES &&
	    !way_is_up(member->server))
		set_absent(member, MEMBER_FAILED, "not counted",
		    "its connection has ended since");
}

void
member_send(struct member *member, const struct command *command, enum ask ask)
{
	switch (ask) {
	case ASK_GRANT:
	case ASK_RENEW:
	case ASK_RELEASE:
		ask_for_vote(member, command, ask);
		break;
	case ASK_UNDO:
		if (!owes(member, 0, true))
			break;
		/* FALLTHROUGH */
	case ASK_SEND:
		notice_gap(member);
		if (way_is_up(member->server) || owes(member, 0, false) ||
		    member->may_have_granted)
			way_send(member->server, command, 1);
		break;
	case ASK_PLANT:
		if (lacks_lock(member) && !owes(member, 0, true) &&
		    member->access == MEMBER_ADMITS &&
		    send_ballot(member, command, ASK_GRANT, false) != -1)
			member->presence =
			    had_lock(member) ? MEMBER_HAS : MEMBER_UNKNOWN;
		break;
	case ASK_GRANT_AGAIN:
		repeat_grant(member, command);
		break;
	case ASK_RECALL:
		if (member->access != MEMBER_STRAY)
			break;
		member->access = MEMBER_REFUSES;
		if (way_is_up(member->server))
			way_send(member->server, command, 1);
		break;
	default: /* nothing for several servers */
		break;
	}
}
