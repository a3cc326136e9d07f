#include "run/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

struct facts_lock *
facts_find(const struct facts *facts, const char *name)
{
	for (size_t i = 0; name != NULL && i < facts->opts->key_count; i++)
		if (strcmp(facts->opts->keys[i].name, name) == 0)
			return &facts->locks[i];
	return NULL;
}

static void
note_acquired(struct facts *facts, const struct event *event)
{
	struct facts_lock *lock = facts_find(facts, event->name);

	if (lock == NULL)
		return;
	snprintf(lock->token, sizeof(lock->token), "%s", event->token);
	snprintf(lock->fence, sizeof(lock->fence), "%s",
	    strcmp(event->fence, "none") == 0 ? "" : event->fence);
	snprintf(lock->server, sizeof(lock->server), "%s", event->server);
}

/* The first time counts. */
static void
note_time(int64_t *at)
{
	if (*at == 0)
		*at = clock_now();
}

bool
facts_say_lost(const struct facts *facts)
{
	return event_rows[facts->ending].outcome == EVENT_OUTCOME_LOST;
}

static void
facts_take(struct facts *facts, const struct event *event)
{
	switch (event->type) {
	case EVENT_BEGUN:
		note_time(&facts->begun_at);
		break;
	case EVENT_ACQUIRED:
	case EVENT_JOINED:
		note_acquired(facts, event);
		note_time(&facts->acquired_at);
		break;
	case EVENT_JOB_STARTED:
		note_time(&facts->started_at);
		break;
	case EVENT_ENDING:
		/* Once a lock is lost, that reason stays. */
		if (facts_say_lost(facts) || event->ending < facts->ending)
			break;
		facts->ending = event->ending;
		facts->status = event->status;
		if (facts_say_lost(facts))
			note_time(&facts->freed_at);
		break;
	case EVENT_RELEASED:
	case EVENT_KEPT:
	case EVENT_LEFT:
	case EVENT_UNCONFIRMED:
		note_time(&facts->freed_at);
		break;
	case EVENT_ENDED:
		note_time(&facts->ended_at);
		break;
	default:
		break;
	}
}

/* Until END or, if that has not come, the end of the run, or until now. */
static int64_t
span(const struct facts *facts, int64_t begin, int64_t end)
{
	if (begin == 0)
		return -1;
	if (end == 0)
		end = facts->ended_at != 0 ? facts->ended_at : clock_now();
	return end - begin;
}

int64_t
facts_waited_ms(const struct facts *facts)
{
	return span(facts, facts->begun_at, facts->acquired_at);
}

int64_t
facts_held_ms(const struct facts *facts)
{
	return span(facts, facts->acquired_at, facts->freed_at);
}

void
events_open(struct events *events, const struct event_sink *const *sinks,
    const struct opts *opts, struct loop *loop, struct writer *writer)
{
	struct facts *facts = mem_alloc(sizeof(*facts));

	facts->opts = opts;
	facts->locks = mem_alloc(opts->key_count * sizeof(*facts->locks));
	events->facts = facts;
	for (; *sinks != NULL; sinks++) {
		void *state = (*sinks)->open(facts, loop, writer);

		if (state == NULL)
			continue;
		events->sinks[events->count] = *sinks;
		events->states[events->count++] = state;
	}
}

void
events_close(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		events->sinks[i]->close(events->states[i]);
	events->count = 0;
	free(events->facts->locks);
	free(events->facts);
	events->facts = NULL;
}

void
events_emit(const struct events *events, const struct event *event)
{
	if (events->facts != NULL)
		facts_take(events->facts, event);
	for (size_t i = 0; i < events->count; i++)
		events->sinks[i]->on_event(events->states[i], event);
}
