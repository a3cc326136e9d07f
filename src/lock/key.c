#include "lock/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* As Redis Cluster sees it: the first '{' with a later '}' and something
 * between them. */
static bool
has_hash_tag(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	return close != NULL && close > open + 1;
}

char *
key_helper(const char *key, char letter)
{
	return mem_printf(has_hash_tag(key) ? "%s:rlkt:%c" : "{%s}:rlk:%c", key,
	    letter);
}

char *
key_of_token(const char *key, char letter, const char *token)
{
	char *name;

	if (asprintf(&name,
		has_hash_tag(key) ? "%s:rlkt:%c:%s" : "{%s}:rlk:%c:%s", key,
		letter, token) == -1)
		return NULL;
	return name;
}

void
key_names_init(struct key_names *names, const char *key)
{
	names->lock = (char *)key;
	names->info = key_helper(key, 'i');
	names->runs = key_helper(key, 'r');
	names->queue = key_helper(key, 'q');
	names->alive = key_helper(key, 'l');
}

void
key_names_fini(struct key_names *names)
{
	for (enum key i = KEY_LOCK + 1; i < KEY_DOORBELL; i++)
		free(names->all[i]);
}

bool
key_is_placeable(const char *key)
{
	return has_hash_tag(key) || (*key != '\0' && strchr(key, '}') == NULL);
}

char *
key_of_helper(const char *helper)
{
	const char *end = strrchr(helper, ':');
	size_t length = strlen(helper);
	size_t tagged = sizeof(":rlkt:x") - 1;
	size_t plain = sizeof("}:rlk:x") - 1;
	char *key = NULL, *same;

	if (end == NULL || end[1] == '\0' || end[2] != '\0')
		return NULL;
	if (length >= tagged &&
	    strncmp(helper + length - tagged, ":rlkt:", tagged - 1) == 0)
		key = strndup(helper, length - tagged);
	else if (length > plain && *helper == '{' &&
		 strncmp(helper + length - plain, "}:rlk:", plain - 1) == 0)
		key = strndup(helper + 1, length - plain - 1);
	if (key == NULL)
		return NULL;
	same = key_helper(key, end[1]);
	if (strcmp(same, helper) != 0) {
		free(key);
		key = NULL;
	}
	free(same);
	return key;
}
