/* S53: for each kind of lock and each policy, without each command and each
 * key: what --doctor says is how a run ends. What a run needs is tried by its
 * scripts, what the doctor reports is listed in needs.c, and here they meet.
 *
 * Each cell is played in worlds of their own (tests/sim): the doctor asks by
 * ACL DRYRUN and by a scratch key, and a run finds the lock free, used before,
 * held, queued for, or the queue left behind by a waiter that died.
 *
 *     denials_test [OPTIONS [DENIAL]]     those that contain these words */
#include <stdlib.h>
#include <unistd.h>

#include "actor.h"
#include "base/exitcode.h"
#include "doctor/needs.h"
#include "node.h"
#include "play.h"
#include "runs.h"
#include "tap.h"
#include "world.h"

/* Servers that vote. */
#define SEVERAL " --min-uptime 0"

static const char *const kinds[] = {"", " --shared", " --permits 2", SEVERAL};
static const char *const policies[] = {"", " --once-per 1h", " --once-id a",
    " --expect 1h", " --newest", " --replace", " --replaceable",
    " --keep-history 0", " --min-hold 1"};
static const char *const waits[] = {" -n", " -w 60"};

/* What is there when the run begins. */
enum scene { FREE, USED, HELD, TAKEN, QUEUED, DEAD, LONG, NESTED, SCENES };
static const char *const scene_names[SCENES] = {[FREE] = "free",
    [USED] = "free, and used before",
    [HELD] = "held for a moment",
    [TAKEN] = "held for longer than it waits",
    [QUEUED] = "held, and others waiting",
    [DEAD] = "free, and a dead waiter in the queue",
    [LONG] = "free, and renews it",
    [NESTED] = "free, and has a nested run"};

/* Of "commands", by the names that access rules have, or "keys". */
struct denial {
	const char *name, *what;
};

static struct denial denials[NEEDS_COMMANDS + KEY_COUNT + 2];
static size_t denial_count;

struct findings;
struct opts;
void __wrap_check_host(struct findings *findings, const struct opts *opts);

void
__wrap_check_host(struct findings *findings, const struct opts *opts)
{
	(void)findings, (void)opts;
}

static void
list_denials(void)
{
	static const char *const keys[] = {"job", "{job}:rlk:i", "{job}:rlk:r",
	    "{job}:rlk:q", "{job}:rlk:l", "{job}:rlk:m:*", "{job}:rlk:n:*"};

	for (size_t i = 0; i < NEEDS_COMMANDS; i++)
		if (i != NEEDS_SCRIPTS)
			denials[denial_count++] =
			    (struct denial){needs_commands[i].rule, "commands"};
	denials[denial_count++] =
	    (struct denial){"eval', 'evalsha", "commands"};
	for (size_t i = 0; i < LENGTH(keys); i++)
		denials[denial_count++] = (struct denial){keys[i], "keys"};
}

/* --- one run ------------------------------------------------------------ */

/* Everything is permitted without a denial. */
static void
begin(const char *options, const struct denial *denial, bool has_dryrun)
{
	play_begin(1);
	world.is_still = world.calm = true;
	play_line(strstr(options, SEVERAL) != NULL ? "servers redlock 3"
						   : "servers one");
	for (int i = 0; i < node_count(); i++) {
		struct node *node = node_number(i);

		node_do(node, "obey",
		    "self.users = {locker = 'v'} "
		    "self.settings.appendonly = 'yes' "
		    "self.settings.appendfsync = 'always'");
		if (!has_dryrun)
			node_do(node, "obey",
			    "self:deny{user = 'locker', commands = {'acl'}}");
		if (denial != NULL)
			node_do(node, "obey",
			    world_format("self:deny{user = 'locker', %s = "
					 "{'%s'}}",
				denial->what, denial->name));
	}
}

static struct actor *
start_as(const char *user, const char *host, const char *words)
{
	const char *urls = "";

	for (int i = 1; i <= node_count(); i++)
		urls = world_format("%s -r redis://%s10.0.0.%d", urls, user, i);
	return run_start(
	    world_format("%s$ rlockrun%s -k job%s", host, urls, words));
}

/* By the user to whom something is denied. */
static struct actor *
start(const char *host, const char *words)
{
	return start_as("locker:v@", host, words);
}

/* By one to whom nothing is. */
static struct actor *
start_free(const char *host, const char *words)
{
	return start_as("", host, words);
}

/* All of them. The last one's reply. */
static const char *
ask(const char *const *words)
{
	const char *reply = "";

	for (int i = 0; i < node_count(); i++)
		reply = node_execute(node_number(i), words);
	return reply;
}

#define ASK(...) ask((const char *const[]){__VA_ARGS__, NULL})

/* The lock, or a place in the queue but that of the dead waiter. */
static bool
has_left_something(void)
{
	return strcmp(ASK("EXISTS", "job"), ":0\r\n") != 0 ||
	       strcmp(ASK("ZCOUNT", "{job}:rlk:q", "10", "+inf"), ":0\r\n") !=
		   0;
}

struct end {
	int status;
	bool warned, left;
};

static struct end
end_of(struct actor *actor)
{
	struct end end = {0};

	run_to_end(actor);
	run_end_beat();
	end.status = actor->state == ACTOR_ENDED ? actor->status & 0xff : -1;
	end.warned = actor->err_length > 0;
	return end;
}

static void
set_scene(enum scene scene, const char *kind)
{
	if (scene == USED) {
		end_of(start_free("other", world_format(" -n%s false", kind)));
	} else if (scene == HELD) {
		ASK("SET", "job", "another", "PX", "2000");
	} else if (scene == TAKEN) {
		ASK("SET", "job", "another", "PX", "70000");
	} else if (scene == QUEUED) {
		start_free("other", world_format(" -n%s sleep 3", kind));
		start_free("more", world_format(" -n%s sleep 3", kind));
		run_end_beat();
		start_free("third", world_format(" -w 60%s sleep 1", kind));
		run_end_beat();
	} else if (scene == DEAD) {
		ASK("ZADD", "{job}:rlk:q", "1",
		    "x00000000-0000-4000-8000-000000000000");
		ASK("ZADD", "{job}:rlk:l", "1",
		    "x00000000-0000-4000-8000-000000000000");
		ASK("PEXPIRE", "{job}:rlk:q", "60000");
		ASK("PEXPIRE", "{job}:rlk:l", "60000");
	}
}

static void
pass(int64_t us)
{
	int64_t end = world.now + us;

	actor_play(end);
	world.now = end;
}

static struct end
play(const char *kind, const char *options, const struct denial *denial,
    enum scene scene)
{
	struct end end, nested;
	struct actor *run;

	begin(options, denial, true);
	set_scene(scene, kind);
	run = start("here", world_format("%s %s", options,
				scene == LONG	  ? "sleep 40"
				: scene == NESTED ? "sleep 5"
						  : "true"));
	run_end_beat();
	if (scene == NESTED && run->state == ACTOR_ALIVE)
		nested =
		    end_of(start("here/job", world_format("%s true", options)));
	else
		nested = (struct end){.status = 0};
	end = end_of(run);
	if (end.status == 0)
		end.status = nested.status;
	end.warned = end.warned || nested.warned;
	for (int i = 0; i < actor_count(); i++)
		run_to_end(actor_number(i));
	if (strstr(ASK("GET", "job"), "another") != NULL)
		ASK("DEL", "job");
	pass(WORLD_S);
	end.left = has_left_something();
	play_end();
	return end;
}

/* --- the doctor --------------------------------------------------------- */

/* How many findings but notes name what is denied. */
static int
count_findings(char *text, const char *what)
{
	int count = 0;

	for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
		const char *found = strstr(line, what);

		count += found != NULL && strstr(line, "  access-") != NULL &&
			 (strncmp(line, "  error", 7) == 0 ||
			     strncmp(line, "  warning", 9) == 0) &&
			 strchr(" \n", found[strlen(what)]) != NULL;
	}
	return count;
}

struct examined {
	int status, named;
};

static struct examined
examine(const char *options, const struct denial *denial, bool has_dryrun)
{
	struct examined examined;
	struct actor *actor;
	const char *what = "";

	begin(options, denial, has_dryrun);
	if (denial != NULL)
		what = *denial->what == 'c' ? world_format("+%s", denial->name)
		       : *denial->name == '{' ? "~{job}:rlk:*"
					      : "~job";
	actor = start("doctor", world_format("%s --doctor", options));
	run_to_end(actor);
	examined.status = actor->status & 0xff;
	examined.named =
	    count_findings(world_copy(actor->stream_text != NULL
					  ? actor->stream_text
					  : actor->out,
			       actor->stream_text != NULL ? actor->streamed
							  : actor->out_length),
		what);
	play_end();
	return examined;
}

/* --- cells -------------------------------------------------------------- */

static int contradictions, cells;

__attribute__((format(printf, 3, 4))) static void
contradict(const char *options, const struct denial *denial, const char *format,
    ...)
{
	va_list arguments;

	contradictions++;
	printf("#%s without %s: ", options, denial->name);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

/* Refused if the doctor says so, and otherwise as with all permissions. */
static void
compare_scene(const char *options, const struct denial *denial,
    enum scene scene, const struct end *end, const struct end *permitted,
    const struct examined *examined)
{
	const char *name = scene_names[scene];
	bool refuses = examined->status == EXITCODE_REFUSED;

	/* Another run has taught the server the scripts. */
	if (strcmp(denial->name, needs_commands[NEEDS_EVAL].rule) == 0 &&
	    (scene == USED || scene == QUEUED))
		return;
	if (end->left && !permitted->left)
		contradict(options, denial,
		    "a run that finds the lock %s leaves something", name);
	if (permitted->status == EXITCODE_BUSY &&
	    (end->status == EXITCODE_BUSY || end->status == 0 ||
		(refuses && end->status == EXITCODE_REFUSED)))
		; /* A busy lock shows less than a free one. */
	else if (end->status !=
		 (refuses ? EXITCODE_REFUSED : permitted->status))
		contradict(options, denial,
		    "the doctor says %d, a run that finds the lock %s ends "
		    "with %d",
		    examined->status, name, end->status);
	/* A run that does not queue only looks at a queue that there is. */
	if (end->status == permitted->status && end->warned &&
	    !permitted->warned && examined->status == 0 &&
	    ((strstr(options, "-n") == NULL &&
		 strstr(options, SEVERAL) == NULL) ||
		(scene != DEAD && scene != QUEUED)))
		contradict(options, denial,
		    "the doctor says 0, a run that finds the lock %s warns",
		    name);
}

static void
compare_cell(const char *kind, const char *options, const struct denial *denial,
    const struct end *permitted)
{
	struct examined dry = examine(options, denial, true);
	struct examined scratch = examine(options, denial, false);
	/* A free lock is that of a run that would wait. */
	enum scene scenes = strncmp(options, waits[0], 3) == 0 ? LONG : SCENES;

	cells++;
	if (dry.status != scratch.status)
		contradict(options, denial,
		    "the doctor says %d by DRYRUN, %d by a scratch key",
		    dry.status, scratch.status);
	if (dry.status > EXITCODE_WARNINGS && dry.status != EXITCODE_REFUSED)
		contradict(options, denial, "the doctor says %d", dry.status);
	if (strchr(denial->name, '\'') == NULL &&
	    dry.named != (dry.status == 0			? 0
			     : strstr(options, SEVERAL) != NULL ? 3
								: 1))
		contradict(options, denial,
		    "the doctor says %d, %d findings name it", dry.status,
		    dry.named);
	for (enum scene scene = 0; scene < scenes; scene++) {
		struct end end = play(kind, options, denial, scene);

		compare_scene(options, denial, scene, &end, &permitted[scene],
		    &dry);
	}
}

static void
compare_row(const char *kind, const char *options, const char *only)
{
	struct end permitted[SCENES];
	int before = contradictions;

	for (enum scene scene = 0; scene < SCENES; scene++) {
		permitted[scene] = play(kind, options, NULL, scene);
		if (permitted[scene].status == EXITCODE_USAGE)
			return; /* no such combination */
	}
	if (examine(options, NULL, true).status != 0)
		contradict(options, &(struct denial){"nothing", ""},
		    "the doctor finds something");
	for (size_t i = 0; i < denial_count; i++)
		if (only == NULL || strstr(denials[i].name, only) != NULL)
			compare_cell(kind, options, &denials[i], permitted);
	ok(contradictions == before, "S53: the doctor and the run agree:%s",
	    options);
}

/* Without a place in the queue to wait for, these two policies ask for nothing
 * that a run without them does not. */
static bool
is_superfluous(const char *options)
{
	bool is_common = strstr(options, " --keep-history") == NULL &&
			 strstr(options, " --min-hold") == NULL;

	return !is_common && strncmp(options, waits[0], 3) == 0;
}

int
main(int argc, char **argv)
{
	const size_t rows = LENGTH(kinds) * LENGTH(policies) * LENGTH(waits);

	setenv("TZ", "UTC", 1);
	node_load("tests/sim");
	list_denials();
	for (size_t i = 0; i < rows; i++) {
		const char *wait = waits[i % LENGTH(waits)];
		const char *policy =
		    policies[i / LENGTH(waits) % LENGTH(policies)];
		const char *kind = kinds[i / LENGTH(waits) / LENGTH(policies)];
		char options[100];

		snprintf(options, sizeof(options), "%s%s%s", wait, kind,
		    policy);
		if (argc > 1 ? strstr(options, argv[1]) != NULL
			     : !is_superfluous(options))
			compare_row(kind, options, argc > 2 ? argv[2] : NULL);
	}
	printf("# %d cells\n", cells);
	return tap_done();
}
