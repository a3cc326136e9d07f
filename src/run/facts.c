#include "run/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

void
facts_init(struct facts *facts, const struct opts *opts)
{
	size_t size = opts->key_count * sizeof(*facts->locks);

	*facts = (struct facts){.opts = opts, .locks = mem_alloc(size)};
}

void
facts_fini(struct facts *facts)
{
	free(facts->locks);
}

const struct facts_lock *
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
	const struct facts_lock *found = facts_find(facts, event->name);
	struct facts_lock *lock;

	if (found == NULL)
		return;
	lock = &facts->locks[found - facts->locks];
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

void
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

/* Until END, or until now if that has not come. */
static int64_t
span(int64_t begin, int64_t end)
{
	if (begin == 0)
		return -1;
	return (end != 0 ? end : clock_now()) - begin;
}

int64_t
facts_waited_ms(const struct facts *facts)
{
	int64_t end = facts->acquired_at;

	return span(facts->begun_at, end != 0 ? end : facts->ended_at);
}

int64_t
facts_held_ms(const struct facts *facts)
{
	int64_t end = facts->freed_at;

	return span(facts->acquired_at, end != 0 ? end : facts->ended_at);
}
