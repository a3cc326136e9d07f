#include "base/escape.h"

#include <stdlib.h>

#include "tap.h"

static const struct {
	const char *what, *text, *shown, *json;
} cases[] = {
    {"nothing", "", "", ""},
    {"plain", "job:sync 1~", "job:sync 1~", "job:sync 1~"},
    {"quotes", "a\"b\\c/'", "a\"b\\c/'", "a\\\"b\\\\c/'"},
    {"white space", "\n\t\r", "\\n\\t\\x0d", "\\n\\t\\u000d"},
    {"escape and delete", "\x1b[31m\x7f", "\\x1b[31m\\x7f",
	"\\u001b[31m\\u007f"},
    {"UTF-8", "\u00e9\u20ac\U0001f512", "\u00e9\u20ac\U0001f512",
	"\u00e9\u20ac\U0001f512"},
    {"C1", "\xc2\x9bx\xc2\xa0", "\\xc2\\x9bx\xc2\xa0", "\\u009bx\xc2\xa0"},
    {"a stray continuation", "a\x80z", "a\\x80z", "a\\u0080z"},
    {"Latin 1", "caf\xe9", "caf\\xe9", "caf\\u00e9"},
    {"overlong", "\xc0\xaf\xe0\x80\xaf", "\\xc0\\xaf\\xe0\\x80\\xaf",
	"\\u00c0\\u00af\\u00e0\\u0080\\u00af"},
    {"a surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\u00ed\\u00a0\\u0080"},
    {"above Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
	"\\u00f4\\u0090\\u0080\\u0080"},
    {"cut off", "\xf0\x9f\x94", "\\xf0\\x9f\\x94", "\\u00f0\\u009f\\u0094"},
    {"cut off by a newline", "\xe2\x82\n", "\\xe2\\x82\\n",
	"\\u00e2\\u0082\\n"},
    {"overlong, of four", "\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf",
	"\\u00f0\\u0080\\u0080\\u00af"},
    {"a bidirectional override", "a\u202eb", "a\\xe2\\x80\\xaeb", "a\\u202eb"},
    {"a tag", "a\U000e0041b", "a\\xf3\\xa0\\x81\\x81b", "a\\udb40\\udc41b"},
};

/* The first and the last of each range that reorders or hides text, as listed
 * in the Unicode Character Database: Bidi_Control,
 * Default_Ignorable_Code_Point, and the line and paragraph separators. */
static const unsigned long unfit[] = {0x80, 0x9f, 0xad, 0x34f, 0x61c, 0x115f,
    0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b, 0x200d, 0x200e,
    0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x206f,
    0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff9, 0xfffb, 0x1bca0,
    0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe007f, 0xe0100, 0xe01ef,
    0xe0fff};

/* Their neighbours, and text of many scripts. */
static const unsigned long fit[] = {0xa0, 0xac, 0xae, 0x34e, 0x350, 0x5d0,
    0x61b, 0x61d, 0x627, 0x115e, 0x1161, 0x17b3, 0x17b6, 0x180a, 0x1810, 0x200a,
    0x2010, 0x2027, 0x202f, 0x205f, 0x2070, 0x3163, 0x3165, 0x4e00, 0xac00,
    0xfdff, 0xfe10, 0xfefe, 0xff00, 0xff9f, 0xffa1, 0xffef, 0xfffc, 0xfffd,
    0x1bc9f, 0x1bca4, 0x1d172, 0x1d17b, 0x1f512, 0xdffff, 0xe1000, 0x10ffff};

/* As UTF-8 (RFC 3629). */
static void
encode(unsigned long code, char text[5])
{
	size_t length = code < 0x80	 ? 1
			: code < 0x800	 ? 2
			: code < 0x10000 ? 3
					 : 4;

	memset(text, 0, 5);
	for (size_t i = length; i-- > 1; code >>= 6)
		text[i] = (char)(0x80 | (code & 0x3f));
	text[0] =
	    (char)(length == 1 ? code : (0xf00UL >> length & 0xff) | code);
}

/* In a string of JSON. */
static void
expect_json(unsigned long code, char text[24])
{
	if (code < 0x10000)
		snprintf(text, 24, "\\u%04lx", code);
	else
		snprintf(text, 24, "\\u%04lx\\u%04lx",
		    0xd800 + ((code - 0x10000) >> 10),
		    0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void
check_code(unsigned long code, bool is_fit)
{
	char text[5], shown[32] = "", json[24], what[32];
	char *got_text, *got_json;

	encode(code, text);
	got_text = escape_text(text, ESCAPE_TEXT);
	got_json = escape_text(text, ESCAPE_JSON);
	for (size_t i = 0; text[i] != '\0'; i++)
		snprintf(shown + 4 * i, 5, "\\x%02x", (unsigned char)text[i]);
	expect_json(code, json);
	snprintf(what, sizeof(what), "U+%04lX", code);
	is_text(got_text, is_fit ? text : shown, what);
	is_text(got_json, is_fit ? text : json, what);
	free(got_text);
	free(got_json);
}

/* The first quote without a backslash ends a name. */
static void
test_quotes(void)
{
	char text[64], little[8];

	escape_quote("", text, sizeof(text));
	is_text(text, "\"\"", "an empty name in quotes");
	escape_quote("a\" is free; \"b", text, sizeof(text));
	is_text(text, "\"a\\\" is free; \\\"b\"", "quotes in quotes");
	escape_quote("a\\", text, sizeof(text));
	is_text(text, "\"a\\\\\"", "a backslash at the end of a name");
	escape_quote("\n\x1b\u00e9", text, sizeof(text));
	is_text(text, "\"\\n\\x1b\u00e9\"", "the rest is escaped as in text");
	escape_quote("abcde", little, sizeof(little));
	is_text(little, "\"abcde\"", "a name that just fits");
	escape_quote("abcdef", little, sizeof(little));
	is_text(little, "\"abcde\"", "a name that is cut off");
	escape_quote("abc\x1b", little, sizeof(little));
	is_text(little, "\"abc\"", "no escape is cut in two");
	escape_quote("a", little, sizeof("\"\""));
	is_text(little, "\"\"", "no room for any of it");
}

static const struct {
	const char *text;
	enum escape_style style;
	size_t columns;
	const char *shortened;
	size_t width; /* of all of it */
} shortenings[] = {
    {"job:sync", ESCAPE_TEXT, 8, "job:sync", 8},
    {"job:sync", ESCAPE_TEXT, 7, "job:...", 8},
    {"job:sync", ESCAPE_QUOTED, 10, "\"job:sync\"", 10},
    {"job:sync", ESCAPE_QUOTED, 9, "\"job:...\"", 10},
    {"job:sync", ESCAPE_TEXT, 0, "...", 8},
    {"job:sync", ESCAPE_QUOTED, 5, "\"...\"", 10},
    {"", ESCAPE_QUOTED, 2, "\"\"", 2},
    {"caf\u00e9 ol\u00e9", ESCAPE_TEXT, 8, "caf\u00e9 ol\u00e9", 8},
    {"caf\u00e9 ol\u00e9", ESCAPE_TEXT, 7, "caf\u00e9...", 8},
    {"\u540c\u671f\u540c\u671f", ESCAPE_TEXT, 8, "\u540c\u671f\u540c\u671f", 8},
    {"\u540c\u671f\u540c\u671f", ESCAPE_TEXT, 7, "\u540c\u671f...", 8},
    {"\u540c\u671f\u540c\u671f", ESCAPE_TEXT, 6, "\u540c...", 8},
    {"\U0001f512\U0001f512!", ESCAPE_TEXT, 4, "...", 5},
    {"a\x1b[2Jb", ESCAPE_TEXT, 9, "a\\x1b[2Jb", 9},
    {"a\x1b[2Jb", ESCAPE_TEXT, 8, "a\\x1b...", 9},
    {"a\x1b[2Jb", ESCAPE_TEXT, 7, "a...", 9},
    {"a\"b\"c", ESCAPE_QUOTED, 8, "\"a\\\"...\"", 9},
    {"\xff\xff", ESCAPE_TEXT, 8, "\\xff\\xff", 8},
};

static void
test_shorten(void)
{
	char text[64], little[12];

	for (size_t i = 0; i < LENGTH(shortenings); i++) {
		escape_shorten(shortenings[i].text, shortenings[i].style,
		    shortenings[i].columns, text, sizeof(text));
		is_text(text, shortenings[i].shortened, "to fit");
		is_int((int64_t)escape_columns(shortenings[i].text,
			   shortenings[i].style),
		    (int64_t)shortenings[i].width, "columns of all");
	}
	escape_shorten("job:sync:all", ESCAPE_QUOTED, 64, little,
	    sizeof(little));
	is_text(little, "\"job:sync:\"", "a buffer that is too small");
}

/* The first and the last of some ranges, and their neighbours. */
static void
test_width(void)
{
	static const struct {
		unsigned long code;
		size_t columns;
	} rows[] = {{'a', 1}, {0xe9, 1}, {0x10ff, 1}, {0x1100, 2}, {0x2319, 1},
	    {0x231a, 2}, {0x27bf, 2}, {0x27c0, 1}, {0x4e00, 2}, {0xa4cf, 2},
	    {0xa4d0, 1}, {0xff60, 2}, {0xff61, 1}, {0x1f512, 2}, {0x1fb00, 1},
	    {0x20000, 2}, {0x3fffd, 2}, {0x40000, 1}};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[5], what[32];

		encode(rows[i].code, text);
		snprintf(what, sizeof(what), "columns of U+%04lX",
		    rows[i].code);
		is_int((int64_t)escape_columns(text, ESCAPE_TEXT),
		    (int64_t)rows[i].columns, what);
	}
}

static void
test_cut(void)
{
	static const struct {
		const char *text;
		size_t bytes;
		const char *cut;
	} cuts[] = {
	    {"", 8, ""},
	    {"12345678", 8, "12345678"},
	    {"123456789", 8, "12345..."},
	    {"1234\u00e96789", 8, "1234..."},
	    {"123\u00e96789", 8, "123\u00e9..."},
	    {"12\U0001f5126789", 8, "12..."},
	    {"1234\xff\xff\xff\xff\xff", 8, "1234\xff..."},
	};

	for (size_t i = 0; i < LENGTH(cuts); i++) {
		char *cut = escape_cut(cuts[i].text, cuts[i].bytes);

		is_text(cut, cuts[i].cut, "in so many bytes");
		free(cut);
	}
}

int
main(void)
{
	test_quotes();
	test_cut();
	test_width();
	test_shorten();
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char *shown = escape_text(cases[i].text, ESCAPE_TEXT);
		char *json = escape_text(cases[i].text, ESCAPE_JSON);

		is_text(shown, cases[i].shown, cases[i].what);
		is_text(json, cases[i].json, cases[i].what);
		free(shown);
		free(json);
	}
	for (size_t i = 0; i < LENGTH(unfit); i++)
		check_code(unfit[i], false);
	for (size_t i = 0; i < LENGTH(fit); i++)
		check_code(fit[i], true);
	return tap_done();
}
