#include "admin/lock_row.h"

#include <stdlib.h>
#include <string.h>

#include "admin/look.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/mem.h"

static void
put_age(struct row *row, const char *title, int64_t ms)
{
	char age[32];

	duration_describe_age(ms, age, sizeof(age));
	row_words(row, title, "%s", age);
}

/* All null for another client. */
static void
put_who(struct row *row, const char *title, const struct holder *who)
{
	row_text(row, title, "host", who->host);
	row_digits(row, holder_has_end(who) ? NULL : "PID", "pid", who->pid);
	row_text(row, "USER", "user", who->user);
	row_text(row, "LABEL", "label", who->label);
}

/* --- holders and waiters -------------------------------------------------- */

static void
put_holder(struct row *row, const struct look_holder *holder)
{
	const struct holder *who = &holder->who;
	const struct {
		const char *name;
		bool is;
	} flags[] = {{"ended", who->state == HOLDER_ENDED},
	    {"hold", holder_has_end(who)},
	    {"paused", who->state == HOLDER_PAUSED},
	    {"replaceable", who->replaceable}};

	row_open(row, "", '{');
	row_string(row, "token", holder->token);
	row_number(row, NULL, "ttl_ms", who->left_ms >= 0, who->left_ms);
	row_digits(row, NULL, "fence", holder->fence);
	put_who(row, "HOLDER", who);
	row_text(row, NULL, "command", holder->command);
	row_number(row, NULL, "since_ms", holder->since_ms > 0,
	    holder->since_ms);
	row_number(row, NULL, "held_ms", who->held_ms >= 0, who->held_ms);
	if (who->held_ms >= 0)
		put_age(row, "HELD", who->held_ms);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (holder_is_known(who))
			row_bool(row, flags[i].name, flags[i].is);
		else
			row_null(row, flags[i].name);
	row_close(row, '}');
}

static void
put_holders(struct row *row, const struct look *look)
{
	int64_t unused = look->permits - look->count;

	row_text(row, NULL, "kind",
	    look->kind == '\0'	? NULL
	    : look->kind == 'x' ? "exclusive"
	    : look->kind == 's' ? "shared"
				: "permits");
	row_number(row, NULL, "count", true, look->count);
	row_number(row, NULL, "permits", look->permits > 0, look->permits);
	row_number(row, NULL, "free", look->permits > 0,
	    unused > 0 ? unused : 0);
	row_open(row, "holders", '[');
	for (size_t i = 0; i < look->listed; i++)
		put_holder(row, &look->holders[i]);
	row_close(row, ']');
}

static void
put_queue(struct row *row, const struct look *look)
{
	row_open(row, "queue", '[');
	for (size_t i = 0; i < look->queued; i++) {
		const struct look_waiter *waiter = &look->queue[i];

		row_open(row, "", '{');
		row_number(row, NULL, "place", true, (int64_t)i + 1);
		row_string(row, "host", waiter->host);
		row_digits(row, NULL, "pid", waiter->pid);
		row_string(row, "id", waiter->id);
		row_number(row, NULL, "waiting_ms", true, waiter->waiting_ms);
		row_close(row, '}');
	}
	row_close(row, ']');
}

/* --- the history ---------------------------------------------------------- */

void
lock_row_put_run(struct row *row, const char *name, const struct look_run *run,
    int64_t now_ms)
{
	bool is_on = look_run_is_on(run), has_end = run->end_ms > 0;
	char start[48];

	row_open(row, name, '{');
	row_bool(row, "running", is_on);
	put_who(row, "HOST", &run->who);
	look_describe_time(run->start_ms, now_ms, start, sizeof(start));
	row_words(row, "STARTED", "%s", start);
	row_number(row, NULL, "start_ms", true, run->start_ms);
	if (is_on || has_end)
		put_age(row, "TOOK",
		    (is_on ? now_ms : run->end_ms) - run->start_ms);
	row_number(row, NULL, "end_ms", has_end, run->end_ms);
	row_number(row, "STATUS", "status", run->status != -1, run->status);
	row_text(row, "REASON", "reason", run->reason);
	if (!has_end)
		row_words(row, "REASON", "%s",
		    is_on ? "running" : "no end recorded");
	row_number(row, NULL, "waited_ms", run->waited_ms >= 0, run->waited_ms);
	if (run->waited_ms >= 0)
		put_age(row, "WAITED", run->waited_ms);
	row_digits(row, "FENCE", "fence", run->fence);
	row_close(row, '}');
}

/* Whom it names is called so, with a time of that name: null if that is nobody.
 */
static void
put_note(struct row *row, const char *name, const struct look_note *note,
    const char *by, const char *time)
{
	/* What `rlockrun-locks(7)` lists as reasons. */
	static const char reasons[NOTED_COUNT][12] = {[NOTED_BUSY] = "busy",
	    [NOTED_DUE] = "not_due",
	    [NOTED_ID] = "same_id",
	    [NOTED_OVERTAKEN] = "overtaken",
	    [NOTED_PAUSED] = "paused",
	    [NOTED_WAIT] = "wait_over"};

	row_open(row, name, '{');
	if (*reasons[note->what] != '\0')
		row_string(row, "reason", reasons[note->what]);
	row_number(row, NULL, "at_ms", true, note->at_ms);
	put_who(row, NULL, &note->who);
	if (note->by.state == HOLDER_UNSEEN) {
		row_null(row, by);
	} else {
		row_open(row, by, '{');
		row_digits(row, NULL, "fence", note->by_fence);
		put_who(row, NULL, &note->by);
		row_number(row, NULL, time, note->by_at_ms > 0, note->by_at_ms);
		row_close(row, '}');
	}
	row_close(row, '}');
}

static void
put_notes(struct row *row, const struct look *look)
{
	static const struct {
		char name[12];
		enum look_noted what;
	} acts[] = {{"last_pause", NOTED_PAUSE}, {"last_order", NOTED_ORDER},
	    {"last_force", NOTED_FORCE}};

	row_open(row, "skips", '[');
	for (size_t i = 0; i < look->note_count; i++) {
		const struct look_note *note = &look->notes[i];
		bool is_due = note->what == NOTED_DUE || note->what == NOTED_ID;

		if (note->what >= NOTED_BUSY)
			put_note(row, "", note, "by",
			    is_due ? "end_ms" : "start_ms");
	}
	row_close(row, ']');
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
		size_t at = 0;

		while (at < look->note_count &&
		       look->notes[at].what != acts[i].what)
			at++;
		if (at < look->note_count)
			put_note(row, acts[i].name, &look->notes[at], "holder",
			    "start_ms");
		else
			row_null(row, acts[i].name);
	}
}

static void
put_history(struct row *row, const struct look *look)
{
	const struct look_run *success = &look->success;

	if (look->run_count > 0)
		lock_row_put_run(row, "last_run", look->runs, look->now_ms);
	else
		row_null(row, "last_run");
	if (success->end_ms > 0) {
		row_open(row, "last_success", '{');
		row_number(row, NULL, "end_ms", true, success->end_ms);
		row_string(row, "host", success->who.host);
		row_digits(row, NULL, "fence", success->fence);
		row_close(row, '}');
	} else {
		row_null(row, "last_success");
	}
	row_number(row, NULL, "expect_ms", look->expect_ms > 0,
	    look->expect_ms);
	row_number(row, NULL, "expect_since_ms",
	    look->expect_ms > 0 && look->expect_since_ms > 0,
	    look->expect_since_ms);
	put_notes(row, look);
}

/* --- a lock --------------------------------------------------------------- */

void
lock_row_put(struct row *row, const struct look *look,
    const struct client *client)
{
	static const char hows[][8] = {[HOLDER_ENDED] = " kept",
	    [HOLDER_HOLD] = " hold",
	    [HOLDER_PAUSED] = " paused"};
	const struct look_holder *oldest = look_oldest(look);
	bool all = client->opts->all;
	char kind[64], left[32];

	look_describe_kind(look, kind, sizeof(kind));
	look_describe_left(look->left_ms, left, sizeof(left));
	row_words(row, "NAME", "%s", client_name_of(client, look));
	row_words(row, "KIND", "%s", kind);
	row_words(row, "STATE", "%s", look->kind != '\0' ? kind : "free");
	row_words(row, "TTL", "%s%s", left,
	    oldest != NULL ? hows[oldest->who.state] : "");
	row_words(row, "WAITING", "?");
	row_number(row, "WAITING", NULL, look->waiting >= 0, look->waiting);
	if (look_is_ahead(look->success.end_ms, look->now_ms))
		row_words(row, "SUCCESS", "future");
	else if (look->success.end_ms > 0)
		put_age(row, "SUCCESS", look->now_ms - look->success.end_ms);
	if (all && look->run_count > 0) {
		lock_row_put_run(row, NULL, look->runs, look->now_ms);
	} else if (!all && oldest != NULL) {
		put_holder(row, oldest);
		row_digits(row, "FENCE", NULL, look->fence);
	} else if (!all) {
		row_words(row, "HOLDER", "(another client)");
	}
}

void
lock_row_print_json(const struct look *look, const struct client *client)
{
	struct row json = {.out = stdout}, *row = &json;
	const struct opts *opts = client->opts;
	enum opts_action action = opts->action;

	row_open(row, "", '{');
	row_bool(row, "held", look->kind != '\0');
	row_string(row, "name", client_name_of(client, look));
	row_string(row, "key", look->keys->lock);
	row_string(row, "server", way_label(client->enquiry.server));
	row_number(row, NULL, "db", true, client->endpoint->db);
	row_string(row, "prefix", opts->prefix);
	row_number(row, NULL, "ttl_ms", look->left_ms >= 0, look->left_ms);
	row_digits(row, NULL, "fence", look->fence);
	put_holders(row, look);
	row_number(row, NULL, "nested", true, look->nested);
	row_bool(row, "outer_ended", look->released);
	row_number(row, NULL, "waiting", look->waiting >= 0, look->waiting);
	if (action == OPTS_STATUS)
		put_queue(row, look);
	if (action == OPTS_STATUS || action == OPTS_HISTORY || opts->all)
		put_history(row, look);
	if (action == OPTS_HISTORY) {
		row_open(row, "runs", '[');
		for (size_t i = 0; i < look->run_count; i++)
			lock_row_put_run(row, "", &look->runs[i], look->now_ms);
		row_close(row, ']');
	}
	row_open(row, "problems", '[');
	for (size_t i = 0; i < look->problem_count; i++) {
		char *text = mem_printf("%s: %s", look->problems[i].key,
		    look->problems[i].error);

		row_string(row, "", text);
		free(text);
	}
	row_close(row, ']');
	row_close(row, '}');
	putchar('\n');
}

void
lock_row_print_act(struct client *client, const char *word, const char *key,
    bool is, int64_t left_ms)
{
	const char *name = key + strlen(client->opts->prefix);
	struct row row = {.out = stdout};
	char quoted[(size_t)OPTS_KEY_MAX * 4 + sizeof("\"\"")], end[32];

	if (client->opts->json) {
		row_open(&row, "", '{');
		row_bool(&row, word, is);
		row_string(&row, "name", name);
		row_string(&row, "key", key);
		row_string(&row, "server", way_label(client->enquiry.server));
		if (client->opts->action == OPTS_PAUSE)
			row_number(&row, NULL, "ttl_ms", left_ms >= 0, left_ms);
		row_close(&row, '}');
		putchar('\n');
	} else if (is && !client->opts->quiet) {
		escape_quote(name, quoted, sizeof(quoted));
		duration_describe_time(left_ms, end, sizeof(end));
		printf("%s: %s%s%s\n", quoted, word,
		    left_ms >= 0 ? " until " : "", left_ms >= 0 ? end : "");
	}
	client_note_output(client);
}
