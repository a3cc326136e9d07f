#include "escape.h"

#include <stdio.h>
#include <string.h>

#include "mem.h"

static bool
is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

bool
escape_continues(char byte)
{
	return is_continuation((unsigned char)byte);
}

/* The bytes of the character at text, 0 when it is not valid UTF-8. Reads
 * nothing behind a terminating NUL. */
static size_t
character_length(const unsigned char *text)
{
	unsigned char first = text[0], second;

	if (first < 0x80)
		return 1;
	second = text[1];
	if (first < 0xc2 || first > 0xf4 || !is_continuation(second))
		return 0; /* a stray continuation, overlong, or not Unicode */
	if (first < 0xe0)
		return 2;
	if ((first == 0xe0 && second < 0xa0) || /* overlong */
	    (first == 0xed && second > 0x9f) || /* surrogates */
	    (first == 0xf0 && second < 0x90) || /* overlong */
	    (first == 0xf4 && second > 0x8f))	/* above U+10FFFF */
		return 0;
	if (!is_continuation(text[2]))
		return 0;
	if (first < 0xf0)
		return 3;
	return is_continuation(text[3]) ? 4 : 0;
}

/* U+0080 to U+009F: terminals obey these, too. */
static bool
is_control(const unsigned char *text, size_t length)
{
	if (length == 2)
		return text[0] == 0xc2 && text[1] < 0xa0;
	return text[0] < 0x20 || text[0] == 0x7f;
}

static size_t
put_escape(unsigned char byte, enum escape_style style, char out[ESCAPE_SIZE])
{
	int length;

	if (byte == '\n' || byte == '\t')
		length = snprintf(out, ESCAPE_SIZE, "\\%c",
		    byte == '\n' ? 'n' : 't');
	else if (style == ESCAPE_JSON)
		length = snprintf(out, ESCAPE_SIZE, "\\u%04x", byte);
	else
		length = snprintf(out, ESCAPE_SIZE, "\\x%02x", byte);
	return (size_t)length;
}

size_t
escape_next(const char **text, enum escape_style style, char out[ESCAPE_SIZE])
{
	const unsigned char *bytes = (const unsigned char *)*text;
	size_t length = character_length(bytes);
	bool plain = length > 0 && !is_control(bytes, length);
	/* For JSON a control character of two bytes is one: U+00XX. */
	size_t taken = plain				     ? length
		       : length == 2 && style == ESCAPE_JSON ? 2
							     : 1;

	*text += taken;
	if (!plain)
		return put_escape(bytes[taken - 1], style, out);
	if (style == ESCAPE_JSON && (*bytes == '"' || *bytes == '\\')) {
		out[0] = '\\';
		out[1] = (char)*bytes;
		return 2;
	}
	memcpy(out, bytes, length);
	return length;
}

char *
escape_text(const char *text, enum escape_style style)
{
	char *escaped = mem_alloc(strlen(text) * ESCAPE_SIZE + 1);
	char *end = escaped;

	while (*text != '\0') {
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&text, style, out);

		memcpy(end, out, length);
		end += length;
	}
	return escaped;
}
