#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* --- lines ------------------------------------------------------------- */

void
lines_add(struct lines *lines, const char *text)
{
	if (lines->count == TEXT_LINES)
		abort();
	lines->all[lines->count++] = strdup(text);
}

void
lines_clear(struct lines *lines)
{
	while (lines->count > 0)
		free(lines->all[--lines->count]);
}

/* Text as lines of that kind. What is no text is written as \xNN. */
void
lines_add_text(struct lines *lines, char kind, const char *text, size_t length)
{
	char line[4 * TEXT_LINE];
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (n == 0)
			n = (size_t)sprintf(line, "%c ", kind);
		if (c >= ' ' && c != 0x7f && n < sizeof(line) - 8)
			line[n++] = (char)c;
		else if (c != '\n')
			n += (size_t)sprintf(line + n, "\\x%02x", c);
		if (c != '\n' && i + 1 < length)
			continue;
		line[n == 2 ? 1 : n] = '\0';
		n = 0;
		lines_add(lines, line);
	}
}

/* --- words ------------------------------------------------------------- */

/* One character of $'...' behind the backslash. */
static char
read_escape(const char **at)
{
	static const char letters[] = "n\nt\te\033a\ar\r";
	char c = *(*at)++;

	if (c == 'x') {
		char digits[3] = {(*at)[0], (*at)[0] ? (*at)[1] : '\0', '\0'};
		*at += strlen(digits);
		return (char)strtol(digits, NULL, 16);
	}
	for (size_t i = 0; letters[i] != '\0'; i += 2)
		if (letters[i] == c)
			return letters[i + 1];
	return c;
}

/* Up to the end of a word, without its quotes: '', "" and $'' as in a shell. */
static char *
read_word(const char **at)
{
	char word[TEXT_LINE];
	size_t length = 0;
	char quote = '\0';

	for (; **at != '\0' && (quote != '\0' || **at != ' ');) {
		char c = *(*at)++;
		if (quote == '\0' && c == '$' && **at == '\'') {
			quote = '$';
			(*at)++;
		} else if (quote == '\0' && (c == '\'' || c == '"')) {
			quote = c;
		} else if (c == quote || (quote == '$' && c == '\'')) {
			quote = '\0';
		} else if (quote == '$' && c == '\\') {
			word[length++] = read_escape(at);
		} else {
			if (c == '\\' && quote != '\'')
				c = *(*at)++;
			word[length++] = c;
		}
	}
	return world_copy(word, length);
}

int
text_split(const char *line, char **words)
{
	int count = 0;

	for (;;) {
		line += strspn(line, " ");
		if (*line == '\0' || count == TEXT_WORDS - 1)
			break;
		words[count++] = read_word(&line);
	}
	words[count] = NULL;
	return count;
}

char *
text_replace(const char *text, const char *from, const char *to)
{
	char *out = world_copy("", 0);

	for (const char *found; (found = strstr(text, from)) != NULL;
	     text = found + strlen(from))
		out = world_format("%s%.*s%s", out, (int)(found - text), text,
		    to);
	return world_format("%s%s", out, text);
}

/* --- patterns ---------------------------------------------------------- */

/* `...` stands for any text. */
bool
text_matches(const char *want, const char *got)
{
	const char *dots = strstr(want, "...");
	size_t length = dots != NULL ? (size_t)(dots - want) : strlen(want);

	if (strncmp(want, got, length) != 0)
		return false;
	if (dots == NULL)
		return got[length] == '\0';
	for (got += length;; got++) {
		if (text_matches(dots + 3, got))
			return true;
		if (*got == '\0')
			return false;
	}
}

/* A line `| ...` stands for any number of lines of stdout, `! ...` likewise. */
bool
text_match(char *const *want, int wants, char *const *got, int gots)
{
	if (wants == 0)
		return gots == 0;
	if (strcmp(*want + 1, " ...") == 0 &&
	    (text_match(want + 1, wants - 1, got, gots) ||
		(gots > 0 && **got == **want &&
		    text_match(want, wants, got + 1, gots - 1))))
		return true;
	return gots > 0 && text_matches(*want, *got) &&
	       text_match(want + 1, wants - 1, got + 1, gots - 1);
}
