/* The names of the keys beside a lock's own. Each is a pure function of that
 * key, and lies in that key's cluster slot if one can. See Keys in PROTOCOL of
 * rlockrun(1). */
#ifndef KEY_H
#define KEY_H

#include <stdbool.h>

/* The key and its helper keys. */
struct key_names {
	const char *lock;
	char *fence;
	char *info;
	char *nested;
	char *queue;
	char *alive;
	char *doorbell; /* of all waiters */
	char *history;
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
