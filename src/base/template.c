#include "base/template.h"

#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 32 };

void
template_fill(const char *template, template_value *value, void *arg,
    char *text, size_t size)
{
	size_t length = 0, part = 0;
	bool unknown = false, many = false, chooses = false, skips = false;

	text[0] = '\0';
	for (const char *at = template; *at != '\0'; at++) {
		char word[WORD_SIZE] = {*at};
		const char *piece = word;

		if (*at == '[') {
			part = length;
			unknown = false;
		} else if (*at == ']') {
			length = unknown ? part : length;
			text[length] = '\0';
		} else if (*at == '<') {
			chooses = true;
			skips = many;
		} else if (chooses && *at == '|') {
			skips = !skips;
		} else if (chooses && *at == '>') {
			chooses = skips = false;
		} else if (!skips) {
			if (*at == '{') {
				size_t count = strcspn(++at, "}");

				snprintf(word, sizeof(word), "%.*s", (int)count,
				    at);
				many = true;
				piece = value(arg, word, &many);
				unknown = unknown || *piece == '\0';
				many = many && strcmp(piece, "1") != 0;
				at += count;
			}
			snprintf(text + length, size - length, "%s", piece);
			length += strlen(text + length);
		}
	}
}
