#include "doctor/doctor_write.h"

#include "base/exitcode.h"
#include "redis/reply.h"

/* Since Redis 7 a script with a first line of flags that do not exclude writes
 * is refused at its start when a write would be. So nothing is written. */
#define SCRIPT "#!lua\nreturn 1"
/* An older one has to write, after TIME as our scripts do. */
#define OLD_SCRIPT                                                 \
	"redis.pcall('TIME') return redis.pcall('SET',KEYS[1],''," \
	"'PX',1)"

static void
add_refusal(const struct doctor_visit *visit, const char *error)
{
	const char *advice = reply_advise(error);

	findings_add_error(visit->findings, EXITCODE_UNAVAILABLE, "writes",
	    "the server refuses to write: %.256s", reply_explain(error));
	if (advice != NULL)
		findings_set_remedy(visit->findings, "%s", advice);
}

/* What the access rules deny, another check reports. */
static void
judge(const struct doctor_visit *visit, const struct doctor_question *question,
    bool by_script)
{
	int64_t number;

	if (question->outcome == DOCTOR_FAILED) {
		if (reply_judge(REPLY_ACQUIRING, question->error) !=
		    REPLY_REFUSED)
			add_refusal(visit, question->error);
	} else if (by_script &&
		   !(value_integer(question->value, &number) && number == 1)) {
		findings_add_error(visit->findings, EXITCODE_UNAVAILABLE,
		    "writes", "the server does not return what a script does");
		findings_set_remedy(visit->findings,
		    "check the address: this may be no Redis server");
	}
}

static bool
is_unknown(const struct doctor_question *question)
{
	return question->outcome == DOCTOR_FAILED &&
	       reply_is(question->error, "ERR Error compiling script");
}

/* The key must belong to this node of a cluster; NULL if it is none. */
static bool
check(struct doctor_visit *visit, const char *scratch, const char *key)
{
	struct doctor_question questions[] = {
	    {.argv = {"EVAL", SCRIPT, key != NULL ? "1" : "0", key}},
	    {.argv = {"EVAL", OLD_SCRIPT, "1", scratch}}};
	struct doctor_question *question = &questions[0];
	bool answered = doctor_visit_ask(visit, question, 1);
	bool old = answered && is_unknown(question);

	if (old && scratch != NULL) {
		question = &questions[1];
		answered = doctor_visit_ask(visit, question, 1);
	}
	if (!answered)
		doctor_visit_report_end(visit, question);
	else if (!old || scratch != NULL)
		judge(visit, question, !old);
	doctor_visit_forget(questions, 2);
	return answered;
}

bool
doctor_write_check(struct doctor_visit *visit, const char *scratch,
    bool is_node)
{
	const struct opts *opts = visit->opts;
	size_t before = visit->findings->count;

	if (!is_node || opts->key_count == 0)
		return check(visit, scratch, NULL);
	for (size_t i = 0; i < opts->key_count; i++)
		if (!check(visit, scratch, opts->keys[i].key))
			return false;
		else if (visit->findings->count > before)
			break;
	return true;
}
