#include "options/conf.h"

#include <stdlib.h>

#include "tap.h"

#define NO_SECTION "a section is [profile NAME] or [lock GLOB]"

/* All items of a text: "LINE:[section name]", "LINE:name=value|" and
 * "LINE!mistake", which ends it. */
static void
describe(const char *text, size_t length, char *out, size_t size)
{
	/* Exactly as large, so that the sanitizer sees each byte beyond. */
	char *copy = malloc(length + 1);
	FILE *file = fmemopen(out, size, "w");
	enum conf_item item;
	struct conf conf = {.text = copy, .length = length};

	if (copy == NULL || file == NULL)
		abort();
	*out = '\0';
	memcpy(copy, text, length);
	conf_begin(&conf);
	do {
		item = conf_next(&conf);
		if (item != CONF_END)
			fprintf(file, "%d", conf.place.line);
		if (item == CONF_HEADING)
			fprintf(file, ":[%s %s]",
			    conf.origin == ORIGIN_LOCK ? "lock" : "profile",
			    conf.place.section_name);
		else if (item == CONF_VALUE)
			fprintf(file, ":%s=%s|", conf.name, conf.value);
		else if (item == CONF_MISTAKE)
			fprintf(file, "!%s", conf.mistake);
	} while (item != CONF_END && item != CONF_MISTAKE);
	fclose(file);
	free(copy);
}

static const struct {
	const char *text, *want, *title;
} cases[] = {
    {"", "", "an empty file"},
    {"\n \t\n# c\n  # c\n#", "", "blanks and comments"},
    {"ttl = 60s", "1:ttl=60s|", "the last line needs no newline"},
    {"ttl=60s\n\n\tttl\t =\t 1 h \n", "1:ttl=60s|3:ttl=1 h|", "blanks"},
    {"a = b = c\n", "1:a=b = c|", "the first '=' counts"},
    {"label =\n", "1:label=|", "an empty value"},
    {"a = b # c\na = # c\na =#c\na = b#c\n", "1:a=b|2:a=|3:a=|4:a=b#c|",
	"a comment begins a value or follows a blank"},
    {"a = \" b # c \"  # d\na = \"\"\n", "1:a= b # c |2:a=|", "quotes"},
    {"a = b \"c\"\n", "1:a=b \"c\"|", "a quote inside"},
    {"[profile x]\n [ lock  a b* ] # c\n[lock [ab]]\n[lock \t#]x\n",
	"1:[profile x]2:[lock a b*]3:[lock [ab]]4!a section without its ']'",
	"sections"},
    {"\xef\xbb\xbf"
     "a = b\r\n[lock x]\r\n\r\nc = d\r\n",
	"1:a=b|2:[lock x]4:c=d|", "a byte order mark and CRLF"},
    {"\xef\xbb\xbf", "", "nothing but a byte order mark"},
    {"a = \xff\xc3\xa4\n", "1:a=\xff\xc3\xa4|", "bytes above 127"},
    {"a\n", "1!neither name = value nor a section", "no '='"},
    {"a = b\n = c\n", "1:a=b|2!no name before the '='", "no name"},
    {"\n[]\n", "2!" NO_SECTION, "an empty section"},
    {"[profile]", "1!" NO_SECTION, "a profile without a name"},
    {"[lock ]", "1!" NO_SECTION, "a lock without a glob"},
    {"[locks x]", "1!" NO_SECTION, "another section"},
    {"[lock x", "1!a section without its ']'", "no ']'"},
    {"[lock x] y", "1!a section without its ']'", "text after ']'"},
    {"[", "1!a section without its ']'", "a lone '['"},
    {"a = \"b", "1!a quote without its end", "an open quote"},
    {"a = \"", "1!a quote without its end", "a lone quote"},
    {"a = \"b\" c", "1!text after a quoted value", "text after a quote"},
    {"a = \"b\"c\"", "1!text after a quoted value", "a quote in quotes"},
    {"a = b\rc = d\n", "1!contains a control character", "CR alone"},
    {"# \033[2J\n", "1!contains a control character", "ESC in a comment"},
    {"a = \x7f\n", "1!contains a control character", "DEL"},
};

int
main(void)
{
	char got[256];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		describe(cases[i].text, strlen(cases[i].text), got,
		    sizeof(got));
		is_text(got, cases[i].want, cases[i].title);
	}
	describe("a = b\nc = \0d\n", 13, got, sizeof(got));
	is_text(got, "1:a=b|2!contains a NUL byte", "NUL");
	describe("\0", 1, got, sizeof(got));
	is_text(got, "1!contains a NUL byte", "nothing but NUL");
	return tap_done();
}
