#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "options/opts_hook.h"
#include "sink/event_fields.h"
#include "sink/event_text.h"
#include "sink/hooks.h"
#include "sink/sinks.h"

enum { MESSAGE_MAX = 4096 };

struct event_hook {
	const struct facts *facts;
	struct hooks hooks; /* its socket is -1: the runner is gone */
	size_t acquired, joined, dropped;
	bool waited;
	char said[MESSAGE_MAX];	  /* of the locks acquired or released so far */
	char reason[MESSAGE_MAX]; /* of the reason to end that counts so far */
};

static void
send_entries(struct event_hook *state, const struct opts_hook *hook,
    const char *entries, size_t length)
{
	size_t events_length = (size_t)(hook->command - hook->text);

	if (state->hooks.sock == -1 ||
	    hooks_run(&state->hooks, hook->command,
		hook->length - events_length, entries, length) == 0)
		return;
	if (errno != EPIPE && errno != ECONNRESET) {
		state->dropped++;
		return;
	}
	log_warnx("the hook runner has ended; no more hooks are run");
	hooks_leave(&state->hooks);
}

/* Those that are for it, in the order given. message: NULL for that of the
 * event. */
static void
hand_over_hooks(struct event_hook *state, enum opts_hook_event hook_event,
    const char *message, const struct event *event)
{
	/* The job's own are removed. A rlockrun that a hook starts runs no
	 * hooks, lest it never ends. */
	static const char fixed[] = "RLOCKRUN_HOOK=none\0"
				    "RLOCKRUN_TOKEN\0RLOCKRUN_HELD\0"
				    "RLOCKRUN_TTL_MS";
	const struct opts *opts = state->facts->opts;
	unsigned wanted = 0, bit = 1U << hook_event;
	char *entries = NULL, text[MESSAGE_MAX];
	struct event_fields fields;
	size_t length = 0;
	FILE *out;

	for (size_t i = 0; i < opts->hook_count; i++)
		wanted |= opts->hooks[i].events;
	if (state->hooks.sock == -1 || !(wanted & bit))
		return;
	if (message == NULL)
		event_text_format(event, state->facts, text, sizeof(text));
	event_fields_init(&fields, state->facts, event);
	fields.hook = opts_hook_words[hook_event].text;
	fields.message = message != NULL ? message : text;
	out = open_memstream(&entries, &length);
	if (out != NULL) {
		event_fields_environment(&fields, out);
		fwrite(fixed, 1, sizeof(fixed), out);
	}
	if (out == NULL || fclose(out) == EOF)
		state->dropped++;
	else
		for (size_t i = 0; i < opts->hook_count; i++)
			if (opts->hooks[i].events & bit)
				send_entries(state, &opts->hooks[i], entries,
				    length);
	free(entries);
}

/* --- which events are hooks ------------------------------------------- */

/* An event of one lock among several, which are one hook. */
static void
add_said(struct event_hook *state, const struct event *event)
{
	const char *separator = state->said[0] != '\0' ? "; " : "";
	size_t length = strlen(state->said);

	snprintf(state->said + length, sizeof(state->said) - length, "%s",
	    separator);
	length += strlen(state->said + length);
	event_text_format(event, state->facts, state->said + length,
	    sizeof(state->said) - length);
}

/* Nested runs have no part in this: the outer run holds the lock. */
static void
on_acquired(struct event_hook *state, const struct event *event)
{
	add_said(state, event);
	if (event->type == EVENT_ACQUIRED)
		state->acquired++;
	else
		state->joined++;
	if (state->acquired + state->joined < state->facts->opts->key_count)
		return;
	if (state->acquired > 0)
		hand_over_hooks(state, OPTS_HOOK_ACQUIRED, state->said, event);
	state->said[0] = '\0';
}

/* Losing one lock is losing all: only the first loss counts. */
static void
on_ending(struct event_hook *state, const struct event *event)
{
	enum event_outcome outcome = event_outcome(event);

	if (outcome == EVENT_OUTCOME_BUSY)
		hand_over_hooks(state,
		    event->ending == ENDING_OVERTAKEN ? OPTS_HOOK_OVERTAKEN
						      : OPTS_HOOK_BUSY,
		    NULL, event);
	if (event->ending != state->facts->ending)
		return;
	if (outcome == EVENT_OUTCOME_LOST)
		hand_over_hooks(state, OPTS_HOOK_LOST, NULL, event);
	if (outcome == EVENT_OUTCOME_REPLACED)
		hand_over_hooks(state, OPTS_HOOK_REPLACED, NULL, event);
	event_text_format(event, state->facts, state->reason,
	    sizeof(state->reason));
}

/* The end of a job, and a signal, need no message for people. */
static void
on_ended(struct event_hook *state, const struct event *event)
{
	const struct facts *facts = state->facts;
	struct event end = *event;

	if (end.ending == ENDING_JOB)
		end.type = EVENT_JOB_ENDED;
	if (state->reason[0] == '\0')
		event_text_format(&end, facts, state->reason,
		    sizeof(state->reason));
	if (state->acquired > 0 && facts->freed_at != 0 &&
	    !facts_say_lost(facts))
		hand_over_hooks(state, OPTS_HOOK_RELEASED, state->said, event);
	if (event_outcome(event) == EVENT_OUTCOME_FAILURE)
		hand_over_hooks(state, OPTS_HOOK_FAILED, state->reason, event);
}

static void
hook_on_event(void *arg, const struct event *event)
{
	struct event_hook *state = arg;

	switch (event->type) {
	case EVENT_WAITING:
		if (!state->waited)
			hand_over_hooks(state, OPTS_HOOK_WAITING, NULL, event);
		state->waited = true;
		break;
	case EVENT_WAITS_PAUSE:
		hand_over_hooks(state, OPTS_HOOK_PAUSED, NULL, event);
		break;
	case EVENT_ACQUIRED:
	case EVENT_JOINED:
		on_acquired(state, event);
		break;
	case EVENT_HELD_LONG:
		hand_over_hooks(state, OPTS_HOOK_SLOW, NULL, event);
		break;
	case EVENT_RENEWAL_FAILED:
		hand_over_hooks(state, OPTS_HOOK_LOSING, NULL, event);
		break;
	case EVENT_RELEASED:
	case EVENT_KEPT:
	case EVENT_LEFT:
	case EVENT_UNCONFIRMED:
		add_said(state, event);
		break;
	case EVENT_ENDING:
		on_ending(state, event);
		break;
	case EVENT_ENDED:
		on_ended(state, event);
		break;
	default:
		break;
	}
}

/* --- open and close --------------------------------------------------- */

/* What only looks at locks has no events of a run. */
static void *
open_hook(const struct facts *facts, struct loop *loop, struct writer *writer)
{
	const struct opts *opts = facts->opts;
	struct event_hook *state;
	struct hooks hooks;

	(void)loop, (void)writer;
	if (opts->hook_count == 0 ||
	    (opts->action != OPTS_RUN &&
		(opts->action != OPTS_HOLD || opts->token != NULL)))
		return NULL;
	if (hooks_start(&hooks) == -1) {
		if (opts->hook_demanded)
			log_die(EXITCODE_RESOURCE, "cannot run hooks: %s",
			    strerror(errno));
		log_warn("cannot run hooks");
		return NULL;
	}
	state = mem_alloc(sizeof(*state));
	state->facts = facts;
	state->hooks = hooks;
	return state;
}

static void
close_hook(void *arg)
{
	struct event_hook *state = arg;

	if (state->dropped > 0)
		log_warnx("%zu hook%s not run", state->dropped,
		    state->dropped == 1 ? " was" : "s were");
	/* When a signal has ended the wait, nobody waits for the runner. */
	if (state->hooks.sock != -1 && state->facts->ending != ENDING_SIGNAL)
		hooks_finish(&state->hooks);
	else if (state->hooks.sock != -1)
		hooks_leave(&state->hooks);
	free(state);
}

const struct event_sink event_hook = {open_hook, hook_on_event, close_hook};
