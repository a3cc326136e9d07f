/* The names of the keys beside a lock's own. Each is a pure function of that
 * key, and lies in that key's cluster slot if one can. See KEYS in
 * rlockrun-protocol(7). */
#ifndef KEY_H
#define KEY_H

#include <stdbool.h>

/* A lock's own key and its helper keys. This order is that of acquire.lua, and
 * of the bits in doctor/needs.h. */
enum key {
	KEY_LOCK,
	KEY_INFO,     /* what is known about the lock */
	KEY_RUNS,     /* the last ten */
	KEY_QUEUE,    /* waiter -> ticket */
	KEY_ALIVE,    /* waiter -> alive until */
	KEY_DOORBELL, /* of one waiter */
	KEY_NESTED,   /* the nested runs of one holder */
	KEY_COUNT,
};

struct key_names {
	union {
		char *all[KEY_DOORBELL];
		struct {
			char *lock, *info, *runs, *queue, *alive;
		};
	};
};

/* The key must outlive the names. Dies when memory is out. */
void key_names_init(struct key_names *names, const char *key);
void key_names_fini(struct key_names *names);

/* The helper key with that letter, to be freed. Dies when memory is out. */
char *key_helper(const char *key, char letter);

/* The key with that letter that belongs to one token, to be freed: 'm', a
 * waiter's doorbell, or 'n', the nested runs of a holder. NULL when memory is
 * out. */
char *key_of_token(const char *key, char letter, const char *token);

/* Whether the helper keys lie in the key's slot: all do, unless it has a '}'
 * but no hash tag. */
bool key_is_placeable(const char *key);

/* The other way round: the key that has this helper, to be freed. NULL when it
 * is not the helper of any. Dies when memory is out. */
char *key_of_helper(const char *helper);

#endif
