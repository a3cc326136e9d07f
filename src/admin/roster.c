#include "admin/roster.h"

#include <stdlib.h>
#include <string.h>

#include "admin/look.h"
#include "base/clock.h"
#include "base/mem.h"

static void
forget_lock(struct roster_lock *lock)
{
	free(lock->key);
	query_fini(&lock->look);
}

/* Below 0 if the first number is greater. */
static int
compare(int64_t one, int64_t other)
{
	return (one < other) - (one > other);
}

/* By the clock of the server; one that is not known comes last. */
static int64_t
held_since(const struct look *look)
{
	const struct look_holder *oldest = look_oldest(look);

	return oldest != NULL && oldest->since_ms > 0 ? oldest->since_ms
						      : INT64_MAX;
}

static int64_t
last_ms(const struct look_run *run)
{
	return run->end_ms > 0 ? run->end_ms : run->start_ms;
}

static int
compare_locks(const void *a, const void *b)
{
	const struct roster_lock *one = a, *other = b;
	int order = compare(one->look.kind != '\0', other->look.kind != '\0');

	if (order == 0 && one->look.kind == '\0')
		order = compare(last_ms(&one->look.last),
		    last_ms(&other->look.last));
	else if (order == 0)
		order = compare(one->look.waiting, other->look.waiting);
	if (order == 0)
		order =
		    compare(held_since(&other->look), held_since(&one->look));
	return order != 0 ? order : strcmp(one->key, other->key);
}

void
roster_sort(struct roster *roster)
{
	qsort(roster->locks, roster->count, sizeof(*roster->locks),
	    compare_locks);
	while (roster->count > ROSTER_KEPT)
		forget_lock(&roster->locks[--roster->count]);
}

void
roster_add(struct roster *roster, struct look *look, const char *key)
{
	roster->held += look->kind != '\0';
	roster->waiting += look->waiting > 0 ? look->waiting : 0;
	if (roster->count == sizeof(roster->locks) / sizeof(*roster->locks))
		roster_sort(roster);
	roster->locks[roster->count++] =
	    (struct roster_lock){.key = mem_strdup(key),
		.look = *look,
		.seen_at = clock_now()};
	*look = (struct look){.kind = '\0'};
}

const struct roster_lock *
roster_find(const struct roster *roster, const char *key)
{
	for (size_t i = 0; i < roster->count; i++)
		if (strcmp(roster->locks[i].key, key) == 0)
			return &roster->locks[i];
	return NULL;
}

void
roster_fini(struct roster *roster)
{
	while (roster->count > 0)
		forget_lock(&roster->locks[--roster->count]);
	roster->held = roster->waiting = 0;
}
