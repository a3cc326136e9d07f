#include "lock/member.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "lock/answer.h"

int
member_init(struct member *member, struct loop *loop,
    const struct member_config *config)
{
	*member = (struct member){.config = *config};
	member->node = server_new(loop, config->server, config->key);
	return member->node == NULL ? -1 : 0;
}

void
member_fini(struct member *member)
{
	server_free(member->node);
	value_free(member->reply);
}

/* --- votes ------------------------------------------------------------ */

bool
member_is_absent_for_good(const struct member *member)
{
	return member->vote == MEMBER_UNREACHABLE ||
	       member->vote == MEMBER_UNUSABLE;
}

bool
member_has_answered(const struct member *member)
{
	return member->vote != MEMBER_OUT && member->vote != MEMBER_SILENT &&
	       member->vote != MEMBER_UNREACHABLE;
}

bool
member_had_lock(const struct member *member)
{
	return member->presence == MEMBER_HAS ||
	       member->presence == MEMBER_LOST;
}

bool
member_lacks_lock(const struct member *member)
{
	return member->presence == MEMBER_NEVER_HAD ||
	       member->presence == MEMBER_LOST;
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
	set_vote(member, vote, "%s %.120s: %.180s", what,
	    server_label(member->node), why);
}

static void
vote_by_error(struct member *member, const struct reply *reply)
{
	bool refused = reply->kind == REPLY_NO_ACCESS;
	enum reply_verdict verdict = reply_judge(member->phase, reply->error);
	bool anew = verdict == REPLY_RECONNECT;
	bool transient = verdict == REPLY_RETRY || anew;

	set_absent(member, transient ? MEMBER_FAILED : MEMBER_UNUSABLE,
	    refused ? "refused by" : "error from", reply_explain(reply->error));
	if (verdict == REPLY_LOST && member_had_lock(member))
		member->vote = MEMBER_NO;
	if (anew || (refused && transient))
		server_drop(member->node);
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
		snprintf(why, MEMBER_WORDS_MAX, "%s", error);
	else
		snprintf(why, MEMBER_WORDS_MAX,
		    "%d of %d replicas have the lock", count, replicas);
	return true;
}

/* One server behind two addresses would be a majority of itself. */
static bool
is_identified(const struct member *member, char why[MEMBER_WORDS_MAX])
{
	const char *obstacle = member->identity.obstacle;

	if (member->identity.known)
		return true;
	snprintf(why, MEMBER_WORDS_MAX, "%s",
	    *obstacle != '\0' ? obstacle : "it is not identified yet");
	return false;
}

static bool
is_old_enough(const struct member *member, char why[MEMBER_WORDS_MAX])
{
	int64_t required = member->config.min_uptime_ms;
	int64_t up_ms = clock_now() - member->identity.started_at;

	if (required == 0 || up_ms >= required)
		return true;
	snprintf(why, MEMBER_WORDS_MAX,
	    "up for %.1f s only, so it abstains (--min-uptime)",
	    (double)up_ms / 1000);
	return false;
}

static void
vote_yes(struct member *member, const struct reply *reply)
{
	bool grant = member->phase == REPLY_ACQUIRING;
	bool for_good = grant && member->identity.obstacle[0] != '\0';
	char why[MEMBER_WORDS_MAX];

	member->may_be_replica =
	    member_lacks_replicas(reply, member->replicas, why);
	if (member->may_be_replica ||
	    (grant &&
		(!is_identified(member, why) || !is_old_enough(member, why))))
		set_absent(member, for_good ? MEMBER_UNUSABLE : MEMBER_FAILED,
		    "not counted", why);
	else
		set_vote(member, MEMBER_YES, "%s agrees",
		    server_label(member->node));
}

/* A server that never stored the lock cannot have lost it. */
static void
vote_no(struct member *member)
{
	if (member->phase == REPLY_HOLDING && !member_had_lock(member))
		set_absent(member, MEMBER_FAILED, "not counted",
		    "it has not got the lock");
	else
		set_vote(member, MEMBER_NO, "%s denies it",
		    server_label(member->node));
}

static void
vote(struct member *member, const struct reply *reply)
{
	int said = answer_vote(reply->value);

	member->reply = reply_take_value(reply);
	member->may_have_granted = said == 1;
	if (reply->kind == REPLY_NO_ACCESS)
		snprintf(member->refusal, sizeof(member->refusal), "%s",
		    reply->error);
	if (reply->value == NULL) {
		member->may_have_granted = reply->sent_at != CLOCK_NEVER;
		set_vote(member,
		    reply->permanent ? MEMBER_UNREACHABLE : MEMBER_SILENT, "%s",
		    reply->failure);
	} else if (reply->error != NULL) {
		vote_by_error(member, reply);
	} else if (said == 1 ||
		   (said > 1 && member->phase == REPLY_RELEASING)) {
		vote_yes(member, reply);
	} else if (said == ANSWER_NOT_YET) {
		set_vote(member, MEMBER_NOT_YET,
		    "%s still removes expired entries",
		    server_label(member->node));
	} else {
		vote_no(member);
	}
}

/* --- which server it is ------------------------------------------------ */

/* The rest of the line that begins with that name, or an empty text. */
static void
find_value(const char *lines, const char *name, char *value, size_t size)
{
	const char *line = strstr(lines, name);
	size_t skip = strlen(name);

	value[0] = '\0';
	if (line != NULL)
		snprintf(value, size, "%.*s", (int)strcspn(line + skip, "\r\n"),
		    line + skip);
}

static bool
read_info(struct member_identity *identity, const char *info, const char *label)
{
	char uptime[24];
	int64_t seconds;

	find_value(info, "\nrun_id:", identity->run_id,
	    sizeof(identity->run_id));
	find_value(info, "\nuptime_in_seconds:", uptime, sizeof(uptime));
	if (identity->run_id[0] == '\0' ||
	    num_int(uptime, 0, NUM_DURATION_MAX_MS / 1000, &seconds) == -1)
		return false;
	/* The server takes the difference of two clocks that are cut to whole
	 * seconds: it may be up for a second less. */
	identity->started_at =
	    clock_now() - (seconds > 0 ? seconds - 1 : 0) * 1000;
	snprintf(identity->label, sizeof(identity->label), "%s", label);
	return true;
}

/* A server that is busy with itself can be asked again. */
static void
on_info(void *arg, const struct reply *reply)
{
	struct member *member = arg;
	struct member_identity *identity = &member->identity;
	const char *info = value_text(reply->value);
	const char *error = value_error(reply->value);

	identity->obstacle[0] = '\0';
	identity->known =
	    info != NULL && read_info(identity, info, reply->label);
	if (reply->value == NULL || identity->known ||
	    (error != NULL &&
		reply_judge(REPLY_ACQUIRING, error) == REPLY_RETRY))
		return;
	snprintf(identity->obstacle, sizeof(identity->obstacle),
	    "cannot be identified by INFO (+info): %s",
	    error != NULL ? error : "no run_id and no uptime in it");
}

/* In the same write as the first try on a connection. */
static void
ask_info(struct member *member, int64_t deadline)
{
	const char *argv[] = {"INFO", "server"};
	const struct conn_command command = {.argc = 2,
	    .argv = argv,
	    .deadline = deadline,
	    .on_reply = on_info,
	    .arg = member,
	    .more = true};

	if (!member->identity.known)
		server_send(member->node, &command);
}

/* --- questions -------------------------------------------------------- */

/* A late reply also shows whether the lock is there. */
static void
note_presence(struct member *member, const struct ballot *ballot,
    const struct reply *reply)
{
	int said = answer_vote(reply->value);

	if (ballot->phase == REPLY_RELEASING ||
	    ballot->grant != member->grant || reply->kind == REPLY_NO_ACCESS ||
	    said == -1)
		return;
	if (said == 1)
		member->presence = MEMBER_HAS;
	else
		member->presence =
		    member_had_lock(member) ? MEMBER_LOST : MEMBER_NEVER_HAD;
	member->was_away = member->was_away && member->presence == MEMBER_LOST;
}

/* What runs behind a refused AUTH or SELECT runs as the default user, or in db
 * 0. An earlier grant was withdrawn with its token. */
static void
note_access(struct member *member, const struct ballot *ballot,
    const struct reply *reply)
{
	int64_t said = 0;

	value_integer(value_at(reply->value, 0), &said);
	if (reply->kind != REPLY_NO_ACCESS)
		member->access = MEMBER_ADMITS;
	else if (said == 1 && ballot->phase == REPLY_ACQUIRING &&
		 ballot->grant == member->grant)
		member->access = MEMBER_STRAY;
	else
		member->access = MEMBER_REFUSES;
	if (member->access == MEMBER_STRAY)
		member->config.on_stray(member->config.arg);
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct ballot *ballot = arg;
	struct member *member = ballot->member;
	const char *label = member->identity.label;
	bool counts = ballot->counts && ballot->question == member->question &&
		      member->vote == MEMBER_OUT;

	ballot->question = 0;
	/* In a cluster another node may have answered than the one asked. */
	if (reply->value == NULL ||
	    strncmp(label, reply->label, sizeof(member->identity.label) - 1) !=
		0)
		member->identity.known = false;
	note_presence(member, ballot, reply);
	note_access(member, ballot, reply);
	if (!counts)
		return;
	vote(member, reply);
	member->config.on_vote(member->config.arg);
}

static struct ballot *
find_unused(struct member *member)
{
	for (size_t i = 0; i < MEMBER_OWED_MAX; i++)
		if (member->ballots[i].question == 0)
			return &member->ballots[i];
	return NULL;
}

static int
send_ballot(struct member *member, const struct conn_command *command,
    enum reply_phase phase, bool counts)
{
	struct conn_command own = *command;
	struct ballot *ballot = find_unused(member);

	if (ballot == NULL)
		return -1;
	*ballot = (struct ballot){.member = member,
	    .phase = phase,
	    .question = member->question,
	    .grant = member->grant,
	    .counts = counts};
	own.on_reply = on_reply;
	own.arg = ballot;
	if (server_send(member->node, &own) == 0)
		return 0;
	ballot->question = 0;
	return -1;
}

static bool
owes_reply(const struct member *member)
{
	for (size_t i = 0; i < MEMBER_OWED_MAX; i++)
		if (member->ballots[i].question != 0)
			return true;
	return false;
}

bool
member_owes_earlier(const struct member *member)
{
	for (size_t i = 0; i < MEMBER_OWED_MAX; i++)
		if (member->ballots[i].question != 0 &&
		    member->ballots[i].question != member->question)
			return true;
	return false;
}

bool
member_owes_grant(const struct member *member)
{
	for (size_t i = 0; i < MEMBER_OWED_MAX; i++)
		if (member->ballots[i].question != 0 &&
		    member->ballots[i].phase == REPLY_ACQUIRING)
			return true;
	return false;
}

static void
begin_question(struct member *member, const struct conn_command *command,
    enum reply_phase phase)
{
	value_free(member->reply);
	member->reply = NULL;
	member->refusal[0] = '\0';
	member->vote = MEMBER_OUT;
	member->may_have_granted = false;
	member->question++;
	member->question += member->question == 0;
	member->phase = phase;
	member->replicas = command->replicas;
	if (phase != REPLY_ACQUIRING)
		return;
	member->grant = member->question;
	member->presence = MEMBER_UNKNOWN;
	member->was_away = false;
}

static void
notice_gap(struct member *member)
{
	if (server_is_up(member->node))
		return;
	member->identity.known = false;
	member->access = MEMBER_ADMITS;
	member->was_away = true;
}

void
member_ask(struct member *member, const struct conn_command *command,
    enum reply_phase phase)
{
	bool owes = owes_reply(member);

	begin_question(member, command, phase);
	if (member->may_be_replica)
		server_doubt(member->node);
	member->may_be_replica = false;
	notice_gap(member);
	if (phase == REPLY_ACQUIRING && owes) {
		member->vote = MEMBER_SILENT;
		return;
	}
	set_vote(member, MEMBER_OUT, "%s has not answered",
	    server_label(member->node));
	if (phase == REPLY_ACQUIRING)
		ask_info(member, command->deadline);
	if (send_ballot(member, command, phase, true) == -1)
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
member_plant(struct member *member, const struct conn_command *command)
{
	if (!member_lacks_lock(member) || member_owes_grant(member) ||
	    member->access != MEMBER_ADMITS ||
	    send_ballot(member, command, REPLY_ACQUIRING, false) == -1)
		return;
	member->presence =
	    member_had_lock(member) ? MEMBER_HAS : MEMBER_UNKNOWN;
}

void
member_send(struct member *member, const struct conn_command *command)
{
	notice_gap(member);
	if (server_is_up(member->node) || owes_reply(member) ||
	    member->may_have_granted)
		server_send(member->node, command);
}

void
member_recall(struct member *member, const struct conn_command *command)
{
	if (member->access != MEMBER_STRAY)
		return;
	member->access = MEMBER_REFUSES;
	if (server_is_up(member->node))
		server_send(member->node, command);
}
