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
	member->vote = MEMBER_ABSENT;
	say_why(member, "%s %.120s: %.180s", what, server_label(member->node),
	    words);
}

static void
vote_by_error(struct member *member, const struct reply *reply)
{
	bool refused = reply->kind == REPLY_NO_ACCESS;
	enum reply_verdict verdict = reply_judge(member->phase, reply->error);
	bool anew = verdict == REPLY_RECONNECT;

	be_absent(member, refused ? "refused by" : "error from",
	    reply_explain(reply->error));
	member->heard = true;
	member->hopeless = verdict != REPLY_RETRY && !anew;
	if (verdict == REPLY_LOST && member->had)
		member->vote = MEMBER_NO;
	if (anew || (refused && !member->hopeless))
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
	if (member->known)
		return true;
	snprintf(why, MEMBER_WORDS_MAX, "%s",
	    member->secret[0] != '\0' ? member->secret
				      : "it is not identified yet");
	return false;
}

static bool
is_old_enough(const struct member *member, char why[MEMBER_WORDS_MAX])
{
	int64_t wanted = member->config.min_uptime_ms;
	int64_t up_ms = clock_now() - member->started_at;

	if (wanted == 0 || up_ms >= wanted)
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
	char why[MEMBER_WORDS_MAX];

	member->doubtful = member_lacks_replicas(reply, member->replicas, why);
	if (member->doubtful || (grant && (!is_identified(member, why) ||
					      !is_old_enough(member, why)))) {
		be_absent(member, "not counted", why);
		member->heard = true;
		member->hopeless = grant && member->secret[0] != '\0';
		return;
	}
	member->vote = MEMBER_YES;
	say_why(member, "%s agrees", server_label(member->node));
}

/* What a server has never had it can't have lost. */
static void
vote_no(struct member *member)
{
	if (member->phase == REPLY_HOLDING && !member->had) {
		be_absent(member, "not counted", "it has not got the lock");
		member->heard = true;
		return;
	}
	member->vote = MEMBER_NO;
	say_why(member, "%s denies it", server_label(member->node));
}

static void
vote(struct member *member, const struct reply *reply)
{
	int said = answer_vote(reply->value);

	member->reply = value_copy(reply->value);
	member->granted = said == 1;
	if (reply->kind == REPLY_NO_ACCESS)
		snprintf(member->refusal, sizeof(member->refusal), "%s",
		    reply->error);
	if (reply->value == NULL) {
		member->vote = MEMBER_ABSENT;
		member->granted = reply->sent_at != CLOCK_NEVER;
		member->hopeless = reply->permanent;
		say_why(member, "%s", reply->failure);
	} else if (reply->error != NULL) {
		vote_by_error(member, reply);
	} else if (said == 1 ||
		   (said > 1 && member->phase == REPLY_RELEASING)) {
		vote_yes(member, reply);
	} else if (said == ANSWER_NOT_YET) {
		member->vote = MEMBER_NOT_YET;
		say_why(member, "%s still removes expired entries",
		    server_label(member->node));
	} else {
		vote_no(member);
	}
}

/* --- which server it is ------------------------------------------------ */

/* What stands behind the name in these lines, up to the end of its own, or an
 * empty text. */
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
take_about(struct member *member, const char *info, const char *label)
{
	char uptime[24];
	int64_t seconds;

	find_value(info, "\nrun_id:", member->run_id, sizeof(member->run_id));
	find_value(info, "\nuptime_in_seconds:", uptime, sizeof(uptime));
	if (member->run_id[0] == '\0' ||
	    num_int(uptime, 0, NUM_DURATION_MAX_MS / 1000, &seconds) == -1)
		return false;
	/* The server takes the difference of two clocks that are cut to whole
	 * seconds: it may be up for a second less. */
	member->started_at =
	    clock_now() - (seconds > 0 ? seconds - 1 : 0) * 1000;
	snprintf(member->about, sizeof(member->about), "%s", label);
	return true;
}

/* A server that is busy with itself can be asked again. */
static void
note_secret(struct member *member, const char *error)
{
	if (error != NULL && reply_judge(REPLY_ACQUIRING, error) == REPLY_RETRY)
		return;
	snprintf(member->secret, sizeof(member->secret),
	    "cannot be identified by INFO (+info): %s",
	    error != NULL ? error : "no run_id and no uptime in it");
}

static void
on_about(void *arg, const struct reply *reply)
{
	struct member *member = arg;
	const char *info = value_text(reply->value);

	member->secret[0] = '\0';
	member->known = info != NULL && take_about(member, info, reply->label);
	if (reply->value != NULL && !member->known)
		note_secret(member, value_error(reply->value));
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
		server_send(member->node, &command);
}

/* --- questions -------------------------------------------------------- */

/* Also a late answer tells whether the lock is there. */
static void
note_presence(struct member *member, const struct ballot *ballot,
    const struct reply *reply)
{
	int said = answer_vote(reply->value);

	if (ballot->phase == REPLY_RELEASING ||
	    ballot->grant != member->grant || reply->kind == REPLY_NO_ACCESS ||
	    said == -1)
		return;
	member->lacks = said != 1;
	member->had = member->had || said == 1;
	member->returned = member->returned && member->lacks && member->had;
}

/* What runs behind a refused AUTH or SELECT runs as the default user, or in db
 * 0. An earlier grant was withdrawn with its token. */
static bool
is_stray(const struct member *member, const struct ballot *ballot,
    const struct reply *reply)
{
	int64_t said = 0;

	value_integer(value_at(reply->value, 0), &said);
	return said == 1 && ballot->phase == REPLY_ACQUIRING &&
	       ballot->grant == member->grant && reply->kind == REPLY_NO_ACCESS;
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct ballot *ballot = arg;
	struct member *member = ballot->member;
	bool counts = ballot->counts && ballot->question == member->question &&
		      member->vote == MEMBER_OUT;

	ballot->question = 0;
	/* In a cluster another node may have answered than the one asked. */
	if (reply->value == NULL || strncmp(member->about, reply->label,
					sizeof(member->about) - 1) != 0)
		member->known = false;
	member->refuses = reply->kind == REPLY_NO_ACCESS;
	note_presence(member, ballot, reply);
	member->stray = is_stray(member, ballot, reply);
	if (member->stray)
		member->config.on_stray(member->config.arg);
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
owes_answer(const struct member *member)
{
	for (size_t i = 0; i < MEMBER_OWED_MAX; i++)
		if (member->ballots[i].question != 0)
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
forget_vote(struct member *member)
{
	member->vote = MEMBER_OUT;
	member->granted = false;
	member->heard = false;
	member->hopeless = false;
	value_free(member->reply);
	member->reply = NULL;
	member->refusal[0] = '\0';
}

static void
begin_question(struct member *member, const struct conn_command *command,
    enum reply_phase phase)
{
	forget_vote(member);
	member->question++;
	member->question += member->question == 0;
	member->phase = phase;
	member->replicas = command->replicas;
	if (phase != REPLY_ACQUIRING)
		return;
	member->grant = member->question;
	member->had = false;
	member->lacks = false;
	member->returned = false;
}

static void
notice_gap(struct member *member)
{
	if (server_is_up(member->node))
		return;
	member->known = false;
	member->refuses = false;
	member->returned = true;
}

void
member_ask(struct member *member, const struct conn_command *command,
    enum reply_phase phase)
{
	bool owes = owes_answer(member);

	begin_question(member, command, phase);
	if (member->doubtful)
		server_doubt(member->node);
	member->doubtful = false;
	notice_gap(member);
	if (phase == REPLY_ACQUIRING && owes) {
		member->vote = MEMBER_ABSENT;
		return;
	}
	say_why(member, "%s has not answered", server_label(member->node));
	if (phase == REPLY_ACQUIRING)
		ask_about(member, command->deadline);
	if (send_ballot(member, command, phase, true) == -1)
		be_absent(member, "cannot ask", "too much is unanswered");
}

void
member_be_late(struct member *member)
{
	member->granted = true;
	be_absent(member, "no answer from", "not within its time");
}

void
member_plant(struct member *member, const struct conn_command *command)
{
	if (member->lacks && !member_owes_grant(member) && !member->refuses &&
	    send_ballot(member, command, REPLY_ACQUIRING, false) == 0)
		member->lacks = false;
}

void
member_tell(struct member *member, const struct conn_command *command)
{
	notice_gap(member);
	if (server_is_up(member->node) || owes_answer(member) ||
	    member->granted)
		server_send(member->node, command);
}

void
member_recall(struct member *member, const struct conn_command *command)
{
	if (member->stray && server_is_up(member->node))
		server_send(member->node, command);
	member->stray = false;
}
