#include "escape.h"

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
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *shown = escape_text(cases[i].text, ESCAPE_TEXT);
		char *json = escape_text(cases[i].text, ESCAPE_JSON);

		is_text(shown, cases[i].shown, cases[i].what);
		is_text(json, cases[i].json, cases[i].what);
		free(shown);
		free(json);
	}
	return tap_done();
}
