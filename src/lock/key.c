#include "lock/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As Redis Cluster sees it: the first '{' with a later '}' and something
 * between them. */
static bool
has_hash_tag(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	return close != NULL && close > open + 1;
}

static char *
beside(const char *key, const char *suffix)
{
	size_t size = strlen(key) + sizeof("{}:rlkt:") + strlen(suffix);
	char *name = malloc(size);

	if (name == NULL)
		return NULL;
	if (has_hash_tag(key))
		snprintf(name, size, "%s:rlkt:%s", key, suffix);
	else
		snprintf(name, size, "{%s}:rlk:%s", key, suffix);
	return name;
}

char *
key_helper(const char *key, char letter)
{
	const char suffix[] = {letter, '\0'};

	return beside(key, suffix);
}

char *
key_bell(const char *key, const char *token)
{
	size_t size = sizeof("m:") + strlen(token);
	char *suffix = malloc(size);
	char *name;

	if (suffix == NULL)
		return NULL;
	snprintf(suffix, size, "m:%s", token);
	name = beside(key, suffix);
	free(suffix);
	return name;
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
	if (same == NULL || strcmp(same, helper) != 0) {
		free(key);
		key = NULL;
	}
	free(same);
	return key;
}
