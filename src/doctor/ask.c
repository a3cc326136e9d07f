#include "doctor/ask.h"

#include <stdio.h>
#include <string.h>

void
ask_add(struct asks *asks, const char *prefix, const char *words)
{
	struct ask_words *added = &asks->words[asks->count];
	const char **argv = added->argv;
	char *rest = added->text;

	snprintf(added->text, sizeof(added->text), "%s%s", prefix, words);
	while (rest != NULL) {
		const char *word = strsep(&rest, "|");

		*argv++ = strcmp(word, ASK_KEY) == 0	? asks->key
			  : strcmp(word, ASK_USER) == 0 ? asks->user
							: word;
	}
	*argv = NULL;
	asks->questions[asks->count++] = (struct question){.argv = added->argv};
}

void
ask_forget(struct asks *asks)
{
	enquiry_forget(asks->questions, asks->count);
	asks->count = 0;
}
