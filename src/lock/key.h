/* The names of the keys beside a lock's own. Each is a pure function of that
 * key, and lies in that key's cluster slot if one can. See KEYS in
 * rlockrun-protocol(7). */
#ifndef KEY_H
#define KEY_H

#include <stdbool.h>

/* A lock's own key and its helper keys. This order is that of acquire.lua, of
 * the tiers in claim.h and of the bits in needs.h. */
enum key {
	KEY_LOCK,
	KEY_FENCE,
	KEY_RECORD,
	KEY_NESTED,
	KEY_QUEUE,
	KEY_ALIVE,
	KEY_DOORBELL,
	KEY_HISTORY,
	KEY_NEWEST, /* from here on: of a policy, behind those of a tier */
	KEY_ORDER,
	KEY_COUNT,
};

struct key_names {
	union {
		char *all[KEY_COUNT];
		struct {
			char *lock, *fence, *record, *nested, *queue, *alive;
			char *doorbell; /* that all waiters share */
			char *history;
			char *newest, *order;
		};
	};
};

/* The key must outlive the names. Dies when memory is out. */
void key_names_init(struct key_names *names, const char *key);
void key_names_fini(struct key_names *names);

/* The helper key with that letter, to be freed. Dies when memory is out. */
char *key_helper(const char *key, char letter);

/* The doorbell of the waiter with that token, to be freed. NULL when memory is
 * out. */
char *key_doorbell(const char *key, const char *token);

/* Whether the helper keys lie in the key's slot: all do, unless it has a '}'
 * but no hash tag. */
bool key_is_placeable(const char *key);

/* The other way round: the key that has this helper, to be freed. NULL when it
 * is not the helper of any. Dies when memory is out. */
char *key_of_helper(const char *helper);

#endif
