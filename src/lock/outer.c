#include "lock/outer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_LENGTH = TOKEN_SIZE - 1 };
enum { TOKEN_AT = 2, KEY_AT = TOKEN_AT + TOKEN_LENGTH + 1 };

static char *
encode_key(const char *key)
{
	char *text = malloc(3 * strlen(key) + 1);
	char *to = text;

	for (; text != NULL && *key != '\0'; key++) {
		unsigned char byte = (unsigned char)*key;

		if (byte > ' ' && byte < 0x7f && byte != '%')
			*to++ = *key;
		else
			to += sprintf(to, "%%%02X", byte);
	}
	if (text != NULL)
		*to = '\0';
	return text;
}

/* Steps to the next entry; its length, 0 at the end. */
static size_t
next_entry(const char **at)
{
	*at += strspn(*at, " ");
	return strcspn(*at, " ");
}

static bool
is_entry_of(const char *entry, size_t length, const char *encoded)
{
	return length == KEY_AT + strlen(encoded) && entry[1] == ':' &&
	       entry[KEY_AT - 1] == ':' &&
	       strncmp(entry + KEY_AT, encoded, strlen(encoded)) == 0;
}

const struct kind *
outer_find(const char *held, const char *key, char token[TOKEN_SIZE])
{
	char *encoded = held == NULL ? NULL : encode_key(key);
	const struct kind *kind = NULL;
	size_t length;

	if (encoded == NULL)
		return NULL;
	for (const char *at = held; (length = next_entry(&at)) > 0;
	     at += length) {
		if (!is_entry_of(at, length, encoded))
			continue;
		memcpy(token, at + TOKEN_AT, TOKEN_LENGTH);
		token[TOKEN_LENGTH] = '\0';
		kind = kind_of(*at);
	}
	free(encoded);
	return kind;
}

char *
outer_with(const char *held, const char *key, const struct kind *kind,
    const char *token)
{
	const char *at = held == NULL ? "" : held;
	char *encoded = encode_key(key);
	size_t size = strlen(at) + KEY_AT + 3 * strlen(key) + 2;
	char *list = encoded == NULL ? NULL : malloc(size);
	size_t used = 0;
	size_t length;

	for (; list != NULL && (length = next_entry(&at)) > 0; at += length)
		if (!is_entry_of(at, length, encoded))
			used += (size_t)snprintf(list + used, size - used,
			    "%.*s ", (int)length, at);
	if (list != NULL)
		snprintf(list + used, size - used, "%s:%s:%s", kind->letter,
		    token, encoded);
	free(encoded);
	return list;
}
