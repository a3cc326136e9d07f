/* RLOCKRUN_HELD, which any program may have changed: what is found has a kind
 * and a token, and what is added is found. The first line is the key. */
#include "fuzz.h"
#include "lock/outer.h"

static void
check_added(const char *held, const char *key)
{
	static const char ours[] = "01234567-89ab-4def-8123-456789abcdef";
	char *longer = outer_with(held, key, &kind_shared, ours);
	char token[TOKEN_SIZE];

	require(longer != NULL);
	require(outer_find(longer, key, token) == &kind_shared);
	require(strcmp(token, ours) == 0);
	free(longer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *held = text;
	char token[TOKEN_SIZE];
	const char *key;

	require(text != NULL);
	key = strsep(&held, "\n");
	if (outer_find(held, key, token) != NULL)
		require(strlen(token) == TOKEN_SIZE - 1);
	if (*key != '\0')
		check_added(held, key);
	free(text);
	return 0;
}
