#include "base/escape.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

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

static uint32_t
code_point(const unsigned char *text, size_t length)
{
	uint32_t code = length == 1 ? text[0] : text[0] & (0x7fU >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3fU);
	return code;
}

/* Controls (C0, C1: terminals obey both), the line and paragraph separators,
 * and what reorders text or leaves no trace on a screen: Bidi_Control and
 * Default_Ignorable_Code_Point of the Unicode Character Database (UAX #44), and
 * interlinear annotations. Emoji lose their joiners and variation selectors,
 * which would otherwise make two names look the same. */
static bool
is_unfit(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f},
	    {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5},
	    {0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e},
	    {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
	    {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
	    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (code <= ranges[i].last)
			return code >= ranges[i].first;
	return false;
}

/* Above U+FFFF it takes two (RFC 8259, 7). */
static int
put_json(uint32_t code, char out[ESCAPE_SIZE])
{
	unsigned above = code - 0x10000;

	if (code < 0x10000)
		return snprintf(out, ESCAPE_SIZE, "\\u%04x", (unsigned)code);
	return snprintf(out, ESCAPE_SIZE, "\\u%04x\\u%04x",
	    0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
}

/* code is one byte of text, or a character of JSON. */
static size_t
put_escape(uint32_t code, enum escape_style style, char out[ESCAPE_SIZE])
{
	int length;

	if (code == '\n' || code == '\t')
		length = snprintf(out, ESCAPE_SIZE, "\\%c",
		    code == '\n' ? 'n' : 't');
	else if (style == ESCAPE_JSON)
		length = put_json(code, out);
	else
		length = snprintf(out, ESCAPE_SIZE, "\\x%02x", (unsigned)code);
	return (size_t)length;
}

size_t
escape_next(const char **text, enum escape_style style, char out[ESCAPE_SIZE])
{
	const unsigned char *bytes = (const unsigned char *)*text;
	size_t length = character_length(bytes);
	uint32_t code = length > 0 ? code_point(bytes, length) : *bytes;
	bool plain = length > 0 && !is_unfit(code);

	/* Otherwise the bytes that follow are stray ones. */
	if (!plain && style == ESCAPE_TEXT)
		code = *bytes;
	*text += plain || (length > 0 && style == ESCAPE_JSON) ? length : 1;
	if (!plain)
		return put_escape(code, style, out);
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
