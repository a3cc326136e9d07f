/* Questions to a server, written as words with '|' between them. */
#ifndef ASK_H
#define ASK_H

#include "enquiry/enquiry.h"

/* Stand in the words for a key and for a user. */
#define ASK_KEY "\001"
#define ASK_USER "\002"

enum { ASK_MOST = 42, ASK_WORDS = 14, ASK_TEXT = 120 };

struct asks {
	/* For the words that are added next. */
	const char *key, *user;
	size_t count;
	struct question questions[ASK_MOST];
	struct ask_words {
		char text[ASK_TEXT];
		const char *argv[ASK_WORDS];
	} words[ASK_MOST];
};

/* Adds a question: the words of the prefix, then the others. */
void ask_add(struct asks *asks, const char *prefix, const char *words);
/* Frees what came back, and all questions. */
void ask_forget(struct asks *asks);

#endif
