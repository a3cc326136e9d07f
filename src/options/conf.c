#include "options/conf.h"

#include <stdbool.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static enum conf_item
fail(struct conf *conf, const char *mistake)
{
	conf->mistake = mistake;
	return CONF_MISTAKE;
}

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* Without the blanks around it. */
static char *
trim(char *text)
{
	char *end;

	while (is_blank(*text))
		text++;
	end = text + strlen(text);
	while (end > text && is_blank(end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* A comment begins a line or a value, or follows a blank: a URL or the name of
 * a lock may contain a '#'. */
static void
cut_comment(char *line)
{
	for (char *mark = line; (mark = strchr(mark, '#')) != NULL; mark++) {
		if (mark == line || is_blank(mark[-1])) {
			*mark = '\0';
			return;
		}
	}
}

static const char *
text_mistake(const char *text, const char *end)
{
	for (; text < end; text++) {
		if (*text == '\0')
			return "contains a NUL byte";
		if ((*text > 0 && *text < ' ' && *text != '\t') ||
		    *text == 0x7f)
			return "contains a control character";
	}
	return NULL;
}

/* Editors of Windows end lines with CR and LF. */
static char *
next_line(struct conf *conf)
{
	char *line = conf->rest;
	char *end = memchr(line, '\n', (size_t)(conf->end - line));

	conf->line++;
	conf->rest = end != NULL ? end + 1 : conf->end;
	if (end == NULL)
		end = conf->end;
	else if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	conf->mistake = text_mistake(line, end);
	return line;
}

/* After "[profile" or "[lock": a blank and the name. */
static enum conf_item
read_name(struct conf *conf, enum conf_section section, char *name)
{
	conf->section = section;
	conf->section_name = trim(name);
	return *conf->section_name == '\0' || !is_blank(*name)
		   ? fail(conf, "a section is [profile NAME] or [lock GLOB]")
		   : CONF_HEADING;
}

static enum conf_item
read_heading(struct conf *conf, char *line)
{
	static const struct {
		const char *word;
		enum conf_section section;
	} kinds[] = {{"profile", CONF_PROFILE}, {"lock", CONF_LOCK}};
	size_t length;

	cut_comment(line);
	line = trim(line);
	length = strlen(line);
	if (line[length - 1] != ']')
		return fail(conf, "a section without its ']'");
	line[length - 1] = '\0';
	line = trim(line + 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		length = strlen(kinds[i].word);
		if (strncmp(line, kinds[i].word, length) == 0)
			return read_name(conf, kinds[i].section, line + length);
	}
	return fail(conf, "a section is [profile NAME] or [lock GLOB]");
}

/* text begins with a quote. */
static enum conf_item
read_quoted(struct conf *conf, char *text)
{
	char *end = strchr(text + 1, '"');

	if (end == NULL)
		return fail(conf, "a quote without its end");
	*end = '\0';
	conf->value = text + 1;
	text = end + 1;
	cut_comment(text);
	return *trim(text) == '\0' ? CONF_VALUE
				   : fail(conf, "text after a quoted value");
}

static enum conf_item
read_value(struct conf *conf, char *line)
{
	char *sign = strchr(line, '='), *text;

	if (sign == NULL)
		return fail(conf, "neither name = value nor a section");
	*sign = '\0';
	conf->name = trim(line);
	if (*conf->name == '\0')
		return fail(conf, "no name before the '='");
	text = sign + 1;
	if (text[strspn(text, " \t")] == '"')
		return read_quoted(conf, trim(text));
	cut_comment(text);
	conf->value = trim(text);
	return CONF_VALUE;
}

void
conf_begin(struct conf *conf, char *text, size_t length)
{
	size_t mark = strlen(BYTE_ORDER_MARK);

	*conf = (struct conf){.end = text + length, .section_name = ""};
	conf->rest = length >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0
			 ? text + mark
			 : text;
}

enum conf_item
conf_next(struct conf *conf)
{
	while (conf->rest < conf->end) {
		char *line = next_line(conf);

		if (conf->mistake != NULL)
			return CONF_MISTAKE;
		while (is_blank(*line))
			line++;
		if (*line == '[')
			return read_heading(conf, line);
		if (*line != '\0' && *line != '#')
			return read_value(conf, line);
	}
	return CONF_END;
}

static bool
needs_quotes(const char *value, const char *end)
{
	bool comment = false;

	for (const char *mark = value; !comment && mark < end; mark++)
		comment = *mark == '#' && (mark == value || is_blank(mark[-1]));
	return comment || *value == '"' || is_blank(*value) ||
	       (value < end && is_blank(end[-1]));
}

enum conf_form
conf_form_of(const char *value)
{
	const char *end = value + strlen(value);

	if (text_mistake(value, end) != NULL)
		return CONF_IMPOSSIBLE;
	if (!needs_quotes(value, end))
		return CONF_PLAIN;
	return strchr(value, '"') == NULL ? CONF_QUOTED : CONF_IMPOSSIBLE;
}
