#include "redis/out.h"

#include <string.h>

#include "base/secret.h"

/* A script and what goes before it. */
enum { OUT_ROOM = 16000 };
/* Of "$N\r\n" and of the end of the word behind it. */
enum { HEAD_MAX = 32 };

int
out_init(struct out *out)
{
	*out = (struct out){.bytes = secret_alloc_mixed(OUT_ROOM)};
	return out->bytes == NULL ? -1 : 0;
}

void
out_fini(struct out *out)
{
	secret_free(out->bytes);
}

static char *
put_length(char *end, char type, size_t number)
{
	char digits[24];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	*end++ = type;
	while (count > 0)
		*end++ = digits[--count];
	return mempcpy(end, "\r\n", 2);
}

static char *
put_bulk(char *end, const char *word)
{
	size_t length = strlen(word);

	end = put_length(end, '$', length);
	end = mempcpy(end, word, length);
	return mempcpy(end, "\r\n", 2);
}

/* Formatted in place, as a copy of AUTH would have to be wiped. */
int
out_put(struct out *out, const char *const head[2], const char *const *words)
{
	size_t size = HEAD_MAX, count = 0;
	char *grown, *end;

	if (head != NULL)
		size +=
		    strlen(head[0]) + strlen(head[1]) + 2 * (size_t)HEAD_MAX;
	while (words[count] != NULL)
		size += strlen(words[count++]) + HEAD_MAX;
	grown = secret_grow(out->bytes, out->length + size);
	if (grown == NULL)
		return -1;
	out->bytes = grown;
	end = put_length(grown + out->length, '*',
	    count + (head != NULL ? 2 : 0));
	for (size_t i = 0; head != NULL && i < 2; i++)
		end = put_bulk(end, head[i]);
	for (size_t i = 0; i < count; i++)
		end = put_bulk(end, words[i]);
	out->length = (size_t)(end - out->bytes);
	return 0;
}

void
out_cut(struct out *out, size_t length)
{
	explicit_bzero(out->bytes + length, out->length - length);
	out->length = length;
}

void
out_wrote(struct out *out, size_t length)
{
	memmove(out->bytes, out->bytes + length, out->length - length);
	out_cut(out, out->length - length);
}
