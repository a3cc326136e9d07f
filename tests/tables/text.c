#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Columns of a row. */
enum { ROW = 99 };

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
	char *line = malloc(4 * length + 4);
	size_t n = 0;

	if (line == NULL)
		abort();
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (n == 0)
			n = (size_t)sprintf(line, "%c ", kind);
		if (c >= ' ' && c != 0x7f)
			line[n++] = (char)c;
		else if (c != '\n')
			n += (size_t)sprintf(line + n, "\\x%02x", c);
		if (c != '\n' && i + 1 < length)
			continue;
		line[n == 2 ? 1 : n] = '\0';
		n = 0;
		lines_add(lines, line);
	}
	free(line);
}

/* --- files ------------------------------------------------------------- */

/* A command with its one expected line, or with one that stands for any number
 * of lines, which fit into a line of the file. */
static bool
is_row(const char *command, const char *expected, const char *next)
{
	return strchr("#|!~=", *command) == NULL &&
	       strncmp(command, "file ", 5) != 0 && *expected != '\0' &&
	       strchr("|!~=", *expected) != NULL && expected[1] == ' ' &&
	       (strcmp(expected + 2, "[...]") == 0 || *next == '\0' ||
		   strchr("|!~=", *next) == NULL) &&
	       text_width(command) + text_width(expected) < ROW;
}

int
lines_write(struct lines *lines, const char *path)
{
	FILE *file = fopen(path, "w");

	if (file == NULL)
		return -1;
	lines_add(lines, "");
	lines_add(lines, "");
	for (int i = 0; i < lines->count - 2; i++) {
		char **line = lines->all + i;
		bool joined = is_row(line[0], line[1], line[2]);
		fprintf(file, "%s%s%s\n", line[0], joined ? "  " : "",
		    joined ? line[1] : "");
		i += joined;
	}
	return fclose(file);
}

/* Where the expected line of a row begins: behind two blanks. */
static char *
find_expected(char *line)
{
	if (strchr("#|!~=", *line) != NULL || strncmp(line, "file ", 5) == 0)
		return NULL;
	for (char *at = line; (at = strstr(at, "  ")) != NULL; at++)
		if (at[2] != '\0' && strchr("|!~=", at[2]) != NULL &&
		    at[3] == ' ')
			return at;
	return NULL;
}

int
lines_read(struct lines *lines, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[TEXT_LINE];

	if (file == NULL)
		return -1;
	for (int number = 1; fgets(line, sizeof(line), file) != NULL;
	     number++) {
		char *expected;
		line[strcspn(line, "\n")] = '\0';
		expected = find_expected(line);
		if (expected != NULL)
			*expected = '\0';
		lines->numbers[lines->count] = number;
		lines_add(lines, line);
		if (expected == NULL)
			continue;
		lines->numbers[lines->count] = number;
		lines_add(lines, expected + 2);
	}
	return fclose(file);
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

size_t
text_width(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

char *
text_replace(const char *text, const char *from, const char *to)
{
	size_t found = 0;
	char *out, *end;

	for (const char *at = text; (at = strstr(at, from)) != NULL; at++)
		found++;
	end = out = world_alloc(strlen(text) + found * strlen(to) + 1);
	for (const char *at; (at = strstr(text, from)) != NULL;
	     text = at + strlen(from))
		end += sprintf(end, "%.*s%s", (int)(at - text), text, to);
	strcpy(end, text);
	return out;
}

/* The first of `$(COUNT TEXT)`, from there to its end. */
static const char *
find_repeated(const char *text, long *count, const char **end)
{
	for (; (text = strstr(text, "$(")) != NULL; text += 2) {
		char *rest;
		*count = strtol(text + 2, &rest, 10);
		*end = strchr(rest, ')');
		if (rest > text + 2 && *rest == ' ' && *end != NULL)
			return text;
	}
	return NULL;
}

char *
text_repeat(const char *text)
{
	const char *at, *end;
	long count;
	char *out = world_copy("", 0);

	while ((at = find_repeated(text, &count, &end)) != NULL) {
		const char *unit = strchr(at, ' ') + 1;
		size_t size = (size_t)(end - unit), length = strlen(out);
		char *more = world_alloc(
		    length + (size_t)(at - text) + (size_t)count * size + 1);
		length = (size_t)sprintf(more, "%s%.*s", out, (int)(at - text),
		    text);
		for (; count > 0; count--, length += size)
			memcpy(more + length, unit, size);
		out = more;
		text = end + 1;
	}
	return strcat(strcpy(world_alloc(strlen(out) + strlen(text) + 1), out),
	    text);
}

/* --- patterns ---------------------------------------------------------- */

/* `...` stands for any text. */
bool
text_matches(const char *want, const char *got)
{
	const char *dots = strstr(want, "[...]");
	size_t length = dots != NULL ? (size_t)(dots - want) : strlen(want);

	if (strncmp(want, got, length) != 0)
		return false;
	if (dots == NULL)
		return got[length] == '\0';
	for (got += length;; got++) {
		if (text_matches(dots + 5, got))
			return true;
		if (*got == '\0')
			return false;
	}
}

/* Each `~` line, in this order, among lines of any kind. */
static bool
match_some(char *const *want, int wants, char *const *got, int gots)
{
	for (; wants > 0 && **want == '~'; want++, wants--) {
		while (gots > 0 && !text_matches(*want + 1, *got + 1))
			got++, gots--;
		if (gots == 0)
			return false;
	}
	while (gots > 0 && **got != '=')
		got++, gots--;
	return text_match(want, wants, got, gots);
}

bool
text_match(char *const *want, int wants, char *const *got, int gots)
{
	if (wants == 0)
		return gots == 0;
	if (**want == '~')
		return match_some(want, wants, got, gots);
	if (strcmp(*want + 1, " [...]") == 0 &&
	    (text_match(want + 1, wants - 1, got, gots) ||
		(gots > 0 && **got == **want &&
		    text_match(want, wants, got + 1, gots - 1))))
		return true;
	return gots > 0 && text_matches(*want, *got) &&
	       text_match(want + 1, wants - 1, got + 1, gots - 1);
}
