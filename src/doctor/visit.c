#include "doctor/visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doctor/rows.h"
#include "redis/reply.h"

/* --- failures ---------------------------------------------------------- */

void
visit_put_failure(char **facts, const struct question *question)
{
	bool silent = question->outcome == QUESTION_SILENT;
	char *text = mem_strdup(question->error), *open = strrchr(text, '(');
	const char *advice = NULL;

	if (!silent) {
		advice = reply_advise(text);
		rows_put(facts, "refusal:the server refuses us: \n");
	} else if (open != NULL && open != text && open[-1] == ' ' &&
		   text[strlen(text) - 1] == ')') {
		/* What a message of the connection advises stands at its end.
		 */
		text[strlen(text) - 1] = '\0';
		open[-1] = '\0';
		advice = open + 1;
	}
	rows_put(facts, "failure:%s\nadvice:%s\n", text,
	    advice != NULL ? advice : "");
	free(text);
}

void
visit_put_unknown(char **facts, const char *what, const char *error,
    const char *rule)
{
	if (error != NULL)
		rows_put(facts, "no_%s:%.256s\n", what, error);
	if (error != NULL && reply_is(error, "NOPERM"))
		rows_put(facts, "permit_%s:permit %s\nsee_%s:permit %s\n", what,
		    rule, what, rule);
	rows_put(facts, "see_%s:" ROWS_SEE "\n", what);
}

void
visit_judge_failure(struct visit *visit, const struct question *question)
{
	char *facts = NULL;

	rows_put_flag(&facts, "is_replica", visit->is_replica);
	rows_put_flag(&facts, "refused",
	    question->outcome == QUESTION_REFUSED &&
		question->verdict != VERDICT_RETRY);
	visit_put_failure(&facts, question);
	rows_judge("failure", facts, visit->findings);
	free(facts);
	visit->is_over = true;
}

/* --- questions --------------------------------------------------------- */

static void
forget_all(struct visit *visit)
{
	enquiry_forget(visit->questions, visit->count);
	visit->count = 0;
	visit->is_asked = false;
}

void
visit_add(struct visit *visit, const char *prefix, const char *words)
{
	struct visit_words *added;
	const char **argv;
	char *rest;

	if (visit->is_asked)
		forget_all(visit);
	added = &visit->words[visit->count];
	argv = added->argv;
	rest = added->text;
	snprintf(added->text, sizeof(added->text), "%s%s", prefix, words);
	while (rest != NULL) {
		const char *word = strsep(&rest, "|");

		*argv++ = strcmp(word, VISIT_KEY) == 0	  ? visit->key
			  : strcmp(word, VISIT_USER) == 0 ? visit->user
							  : word;
	}
	*argv = NULL;
	visit->questions[visit->count++] =
	    (struct question){.argv = added->argv};
}

const struct question *
visit_ask(struct visit *visit)
{
	const struct question *failed = NULL;

	if (!visit->is_over)
		failed = enquiry_ask(&visit->enquiry, visit->questions,
		    visit->count);
	visit->is_asked = true;
	if (failed != NULL)
		visit_judge_failure(visit, failed);
	return visit->questions;
}

const struct question *
visit_ask_one(struct visit *visit, const char *words)
{
	visit_add(visit, "", words);
	return visit_ask(visit);
}

void
visit_end(struct visit *visit)
{
	forget_all(visit);
	free(visit->facts);
	visit->facts = NULL;
	enquiry_end(&visit->enquiry);
}
