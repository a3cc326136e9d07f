/* Exit codes and output are those of plugins for Nagios and the like: a line
 * that sums up, with performance data, then one for each lock, the worst first
 * (Monitoring Plugins Development Guidelines); or the same as one line of JSON.
 */
#include "admin/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/look.h"
#include "admin/search.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "base/row.h"

/* By their exit codes. */
enum check_state { CHECK_FINE, CHECK_FAILED, CHECK_OVERDUE, CHECK_UNKNOWN };
enum { CHECK_STATES = CHECK_UNKNOWN + 1, RUNS_SEEN = 11 };

struct check_lock {
	enum check_state state;
	char *name;
	char *about;
};

struct check {
	struct client *client;
	struct search search;
	struct check_lock *locks;
	size_t count;
	size_t states[CHECK_STATES]; /* so many locks in each */
};

static void
add_check(struct check *check, const char *name, enum check_state state,
    char *about)
{
	size_t size = (check->count + 1) * sizeof(*check->locks);

	check->locks = mem_realloc(check->locks, size);
	check->locks[check->count++] =
	    (struct check_lock){state, mem_strdup(name), about};
	check->states[state]++;
}

/* --- what is known of a lock ---------------------------------------------- */

/* "status 3 (job_ended) on web-3 at 03:00:04" */
static char *
describe_end(const struct look *look, const struct look_run *run)
{
	bool has_end = run->end_ms > 0;
	int64_t at_ms = has_end ? run->end_ms : run->start_ms;
	char at[32], status[72] = "no end recorded of a run";

	look_describe_time(at_ms, look->now_ms, at, sizeof(at));
	if (has_end)
		snprintf(status, sizeof(status), "status %d%s%s%s", run->status,
		    *run->reason != '\0' ? " (" : "", run->reason,
		    *run->reason != '\0' ? ")" : "");
	return mem_printf("%s on %s %s %s", status, run->who.host,
	    has_end ? "at" : "since", at);
}

/* failed: the run that has, or NULL. */
static char *
describe_lock(const struct look *look, enum look_due due,
    const struct look_run *failed)
{
	const struct look_run *success = &look->success;
	bool known = success->end_ms > 0, overdue = due == LOOK_DUE_OVERDUE;
	bool unknown = due == LOOK_DUE_UNKNOWN;
	char *end = failed != NULL ? describe_end(look, failed) : NULL;
	char ago[64] = "", every[32], *text;

	if (known)
		look_describe_ago(success->end_ms, look->now_ms, ago,
		    sizeof(ago));
	duration_describe_age(look->expect_ms, every, sizeof(every));
	text = mem_printf("%s%s%s%s%s%s%s%s%s%s%s",
	    known ? "last success " : "no success is known", ago,
	    known ? " on " : "", known ? success->who.host : "",
	    !known && unknown ? ", and the time from which one is due lies in "
				"the future"
			      : "",
	    unknown ? ", by the clock of the server" : "",
	    overdue ? ", due every " : "", overdue ? every : "",
	    end != NULL ? "; last run: " : "", end != NULL ? end : "",
	    look->run_count > 0 && look_run_is_on(look->runs) ? "; running"
							      : "");
	free(end);
	return text;
}

/* Adds what is known of the runs of a lock; false if that is nothing. A history
 * that is damaged or withheld may hide them. */
static bool
check_look(struct check *check, const struct look *look)
{
	const char *name = client_name_of(check->client, look);
	const struct look_problem *problem = look_history_problem(look);
	const struct look_run *over = look_last_over(look);
	bool failed = over != NULL && look_run_has_failed(over);
	int64_t overdue_ms;
	enum look_due due = look_due(look, &overdue_ms);

	if (problem != NULL)
		add_check(check, name, CHECK_UNKNOWN,
		    mem_strdup(problem->is_denied
				   ? "its history may not be read"
				   : "its history is damaged"));
	else if (look_has_history(look))
		add_check(check, name,
		    due == LOOK_DUE_OVERDUE   ? CHECK_OVERDUE
		    : due == LOOK_DUE_UNKNOWN ? CHECK_UNKNOWN
		    : failed		      ? CHECK_FAILED
					      : CHECK_FINE,
		    describe_lock(look, due, failed ? over : NULL));
	return problem != NULL || look_has_history(look);
}

/* --- locks by name ---------------------------------------------------------
 */

static int
check_names(struct check *check)
{
	static const struct query_limits limits = {1, 0, RUNS_SEEN};
	struct client *client = check->client;
	int result = EXITCODE_OK;

	for (size_t i = 0; i < client->opts->key_count; i++) {
		const char *key = client->opts->keys[i].key;
		const char *name = client->opts->keys[i].name;

		if (i > 0) { /* in a cluster it may lie elsewhere */
			enquiry_end(&client->enquiry);
			enquiry_begin(&client->enquiry, client->endpoint, key);
		}
		if (client_look(client, key, &limits) != EXITCODE_OK) {
			add_check(check, name, CHECK_UNKNOWN,
			    mem_strdup(client->error));
			result = EXITCODE_UNAVAILABLE;
		} else if (!check_look(check, &client->look)) {
			add_check(check, name, CHECK_OVERDUE,
			    mem_strdup("no run is known"));
		}
	}
	return result;
}

/* --- all, or those that match a glob ---------------------------------------
 */

static void
on_check_lock(void *arg, const struct look *look)
{
	const struct check *check = arg;
	const struct opts *opts = check->client->opts;

	for (size_t i = 0; i < opts->key_count; i++)
		if (strcmp(opts->keys[i].key, look->keys->lock) == 0)
			return;
	check_look(arg, look);
}

static int
check_globs(struct check *check)
{
	const struct opts *opts = check->client->opts;

	if (*opts->globs == NULL && opts->key_count > 0)
		return EXITCODE_OK;
	if (opts->key_count > 0) {
		enquiry_end(&check->client->enquiry);
		enquiry_begin(&check->client->enquiry, check->client->endpoint,
		    NULL);
	}
	check->search = (struct search){.client = check->client,
	    .on_lock = on_check_lock,
	    .runs = RUNS_SEEN,
	    .arg = check};
	return search_run(&check->search);
}

/* --- output -----------------------------------------------------------------
 */

static int
compare_checks(const void *one, const void *other)
{
	const struct check_lock *a = one, *b = other;

	return a->state != b->state ? (int)b->state - (int)a->state
				    : strcmp(a->name, b->name);
}

/* A lock that is known to be overdue outweighs one that is unknown. */
static enum check_state
sum_up(const struct check *check, int result)
{
	if (check->states[CHECK_OVERDUE] > 0)
		return CHECK_OVERDUE;
	if (result != EXITCODE_OK || check->states[CHECK_UNKNOWN] > 0 ||
	    check->count == 0)
		return CHECK_UNKNOWN;
	return check->states[CHECK_FAILED] > 0 ? CHECK_FAILED : CHECK_FINE;
}

/* A vertical bar would begin performance data. In a name in quotes nothing else
 * is written so: there a backslash is doubled. */
static void
put_text(const char *escaped)
{
	for (; *escaped != '\0'; escaped++)
		if (*escaped == '|')
			fputs("\\x7c", stdout);
		else
			putchar(*escaped);
}

static const char levels[CHECK_STATES][12] = {"OK", "WARNING", "CRITICAL",
    "UNKNOWN"};
static const char words[CHECK_STATES][12] = {"ok", "failed", "overdue",
    "unknown"};

static void
print_json(const struct check *check, enum check_state state, int result)
{
	const size_t *states = check->states;
	struct row row = {.out = stdout};

	row_open(&row, "", '{');
	row_number(&row, NULL, "status", true, state);
	row_string(&row, "level", levels[state]);
	row_number(&row, NULL, "overdue", true, (int64_t)states[CHECK_OVERDUE]);
	row_number(&row, NULL, "failed", true, (int64_t)states[CHECK_FAILED]);
	row_number(&row, NULL, "ok", true, (int64_t)states[CHECK_FINE]);
	row_number(&row, NULL, "unknown", true, (int64_t)states[CHECK_UNKNOWN]);
	row_bool(&row, "complete", result == EXITCODE_OK);
	row_open(&row, "locks", '[');
	for (size_t i = 0; i < check->count; i++) {
		const struct check_lock *lock = &check->locks[i];

		row_open(&row, "", '{');
		row_string(&row, "name", lock->name);
		row_string(&row, "state", words[lock->state]);
		row_string(&row, "text", lock->about);
		row_close(&row, '}');
	}
	row_close(&row, ']');
	row_close(&row, '}');
	putchar('\n');
}

static void
print_check(const struct check *check, enum check_state state, int result)
{
	const size_t *states = check->states;

	printf("RLOCKRUN %s - %zu overdue, %zu failed, %zu ok", levels[state],
	    states[CHECK_OVERDUE], states[CHECK_FAILED], states[CHECK_FINE]);
	if (states[CHECK_UNKNOWN] > 0)
		printf(", %zu unknown", states[CHECK_UNKNOWN]);
	if (result != EXITCODE_OK)
		printf("; not all could be asked");
	else if (check->count == 0)
		printf("; no such lock is known");
	printf(" | ok=%zu failed=%zu overdue=%zu unknown=%zu\n",
	    states[CHECK_FINE], states[CHECK_FAILED], states[CHECK_OVERDUE],
	    states[CHECK_UNKNOWN]);
	for (size_t i = 0; i < check->count; i++) {
		const struct check_lock *lock = &check->locks[i];
		char *about = escape_text(lock->about, ESCAPE_TEXT);
		char name[4 * OPTS_KEY_MAX + 3];

		escape_quote(lock->name, name, sizeof(name));
		printf("%-7s  ", words[lock->state]);
		put_text(name);
		printf(": ");
		put_text(about);
		putchar('\n');
		free(about);
	}
}

int
check_show(struct client *client)
{
	struct check *check = mem_alloc(sizeof(*check));
	enum check_state state;
	int result, found;

	check->client = client;
	result = check_names(check);
	found = check_globs(check);
	if (result == EXITCODE_OK)
		result = found;
	state = sum_up(check, result);
	if (check->count > 0)
		qsort(check->locks, check->count, sizeof(*check->locks),
		    compare_checks);
	if (client->opts->json && !client->opts->quiet)
		print_json(check, state, result);
	else if (!client->opts->quiet)
		print_check(check, state, result);
	if (client_check_output(client) != EXITCODE_OK)
		state = CHECK_UNKNOWN;
	for (size_t i = 0; i < check->count; i++) {
		free(check->locks[i].name);
		free(check->locks[i].about);
	}
	free(check->locks);
	free(check);
	return (int)state;
}
