#include "base/escape.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ELLIPSIS "..." /* the terminal may not know U+2026 */

static bool
continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The number of bytes of the character at text, 0 if it is not valid UTF-8.
 * Reads nothing past a terminating NUL. */
static size_t
character_length(const char *text)
{
	unsigned char first = (unsigned char)text[0];
	unsigned char second;

	if (first < 0x80)
		return 1;
	second = (unsigned char)text[1];
	if (first < 0xc2 || first > 0xf4 || !continues(text[1]))
		return 0; /* a stray continuation, overlong, or not Unicode */
	if (first < 0xe0)
		return 2;
	if ((first == 0xe0 && second < 0xa0) || /* overlong */
	    (first == 0xed && second > 0x9f) || /* surrogates */
	    (first == 0xf0 && second < 0x90) || /* overlong */
	    (first == 0xf4 && second > 0x8f))	/* above U+10FFFF */
		return 0;
	if (!continues(text[2]))
		return 0;
	if (first < 0xf0)
		return 3;
	return continues(text[3]) ? 4 : 0;
}

static uint32_t
code_point(const char *text, size_t length)
{
	uint32_t code = (unsigned char)text[0];

	if (length > 1)
		code &= 0x7fU >> length;
	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3fU);
	return code;
}

struct range {
	uint32_t first, last;
};

/* The ranges are in ascending order. */
static bool
is_in(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code <= ranges[i].last)
			return code >= ranges[i].first;
	return false;
}

/* Controls (C0, C1: terminals obey both), the line and paragraph separators,
 * and what reorders text or leaves no trace on a screen: Bidi_Control and
 * Default_Ignorable_Code_Point of the Unicode Character Database (UAX #44), and
 * interlinear annotations. Emoji lose their joiners and variation selectors,
 * which would otherwise make two names look the same. */
static bool
is_unsafe(uint32_t code)
{
	static const struct range ranges[] = {{0, 0x1f}, {0x7f, 0x9f},
	    {0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160},
	    {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
	    {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
	    {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
	    {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	    {0xe0000, 0xe0fff}};

	return is_in(code, ranges, sizeof(ranges) / sizeof(*ranges));
}

/* East_Asian_Width W and F (UAX #11) and emoji, in ranges that are wider than
 * those of Unicode: a terminal may know an older or a newer version. */
static bool
may_be_wide(uint32_t code)
{
	static const struct range ranges[] = {{0x1100, 0x115f},
	    {0x231a, 0x27bf}, {0x2934, 0x2935}, {0x2b05, 0x2b55},
	    {0x2e80, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},
	    {0xf900, 0xfaff}, {0xfe10, 0xfe6f}, {0xff00, 0xff60},
	    {0xffe0, 0xffe6}, {0x16fe0, 0x1b2ff}, {0x1d300, 0x1d37f},
	    {0x1f000, 0x1faff}, {0x20000, 0x3fffd}};

	return is_in(code, ranges, sizeof(ranges) / sizeof(*ranges));
}

/* code is one byte of text, or a character of JSON. */
static size_t
put_escape(uint32_t code, enum escape_style style, char out[ESCAPE_SIZE])
{
	unsigned above = code - 0x10000;
	int length;

	if (code == '\n' || code == '\t')
		length = snprintf(out, ESCAPE_SIZE, "\\%c",
		    code == '\n' ? 'n' : 't');
	else if (style != ESCAPE_JSON)
		length = snprintf(out, ESCAPE_SIZE, "\\x%02x", code);
	else if (code < 0x10000)
		length = snprintf(out, ESCAPE_SIZE, "\\u%04x", code);
	else /* RFC 8259, section 7 */
		length = snprintf(out, ESCAPE_SIZE, "\\u%04x\\u%04x",
		    0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
	return (size_t)length;
}

size_t
escape_next(const char **text, enum escape_style style, char out[ESCAPE_SIZE])
{
	const char *bytes = *text;
	size_t length = character_length(bytes);
	bool valid = length > 0;
	uint32_t code = code_point(bytes, valid ? length : 1);

	if (valid && !is_unsafe(code)) {
		bool quoted =
		    style != ESCAPE_TEXT && (code == '"' || code == '\\');
		*text += length;
		out[0] = '\\';
		memcpy(out + quoted, bytes, length);
		return length + quoted;
	}
	/* In text the other bytes of the character follow as stray ones. */
	if (valid && style == ESCAPE_JSON) {
		*text += length;
		return put_escape(code, style, out);
	}
	*text += 1;
	return put_escape((unsigned char)*bytes, style, out);
}

size_t
escape_width(const char *out, size_t length)
{
	if ((unsigned char)*out < 0x80)
		return length;
	return may_be_wide(code_point(out, length)) ? 2 : 1;
}

size_t
escape_columns(const char *text, enum escape_style style)
{
	size_t columns = style == ESCAPE_QUOTED ? strlen("\"\"") : 0;

	while (*text != '\0') {
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&text, style, out);

		columns += escape_width(out, length);
	}
	return columns;
}

void
escape_shorten(const char *text, enum escape_style style, size_t columns,
    char *shortened, size_t size)
{
	const char *quote = style == ESCAPE_QUOTED ? "\"" : "";
	const char *rest =
	    escape_columns(text, style) <= columns ? "" : ELLIPSIS;
	size_t used = 2 * strlen(quote) + strlen(rest);
	size_t length = strlen(quote);

	size -= strlen(rest) + strlen(quote);
	snprintf(shortened, size, "%s", quote);
	while (*text != '\0') {
		char out[ESCAPE_SIZE];
		size_t added = escape_next(&text, style, out);

		used += escape_width(out, added);
		if (used > columns || added >= size - length)
			break;
		memcpy(shortened + length, out, added);
		length += added;
	}
	stpcpy(stpcpy(shortened + length, rest), quote);
}

void
escape_quote(const char *name, char *text, size_t size)
{
	escape_shorten(name, ESCAPE_QUOTED, SIZE_MAX, text, size);
}

char *
escape_cut(const char *text, size_t bytes)
{
	size_t kept = 0, next = 0;

	if (strlen(text) <= bytes)
		return mem_strdup(text);
	while (next <= bytes - strlen(ELLIPSIS)) {
		size_t length = character_length(text + next);

		kept = next;
		next += length > 0 ? length : 1;
	}
	return mem_printf("%.*s" ELLIPSIS, (int)kept, text);
}

char *
escape_text(const char *text, enum escape_style style)
{
	size_t size = strlen(text) * ESCAPE_SIZE + sizeof("\"\"");
	char *escaped = mem_alloc(size);

	escape_shorten(text, style, SIZE_MAX, escaped, size);
	return escaped;
}
