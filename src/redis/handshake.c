#include "redis/handshake.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/secret.h"
#include "redis/password_file.h"

void
handshake_refuse(struct handshake *handshake, const char *why)
{
	if (handshake->refusal[0] == '\0')
		snprintf(handshake->refusal, sizeof(handshake->refusal), "%s",
		    why);
}

/* How a server that understands AUTH refuses us, or NULL. These are our copies:
 * a password that is one of their words is not repeated by them. */
static const char *
fixed_words(const char *error)
{
	static const char *const sentences[] = {
	    "ERR AUTH <password> called without any password configured",
	    "ERR Client sent AUTH, but no password is set",
	    "ERR invalid password",
	    "ERR wrong number of arguments for 'auth' command",
	    "WRONGPASS invalid username-password pair or user is disabled.",
	    "DENIED",
	    "LOADING",
	    "MASTERDOWN",
	    "NOAUTH",
	    "NOPERM",
	    "WRONGPASS",
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (reply_is(error, sentences[i]))
			return sentences[i];
	return NULL;
}

#define FULL "ERR max number of clients reached"

bool
handshake_hangs_up(const struct handshake *handshake)
{
	return reply_is(handshake->complaint, FULL);
}

/* A full server sends this to the first command, whatever it is. The words are
 * ours, as those of the server may go on with the password. */
static bool
take_full(struct handshake *handshake, const char *error)
{
	if (!reply_is(error, FULL))
		return false;
	memcpy(handshake->complaint, FULL, sizeof(FULL));
	return true;
}

/* A server that does not know AUTH repeats its arguments, cut somewhere. */
static void
on_auth(void *arg, const struct reply *reply)
{
	struct handshake *handshake = arg;
	const char *error = value_error(reply->value);
	const char *password = handshake->password, *fixed;

	if (error == NULL || take_full(handshake, error))
		return;
	fixed = fixed_words(error);
	if (password == NULL && reply_is(error, "WRONGPASS"))
		error = "NOAUTH no password was given for that user";
	else if (reply_is(error, "ERR unknown") ||
		 (password != NULL && strstr(error, password) != NULL))
		error = fixed != NULL ? fixed
				      : "ERR it does not know the command AUTH";
	handshake_refuse(handshake, error);
}

static void
on_select(void *arg, const struct reply *reply)
{
	const char *error = value_error(reply->value);

	if (error != NULL && !take_full(arg, error))
		handshake_refuse(arg, error);
}

/* The name only helps people who read CLIENT LIST: it may be refused. As the
 * first command of many connections it also gets the error that a server sends
 * before it hangs up. */
static void
on_setname(void *arg, const struct reply *reply)
{
	struct handshake *handshake = arg;
	const char *error = value_error(reply->value);

	if (error == NULL)
		return;
	snprintf(handshake->complaint, sizeof(handshake->complaint), "%s",
	    error);
	/* A client that is not logged in may not send as much as a script: the
	 * server hangs up on it. */
	if (reply_is(error, "DENIED") || reply_is(error, "NOAUTH"))
		handshake_refuse(handshake, error);
}

static void
on_greeting(void *arg, const struct reply *reply)
{
	struct handshake *handshake = arg;
	const char *why;

	handshake->greet_by = CLOCK_NEVER;
	if (reply->value == NULL)
		return;
	why = handshake->greeting->judge(handshake->arg, reply->value);
	if (why != NULL && handshake->greeting->permanent)
		handshake_refuse(handshake, why);
	else
		handshake->misfit = why;
}

/* Without a user, AUTH begins with the password. */
int
handshake_send(struct handshake *handshake, struct pipeline *pipeline,
    const struct endpoint *to, int64_t deadline)
{
	const char *greeting = handshake->greeting->command;
	char *password =
	    to->password_file != NULL
		? password_file_get(to->password_file, handshake->anew)
		: secret_share(to->password);
	char db[16], name[32];
	const struct {
		bool is_due;
		reply_handler *on_reply;
		const char *words[4];
	} steps[] = {
	    {to->user != NULL, on_auth,
		{"AUTH", to->user, password != NULL ? password : ""}},
	    {to->user == NULL && password != NULL, on_auth, {"AUTH", password}},
	    {greeting != NULL, on_greeting, {greeting}},
	    {to->db != 0, on_select, {"SELECT", db}},
	    {true, on_setname, {"CLIENT", "SETNAME", name}},
	};

	secret_free(handshake->password);
	handshake->password = password;
	handshake->refusal[0] = '\0';
	handshake->misfit = NULL;
	handshake->complaint[0] = '\0';
	snprintf(db, sizeof(db), "%d", to->db);
	snprintf(name, sizeof(name), "rlockrun:%d", (int)getpid());
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const struct command command = {.words = steps[i].words,
		    .deadline = deadline,
		    .on_reply = steps[i].on_reply,
		    .arg = handshake};

		if (steps[i].is_due && pipeline_add(pipeline, &command) == -1)
			return -1;
	}
	return 0;
}

struct reply
handshake_reply(const struct handshake *handshake, const char *label)
{
	struct reply reply = {.kind = REPLY_NONE, .label = label};

	if (handshake->refusal[0] != '\0') {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = handshake->refusal;
	}
	return reply;
}
