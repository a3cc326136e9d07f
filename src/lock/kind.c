#include "lock/kind.h"

#include <stddef.h>

#include "lock/script.h"

#define COUNTED                                                             \
	.acquire = &script_acquire_counted, .renew = &script_renew_counted, \
	.release = &script_release_counted, .join = &script_join_counted,   \
	.plain_acquire = &script_plain_acquire_counted,                     \
	.plain_release = &script_plain_release_counted

const struct kind kind_exclusive = {.letter = "x",
    .adverb = "exclusively",
    .acquire = &script_acquire_exclusive,
    .renew = &script_renew_exclusive,
    .release = &script_release_exclusive,
    .join = &script_join_exclusive,
    .plain_acquire = &script_plain_acquire_exclusive,
    .plain_release = &script_plain_release_exclusive};
const struct kind kind_shared = {.letter = "s", .adverb = "shared", COUNTED};
const struct kind kind_permits = {.letter = "p",
    .adverb = "by permit",
    COUNTED};

const struct kind *
kind_of(char letter)
{
	static const struct kind *const kinds[] = {&kind_exclusive,
	    &kind_shared, &kind_permits, NULL};

	for (const struct kind *const *kind = kinds; *kind != NULL; kind++)
		if (*(*kind)->letter == letter)
			return *kind;
	return NULL;
}
