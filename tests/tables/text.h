/* Lines, words and patterns of the tables. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_LINE = 16384, TEXT_LINES = 4096, TEXT_WORDS = 300 };

struct lines {
	char *all[TEXT_LINES];
	int numbers[TEXT_LINES]; /* in the file that was read */
	int count;
};

void lines_add(struct lines *lines, const char *text);
void lines_clear(struct lines *lines);
/* Text as lines that begin with that character. Control characters are written
 * as \\xNN. */
void lines_add_text(struct lines *lines, char kind, const char *text,
    size_t length);

/* 0, or -1 with errno. A command and its one expected line are two lines here,
 * and one in the file. */
int lines_read(struct lines *lines, const char *path);
int lines_write(struct lines *lines, const char *path);

/* Words as a shell reads them, with '', "" and $''; NULL behind the last. They
 * live until the world ends. */
int text_split(const char *line, char **words);
/* `$(COUNT TEXT)` becomes TEXT, so often. */
char *text_repeat(const char *text);
/* In columns: bytes of UTF-8 that continue a character count nothing. */
size_t text_width(const char *text);
char *text_replace(const char *text, const char *from, const char *to);

/* `[...]` in want stands for any text. */
bool text_matches(const char *want, const char *got);
/* A line `| [...]` stands for any number of lines of stdout, `! [...]`
 * likewise. Lines `~ TEXT` are among others, which do not count. */
bool text_match(char *const *want, int wants, char *const *got, int gots);

#endif
