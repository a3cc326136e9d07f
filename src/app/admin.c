#include "app/admin.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/table.h"
#include "lock/answer.h"
#include "lock/key.h"
#include "lock/look.h"
#include "lock/script.h"
#include "lock/waiter.h"
#include "redis/node.h"
#include "redis/reply.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 1000, TROUBLE_TOLD_MS = 2000 };
enum { ERROR_MAX = 1024 };
/* Pages of SCAN and long queues. */
enum { ANSWER_MAX = 16 << 20, ELEMENTS_MAX = 65536 };
enum { QUEUE_SHOWN = 1000, HOLDERS_SHOWN = 100, HOLDERS_FORCED = 4000 };
/* As many as travel together; a connection keeps track of 16. */
enum { LOOKS_AT_ONCE = 12 };
enum { PAGE = 1000, SEEN_SLOTS = 4096 };

/* Gets a good answer. 0, or -1 when it is none of the command's. */
typedef int take_answer(void *arg, const struct value *value);

struct question {
	struct admin *admin;
	take_answer *take;
	void *arg;
	/* Whether an error is none, or has been told; or NULL. */
	bool (*excuse)(void *arg, const char *error);
};

struct admin {
	const struct opts *opts;
	struct loop loop;
	const struct endpoint *server; /* the one that is acted on */
	struct node *node;
	struct loop_timer timer; /* only wakes the loop */
	size_t unanswered;
	int stdout_error; /* errno */

	/* Of what failed last, since forget_failure. */
	enum exitcode failure; /* EXITCODE_OK: nothing did */
	bool again;	       /* it may go well in a moment */
	char error[ERROR_MAX];
};

struct key_names {
	const char *key; /* with the prefix */
	char *fence, *info, *queue, *alive, *nested;
};

/* --- questions and answers -------------------------------------------- */

static void
forget_failure(struct admin *admin)
{
	admin->failure = EXITCODE_OK;
	admin->again = false;
}

static void
note_failure(struct admin *admin, enum exitcode failure, const char *what,
    const char *label, const char *words)
{
	admin->failure = failure;
	snprintf(admin->error, sizeof(admin->error), "%s %.512s: %.256s", what,
	    label, reply_explain(words));
}

static void
note_error(struct admin *admin, const struct reply *reply)
{
	enum exitcode failure = EXITCODE_UNAVAILABLE;
	const char *what = "error from";

	switch (reply_judge(REPLY_ACQUIRING, reply->error)) {
	case REPLY_RETRY:
	case REPLY_RECONNECT:
		admin->again = true;
		break;
	case REPLY_NOT_A_LOCK:
		failure = EXITCODE_NOT_A_LOCK;
		break;
	case REPLY_REFUSED:
		failure = EXITCODE_REFUSED;
		what = "refused by";
		break;
	case REPLY_LOST:
	case REPLY_REPORT:
		break;
	}
	note_failure(admin, failure, what, reply->label, reply->error);
}

/* Where AUTH or SELECT was refused an answer speaks of another db, perhaps. */
static void
note_refusal(struct admin *admin, const struct reply *reply)
{
	if (reply_judge(REPLY_ACQUIRING, reply->error) == REPLY_RETRY)
		note_error(admin, reply);
	else
		note_failure(admin, EXITCODE_REFUSED, "refused by",
		    reply->label, reply->error);
}

static void
on_answer(void *arg, const struct reply *reply)
{
	struct question *question = arg;
	struct admin *admin = question->admin;

	admin->unanswered--;
	if (reply->kind == REPLY_NO_ACCESS) {
		note_refusal(admin, reply);
	} else if (reply->kind == REPLY_ERROR) {
		if (question->excuse == NULL ||
		    !question->excuse(question->arg, reply->error))
			note_error(admin, reply);
	} else if (reply->value == NULL) {
		admin->failure = EXITCODE_UNAVAILABLE;
		admin->again = !reply->permanent;
		snprintf(admin->error, sizeof(admin->error), "%s",
		    reply->failure);
	} else if (question->take(question->arg, reply->value) == -1) {
		note_failure(admin, EXITCODE_UNAVAILABLE,
		    "unexpected answer from", reply->label,
		    "not that of our command");
	}
}

/* argv ends with NULL. The question must last until its answer. */
static void
send_command(struct admin *admin, const char **argv, struct question *question,
    bool more)
{
	struct conn_command command = {.argv = argv,
	    .deadline = clock_now() + admin->opts->server_timeout_ms,
	    .on_reply = on_answer,
	    .arg = question,
	    .more = more};

	while (argv[command.argc] != NULL)
		command.argc++;
	if (node_send(admin->node, &command) == -1)
		log_die(EXITCODE_RESOURCE, "out of memory");
	admin->unanswered++;
}

static void
turn(struct admin *admin)
{
	if (loop_turn(&admin->loop) == 0)
		return;
	log_warn("cannot wait for events");
	exit(EXITCODE_INTERNAL);
}

static void
await_answers(struct admin *admin)
{
	while (admin->unanswered > 0)
		turn(admin);
}

static void
pause_for(struct admin *admin, int64_t ms)
{
	int64_t until = clock_now() + ms;

	node_drop(admin->node);
	loop_timer_set(&admin->loop, &admin->timer, until);
	while (clock_now() < until)
		turn(admin);
}

/* Asks until there is an answer, for --server-timeout at most: a server that
 * restarts is back in a moment. EXITCODE_OK, or the failure. */
static enum exitcode
ask(struct admin *admin, const char **argv, take_answer *take, void *arg)
{
	struct question question = {admin, take, arg, NULL};
	int64_t began_at = clock_now();
	int64_t give_up_at = began_at + admin->opts->server_timeout_ms;
	int64_t backoff_ms = BACKOFF_MIN_MS;
	bool told = false;

	for (;;) {
		forget_failure(admin);
		send_command(admin, argv, &question, false);
		await_answers(admin);
		if (!admin->again || clock_now() + backoff_ms >= give_up_at)
			return admin->failure;
		if (!told && clock_now() >= began_at + TROUBLE_TOLD_MS) {
			log_warnx("%s; trying again", admin->error);
			told = true;
		}
		pause_for(admin, backoff_ms);
		backoff_ms *= 2;
		if (backoff_ms > BACKOFF_MAX_MS)
			backoff_ms = BACKOFF_MAX_MS;
	}
}

static int
tell_failure(const struct admin *admin)
{
	const char *name = admin->opts->name;

	if (name == NULL)
		log_warnx("%s", admin->error);
	else if (admin->failure == EXITCODE_NOT_A_LOCK)
		log_warnx("%s is not a lock: %s", name, admin->error);
	else
		log_warnx("%s: %s", name, admin->error);
	return (int)admin->failure;
}

/* To be called soon after what was printed: what has failed before anything
 * else could is the reason. */
static void
note_stdout(struct admin *admin)
{
	if (ferror(stdout) && admin->stdout_error == 0)
		admin->stdout_error = errno;
}

static int
check_stdout(struct admin *admin)
{
	fflush(stdout);
	note_stdout(admin);
	if (admin->stdout_error == 0)
		return EXITCODE_OK;
	errno = admin->stdout_error;
	log_warn("cannot write to stdout");
	return EXITCODE_RESOURCE;
}

/* --- the keys of a lock ----------------------------------------------- */

static char *
helper(const char *key, char letter)
{
	char *name = key_helper(key, letter);

	if (name == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return name;
}

static void
key_names_init(struct key_names *names, const char *key)
{
	*names = (struct key_names){.key = key,
	    .fence = helper(key, 'f'),
	    .info = helper(key, 'i'),
	    .queue = helper(key, 'q'),
	    .alive = helper(key, 'l'),
	    .nested = helper(key, 'n')};
}

static void
key_names_fini(struct key_names *names)
{
	free(names->fence);
	free(names->info);
	free(names->queue);
	free(names->alive);
	free(names->nested);
}

/* --- --status --------------------------------------------------------- */

static int
take_look(void *arg, const struct value *reply)
{
	return answer_look(arg, reply) ? 0 : -1;
}

static bool
has_helpers(const struct admin *admin, const char *key)
{
	return !node_is_clustered(admin->node) || key_is_placeable(key);
}

/* EXITCODE_OK and *look filled in, or the failure. */
static enum exitcode
look_at(struct admin *admin, const struct key_names *names, int holders,
    struct look *look)
{
	char most[16];
	char limit[16];
	const char *argv[] = {"EVAL", script_look, "6", names->key,
	    names->fence, names->info, names->queue, names->alive,
	    names->nested, most, limit, NULL};
	const char *alone[] = {"EVAL", script_look, "1", names->key, most,
	    limit, NULL};

	snprintf(most, sizeof(most), "%d", holders);
	snprintf(limit, sizeof(limit), "%d", QUEUE_SHOWN);
	return ask(admin, has_helpers(admin, names->key) ? argv : alone,
	    take_look, look);
}

static void
print_json(const struct admin *admin, const struct look *look, const char *name,
    const char *key)
{
	const struct look_subject subject = {.name = name,
	    .key = key,
	    .server = node_label(admin->node)};

	look_print_json(look, &subject, admin->opts->action == OPTS_STATUS);
}

static int
show_status(struct admin *admin)
{
	const struct opts *opts = admin->opts;
	struct key_names names;
	struct look look = {.count = 0};
	enum exitcode failure;

	key_names_init(&names, opts->keys[0].key);
	failure = look_at(admin, &names, HOLDERS_SHOWN, &look);
	key_names_fini(&names);
	if (failure != EXITCODE_OK)
		return tell_failure(admin);
	if (opts->json)
		print_json(admin, &look, opts->name, opts->keys[0].key);
	else
		look_print(&look, opts->name);
	for (size_t i = 0; i < look.problem_count && !opts->json; i++)
		log_warnx("%s: damaged: %s", opts->name, look.problems[i]);
	look_fini(&look);
	return check_stdout(admin);
}

/* --- --list ----------------------------------------------------------- */

/* SCAN may tell a key twice where the server's table shrinks meanwhile, the
 * second time soon after the first: so what was shown lately is kept in mind,
 * and no more. */
struct list {
	struct admin *admin;
	struct table table;
	char *cursor;
	char **found; /* keys of this page, NULL-terminated */
	char *seen[SEEN_SLOTS];
	bool incomplete;
	/* Of a cluster: */
	struct cluster_node *primaries;
	int primary_count;
};

/* One of those that are asked about together. */
struct list_item {
	struct list *list;
	struct question question;
	char *key;
	bool by_record; /* found by its holder's record, not by its queue */
	struct key_names names;
};

static bool
seen_lately(struct list *list, const char *key)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	char **slot;

	for (const char *byte = key; *byte != '\0'; byte++)
		hash = (hash ^ (unsigned char)*byte) * UINT64_C(1099511628211);
	slot = &list->seen[hash % SEEN_SLOTS];
	if (*slot != NULL && strcmp(*slot, key) == 0)
		return true;
	free(*slot);
	*slot = mem_strdup(key);
	return false;
}

static const char *
or_dash(const char *text)
{
	return *text != '\0' ? text : "-";
}

static void
add_row(struct list *list, const struct look *look, const char *name)
{
	const struct look_holder *oldest = look_oldest(look);
	char kind[64], age[32] = "-", left[48], waiting[24] = "?";
	const char *cells[] = {name, kind, "(another client)", "-", "-", age,
	    left, waiting, or_dash(look->fence)};

	size_t length;

	look_describe_kind(look, kind, sizeof(kind));
	look_describe_left(look->left_ms, left, sizeof(left));
	if (oldest != NULL) {
		cells[2] = or_dash(oldest->who.host);
		cells[3] = or_dash(oldest->who.pid);
		cells[4] = or_dash(oldest->who.user);
		if (oldest->who.held_ms >= 0)
			holder_describe_age(oldest->who.held_ms, age,
			    sizeof(age));
		length = strlen(left);
		if (oldest->who.kept)
			snprintf(left + length, sizeof(left) - length, " kept");
	} else {
		cells[8] = "-"; /* that of an earlier holder */
	}
	if (look->waiting >= 0)
		snprintf(waiting, sizeof(waiting), "%" PRId64, look->waiting);
	table_add(&list->table, cells);
}

/* Nobody is told twice where there are both record and queue. */
static bool
is_wanted(const struct list_item *item, const struct look *look)
{
	int64_t older_than_ms = item->list->admin->opts->older_than_ms;
	const struct look_holder *oldest = look_oldest(look);

	if (look->kind == '\0' || item->by_record != (oldest != NULL))
		return false;
	return older_than_ms == 0 ||
	       (oldest != NULL && oldest->who.held_ms > older_than_ms);
}

static int
take_item(void *arg, const struct value *reply)
{
	struct list_item *item = arg;
	struct list *list = item->list;
	const struct opts *opts = list->admin->opts;
	const char *name = item->key + strlen(opts->prefix);
	struct look look;

	if (!answer_look(&look, reply))
		return -1;
	if (is_wanted(item, &look) && !seen_lately(list, item->key)) {
		if (opts->json)
			print_json(list->admin, &look, name, item->key);
		else
			add_row(list, &look, name);
		note_stdout(list->admin);
	}
	look_fini(&look);
	return 0;
}

/* An empty host is that of the one which says so. */
static bool
is_asked(const struct list *list, const struct cluster_node *node)
{
	for (int i = 0; i < list->primary_count; i++)
		if (list->primaries[i].port == node->port &&
		    (*node->host == '\0' ||
			strcmp(list->primaries[i].host, node->host) == 0))
			return true;
	return false;
}

/* Who has moved away is found where it is now. */
static bool
excuse_move(void *arg, const char *error)
{
	struct list_item *item = arg;
	struct list *list = item->list;
	const struct opts *opts = list->admin->opts;
	enum cluster_redirect said;
	struct cluster_node to;

	if (!list->admin->server->cluster)
		return false;
	said = cluster_redirect(error, &to);
	if (said == CLUSTER_MOVED && is_asked(list, &to))
		return true;
	if (said == CLUSTER_NONE && strncmp(error, "TRYAGAIN", 8) != 0)
		return false;
	if (!seen_lately(list, item->key))
		log_warnx("%s: its slot is on its way to another node",
		    item->key + strlen(opts->prefix));
	list->incomplete = true;
	return true;
}

static void
ask_about(struct list_item *item, bool more)
{
	struct key_names *names = &item->names;
	char most[16];
	const char *argv[] = {"EVAL", script_look, "6", item->key, names->fence,
	    names->info, names->queue, names->alive, names->nested, most, "0",
	    NULL};

	snprintf(most, sizeof(most), "%d", HOLDERS_SHOWN);
	item->question =
	    (struct question){item->list->admin, take_item, item, excuse_move};
	send_command(item->list->admin, argv, &item->question, more);
}

/* A key that has become something else meanwhile is no lock any more. */
static enum exitcode
ask_about_all(struct list_item *items, size_t count)
{
	struct admin *admin = items[0].list->admin;

	forget_failure(admin);
	for (size_t i = 0; i < count; i++)
		ask_about(&items[i], i + 1 < count);
	await_answers(admin);
	for (size_t i = 0; i < count; i++) {
		key_names_fini(&items[i].names);
		free(items[i].key);
	}
	if (admin->failure == EXITCODE_NOT_A_LOCK)
		return EXITCODE_OK;
	return admin->failure;
}

/* The globs are matched as bytes: no locale is set. */
static bool
matches(const struct opts *opts, const char *key)
{
	size_t length = strlen(opts->prefix);

	if (strncmp(key, opts->prefix, length) != 0)
		return false;
	if (*opts->globs == NULL)
		return true;
	for (char **glob = opts->globs; *glob != NULL; glob++)
		if (fnmatch(*glob, key + length, 0) == 0)
			return true;
	return false;
}

static enum exitcode
show_page(struct list *list)
{
	struct list_item items[LOOKS_AT_ONCE];
	size_t count = 0;

	for (char **found = list->found; *found != NULL; found++) {
		char *key = key_of_helper(*found);

		if (key != NULL && matches(list->admin->opts, key)) {
			bool by_record = (*found)[strlen(*found) - 1] == 'i';
			items[count] = (struct list_item){.list = list,
			    .key = key,
			    .by_record = by_record};
			key_names_init(&items[count++].names, key);
		} else {
			free(key);
		}
		if (count == LOOKS_AT_ONCE || (found[1] == NULL && count > 0)) {
			if (ask_about_all(items, count) != EXITCODE_OK)
				return list->admin->failure;
			count = 0;
		}
	}
	return EXITCODE_OK;
}

static void
forget_page(struct list *list)
{
	for (char **found = list->found; found != NULL && *found != NULL;
	     found++)
		free(*found);
	free(list->found);
	list->found = NULL;
}

static int
take_page(void *arg, const struct value *reply)
{
	struct list *list = arg;
	const char *cursor;

	if (!answer_page(&cursor, &list->found, reply))
		return -1;
	free(list->cursor);
	list->cursor = mem_strdup(cursor);
	return 0;
}

/* No titles where there is no server. */
static void
begin_table(struct list *list)
{
	static const char *const titles[] = {"NAME", "KIND", "HOLDER", "PID",
	    "USER", "HELD", "TTL", "WAITING", "FENCE"};

	if (!list->admin->opts->json && list->table.columns == 0)
		table_init(&list->table, titles,
		    sizeof(titles) / sizeof(*titles));
}

static int
list_page(struct list *list)
{
	char size[16];
	const char *argv[] = {"SCAN", list->cursor, "MATCH", "*:rlk*:[iq]",
	    "COUNT", size, NULL};
	enum exitcode failure;

	snprintf(size, sizeof(size), "%d", PAGE);
	failure = ask(list->admin, argv, take_page, list);
	if (failure == EXITCODE_OK) {
		begin_table(list);
		failure = show_page(list);
	}
	forget_page(list);
	if (failure != EXITCODE_OK)
		return tell_failure(list->admin);
	table_print_due(&list->table);
	return check_stdout(list->admin);
}

static int
list_server(struct list *list)
{
	int result;

	list->cursor = mem_strdup("0");
	do
		result = list_page(list);
	while (result == EXITCODE_OK && strcmp(list->cursor, "0") != 0);
	free(list->cursor);
	return result;
}

static int
list_primary(struct list *list, const struct cluster_node *primary)
{
	struct admin *admin = list->admin;
	struct node *any = admin->node;
	char host[CLUSTER_HOST_SIZE];
	char label[CLUSTER_LABEL_SIZE];
	struct endpoint server = *admin->server;
	int result;

	memcpy(host, primary->host, sizeof(host));
	server.cluster = false;
	server.host_count = 0;
	server.host = host;
	server.port = primary->port;
	server.label = label;
	cluster_describe(primary, server.tls, label);
	admin->node = node_new(&admin->loop, &server, NULL);
	if (admin->node == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	node_allow(admin->node, ANSWER_MAX, ELEMENTS_MAX);
	result = list_server(list);
	node_free(admin->node);
	admin->node = any;
	return result;
}

static int
take_primaries(void *arg, const struct value *reply)
{
	struct list *list = arg;

	list->primary_count =
	    node_primaries(list->admin->node, reply, &list->primaries);
	return list->primary_count == -1 ? -1 : 0;
}

/* All that can be listed is. */
static int
list_cluster(struct list *list)
{
	const char *argv[] = {"CLUSTER", "SLOTS", NULL};
	int result = EXITCODE_OK;

	if (ask(list->admin, argv, take_primaries, list) != EXITCODE_OK)
		return tell_failure(list->admin);
	for (int i = 0; i < list->primary_count; i++) {
		int failure = list_primary(list, &list->primaries[i]);
		if (failure != EXITCODE_OK)
			result = failure;
	}
	free(list->primaries);
	return result;
}

static int
show_list(struct admin *admin)
{
	struct list *list = mem_alloc(sizeof(*list));
	int result;

	list->admin = admin;
	result =
	    admin->server->cluster ? list_cluster(list) : list_server(list);
	if (result == EXITCODE_OK && list->incomplete)
		result = EXITCODE_UNAVAILABLE;
	table_print(&list->table);
	if (result == EXITCODE_OK)
		result = check_stdout(admin);
	for (size_t i = 0; i < SEEN_SLOTS; i++)
		free(list->seen[i]);
	free(list);
	return result;
}

/* --- --force-release -------------------------------------------------- */

struct forced {
	bool unfinished; /* nothing is freed yet */
	int64_t freed;
	char *waiters[LIMIT_NOTIFY + 1]; /* to be rung yet, then NULL */
};

static int
take_forced(void *arg, const struct value *reply)
{
	struct forced *forced = arg;
	struct answer_force answer;

	if (!answer_force(&answer, reply))
		return -1;
	forced->unfinished = answer.unfinished;
	forced->freed = answer.freed;
	for (size_t i = 0; i < answer.rings.count && !answer.unfinished; i++)
		forced->waiters[i] = mem_strdup(answer.rings.waiters[i]);
	return 0;
}

static int
take_nothing(void *arg, const struct value *reply)
{
	(void)arg;
	(void)reply;
	return 0;
}

/* The doorbell of the waiter, NULL when that is none. */
static char *
bell_of(const char *key, const char *name)
{
	struct waiter waiter;
	char *bell;

	if (!waiter_parse(&waiter, name))
		return NULL;
	bell = key_bell(key, waiter.token);
	if (bell == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return bell;
}

/* The lock is free already: who isn't rung comes at its heartbeat. */
static void
ring(struct admin *admin, const struct key_names *names, const char *name)
{
	char *bell = bell_of(names->key, name);
	const char *argv[] = {"EVAL", script_notify, "3", names->queue,
	    names->alive, bell, name, NULL};

	if (bell != NULL && ask(admin, argv, take_nothing, NULL) != EXITCODE_OK)
		log_warnx("%s: cannot wake the next: %s", admin->opts->name,
		    admin->error);
	free(bell);
}

/* Of the holder whose token was given, or of all that were seen. */
static enum exitcode
send_force(struct admin *admin, const struct key_names *names,
    const struct look *look, const struct look_holder *only,
    struct forced *forced)
{
	const char *head = look->queued > 0 ? look->queue[0].id : "";
	char *bell = bell_of(names->key, head);
	bool alone = !has_helpers(admin, names->key);
	const char **argv = mem_alloc((look->listed + 12) * sizeof(*argv));
	int64_t give_up_at = clock_now() + admin->opts->server_timeout_ms;
	size_t argc = 0;
	enum exitcode failure;

	argv[argc++] = "EVAL";
	argv[argc++] = script_force;
	argv[argc++] = alone ? "1" : bell != NULL ? "6" : "5";
	argv[argc++] = names->key;
	if (!alone) {
		argv[argc++] = names->info;
		argv[argc++] = names->nested;
		argv[argc++] = names->queue;
		argv[argc++] = names->alive;
	}
	if (bell != NULL)
		argv[argc++] = bell;
	argv[argc++] = bell != NULL ? head : "";
	for (size_t i = 0; i < look->listed; i++)
		if (only == NULL || only == &look->holders[i])
			argv[argc++] = look->holders[i].digest;
	do
		failure = ask(admin, argv, take_forced, forced);
	while (failure == EXITCODE_OK && forced->unfinished &&
	       clock_now() < give_up_at);
	if (failure == EXITCODE_OK && forced->unfinished) {
		failure = EXITCODE_UNAVAILABLE;
		note_failure(admin, failure, "no result in time from",
		    node_label(admin->node),
		    "expired entries are still being removed");
	}
	free(argv);
	free(bell);
	return failure;
}

static void
tell_forced(const struct admin *admin, const struct look *look,
    const struct look_holder *only)
{
	char holder[512];

	if (only != NULL)
		holder_describe(&only->who, holder, sizeof(holder));
	else
		look_describe_holders(look, holder, sizeof(holder));
	log_warnx("%s: released, it was held by %s", admin->opts->name, holder);
	if (only == NULL && (int64_t)look->listed < look->count)
		log_warnx("%s: %" PRId64 " others still have it; release it "
			  "once more",
		    admin->opts->name, look->count - (int64_t)look->listed);
}

static int
take_away(struct admin *admin, const struct key_names *names,
    const struct look *look, const struct look_holder *only)
{
	struct forced forced = {.freed = 0};
	int result = EXITCODE_OK;

	if (send_force(admin, names, look, only, &forced) != EXITCODE_OK) {
		result = tell_failure(admin);
	} else if (forced.freed == 0) {
		log_warnx(
		    "%s: somebody else has it by now; nothing was changed",
		    admin->opts->name);
		result = EXITCODE_BUSY;
	} else {
		tell_forced(admin, look, only);
		for (char **waiter = forced.waiters; *waiter != NULL; waiter++)
			ring(admin, names, *waiter);
	}
	for (char **waiter = forced.waiters; *waiter != NULL; waiter++)
		free(*waiter);
	return result;
}

/* Only a plain yes is one. */
static bool
ask_user(const struct admin *admin, const struct look *look)
{
	char *name = escape_text(admin->opts->name, ESCAPE_TEXT);
	char text[512];
	char *holder;
	char *line = NULL;
	size_t size = 0;
	bool yes;

	look_describe_holders(look, text, sizeof(text));
	holder = escape_text(text, ESCAPE_TEXT);
	fprintf(stderr, "rlockrun: %s is held by %s; take it away? [y/N] ",
	    name, holder);
	yes = getline(&line, &size, stdin) > 0 &&
	      (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
	free(line);
	free(holder);
	free(name);
	return yes;
}

static const struct look_holder *
holder_with(const struct look *look, const char *token)
{
	for (size_t i = 0; i < look->listed; i++) {
		const struct look_holder *holder = &look->holders[i];

		if (holder->token_is_whole && strcmp(holder->token, token) == 0)
			return holder;
	}
	return NULL;
}

static int
consider(struct admin *admin, const struct key_names *names,
    const struct look *look)
{
	const struct opts *opts = admin->opts;
	const struct look_holder *only = NULL;
	char holder[512];

	if (look->listed == 0) {
		log_warnx("%s is free already", opts->name);
		return EXITCODE_OK;
	}
	if (opts->token != NULL)
		only = holder_with(look, opts->token);
	if (opts->token != NULL && only == NULL) {
		look_describe_holders(look, holder, sizeof(holder));
		log_warnx("%s is held by %s, not with that token; nothing was "
			  "changed",
		    opts->name, holder);
		return EXITCODE_BUSY;
	}
	if (*look->holders[0].digest == '\0') {
		log_warnx("%s is not a lock: it holds more than any token",
		    opts->name);
		return EXITCODE_NOT_A_LOCK;
	}
	if (opts->token == NULL && !opts->yes && !ask_user(admin, look)) {
		log_warnx("%s: nothing was changed", opts->name);
		return EXITCODE_BUSY;
	}
	return take_away(admin, names, look, only);
}

static int
force_release(struct admin *admin)
{
	struct key_names names;
	struct look look = {.count = 0};
	int result;

	key_names_init(&names, admin->opts->keys[0].key);
	if (look_at(admin, &names, HOLDERS_FORCED, &look) == EXITCODE_OK) {
		result = consider(admin, &names, &look);
		look_fini(&look);
	} else {
		result = tell_failure(admin);
	}
	key_names_fini(&names);
	return result;
}

/* ---------------------------------------------------------------------- */

static int
act(struct admin *admin)
{
	node_allow(admin->node, ANSWER_MAX, ELEMENTS_MAX);
	if (admin->opts->action == OPTS_STATUS)
		return show_status(admin);
	if (admin->opts->action == OPTS_LIST)
		return show_list(admin);
	return force_release(admin);
}

static int
act_on(struct admin *admin, const struct endpoint *server)
{
	int result;

	admin->server = server;
	admin->node = node_new(&admin->loop, server,
	    admin->opts->key_count > 0 ? admin->opts->keys[0].key : NULL);
	if (admin->node == NULL) {
		log_warnx("out of memory");
		return EXITCODE_RESOURCE;
	}
	result = act(admin);
	node_free(admin->node);
	return result;
}

/* Several servers one after the other: who looks wants to see where they
 * differ. */
static int
act_on_all(struct admin *admin)
{
	const struct opts *opts = admin->opts;
	int result = EXITCODE_OK;

	for (size_t i = 0; i < opts->server_count; i++) {
		const struct endpoint *server = &opts->servers[i];
		int one;

		if (opts->server_count > 1 && !opts->json &&
		    opts->action != OPTS_FORCE_RELEASE)
			printf("%s%s:\n", i > 0 ? "\n" : "", server->label);
		one = act_on(admin, server);
		if (result == EXITCODE_OK)
			result = one;
	}
	return result;
}

int
admin(const struct opts *opts)
{
	struct admin admin = {.opts = opts};
	int result;

	if (loop_init(&admin.loop) == -1) {
		log_warn("cannot wait for events");
		return EXITCODE_RESOURCE;
	}
	result = act_on_all(&admin);
	loop_timer_remove(&admin.loop, &admin.timer);
	loop_fini(&admin.loop);
	return result;
}
