/* What is shown of a lock: as text, as JSON and as a row of --list. */
#include "admin/look.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "admin/list_row.h"
#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define HOLDERS(...)                                    \
	.holders = (struct look_holder[]){__VA_ARGS__}, \
	.listed = LENGTH(((struct look_holder[]){__VA_ARGS__}))
#define QUEUE(...)                                    \
	.queue = (struct look_waiter[]){__VA_ARGS__}, \
	.queued = LENGTH(((struct look_waiter[]){__VA_ARGS__}))
#define TOKEN(text) .token = (char *)(text), .token_is_whole = true
#define EVIL "e\033]0;t\a\n\xc2\x9b\xff\xe2\x80\xae\xf3\xa0\x81\x81\"\\"
#define EVIL_TEXT   \
	"e\\x1b]0;" \
	"t\\x07\\n\\xc2\\x9b\\xff\\xe2\\x80\\xae\\xf3\\xa0\\x81\\x81\"\\"
#define EVIL_JSON \
	"e\\u001b]0;t\\u0007\\n\\u009b\\u00ff\\u202e\\udb40\\udc41\\\"\\\\"

#define WEB_1(how, ms)          \
	.who = {.state = (how), \
	    .host = "web-1",    \
	    .pid = "41",        \
	    .user = "deploy",   \
	    .held_ms = -1,      \
	    .left_ms = (ms)}
#define KNOWN WEB_1(HOLDER_KNOWN, 19500)
#define FOREIGN .who = {.state = HOLDER_FOREIGN, .held_ms = -1, .left_ms = -1}
#define COMMAND(text) .command = (char *)(text)

struct place {
	const char *url, *prefix, *name, *key;
};

static const struct place place = {"redis://h", "", "job", "job"};

#define LEFT "ttl left: 19.5s\n"
#define NO_QUEUE "waiting:  0\n"
#define NOBODY                                                       \
	",\"ttl_ms\":null,\"fence\":null,\"kind\":null,\"count\":0," \
	"\"permits\":null,\"free\":null,\"holders\":[]"
#define RECORD                                                              \
	"\"ttl_ms\":19500,\"fence\":null,\"host\":\"web-1\",\"pid\":41,"    \
	"\"user\":\"deploy\",\"label\":null,\"command\":null,\"since_ms\":" \
	"null,"                                                             \
	"\"held_ms\":null,\"ended\":false,\"hold\":false,\"paused\":false," \
	"\"replaceable\":"                                                  \
	"false}"
#define NO_RECORD                                                             \
	"\"host\":null,\"pid\":null,\"user\":null,\"label\":null,"            \
	"\"command\":null,\"since_ms\":null,\"held_ms\":null,\"ended\":null," \
	"\"hold\":null,\"paused\":null,\"replaceable\":null}"
#define REST                                                              \
	",\"nested\":0,\"outer_ended\":false,\"waiting\":0,\"queue\":[]," \
	"\"last_run\":null,\"last_success\":null,\"expect_ms\":null,"     \
	"\"expect_since_ms\":null,"                                       \
	"\"problems\":[]}\n"

static const struct look_case {
	const char *what;
	struct look look;
	const char *text; /* the lines behind the server's */
	const char *json; /* what follows the prefix; NULL: not looked at */
	const char *row;  /* the cells behind the name, likewise */
} cases[] = {
    {"a lock without a trace", {.left_ms = -1, .whole = true},
	"holder:   nobody; no such lock is known\n" NO_QUEUE, NOBODY REST,
	NULL},
    {"a lock that was held", {.left_ms = -1, .whole = true, .fence = "7"},
	"holder:   nobody\n"
	"fence:    7\n" NO_QUEUE,
	",\"ttl_ms\":null,\"fence\":7,\"kind\":null,\"count\":0,"
	"\"permits\":null,\"free\":null,\"holders\":[]" REST,
	NULL},
    {"a lock with a holder",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = 19500,
	    .fence = "7",
	    HOLDERS({TOKEN("t"), KNOWN, COMMAND("sh"), .fence = "7",
		.since_ms = 5000})},
	"holder:   web-1 (pid 41, deploy)\n"
	"command:  sh\n"
	"token:    t\n" LEFT "fence:    7\n" NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":7,\"kind\":\"exclusive\","
	"\"count\":1,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"t\",\"ttl_ms\":19500,"
	"\"fence\":7,\"host\":\"web-1\",\"pid\":41,"
	"\"user\":\"deploy\",\"label\":null,\"command\":\"sh\","
	"\"since_ms\":5000,\"held_ms\":null,\"ended\":false,"
	"\"hold\":false,\"paused\":false,\"replaceable\":false}]" REST,
	"exclusive|web-1|41|deploy|-|18.5s|0|7|-|-|sh"},
    {"another client, without a time limit",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = -1,
	    .fence = "7",
	    HOLDERS({TOKEN("plain"), FOREIGN, COMMAND("")})},
	"holder:   another client (not a rlockrun),"
	" without a time limit\n"
	"token:    plain\n"
	"ttl left: no limit\n"
	"fence:    7\n" NO_QUEUE,
	",\"ttl_ms\":null,\"fence\":7,\"kind\":\"exclusive\","
	"\"count\":1,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"plain\",\"ttl_ms\":null,"
	"\"fence\":null," NO_RECORD "]" REST,
	"exclusive|(another client)|-|-|-|no limit|0|-|-|-|-"},
    {"a label in place of the command",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = 600000,
	    HOLDERS({TOKEN("t"),
		.who = {.state = HOLDER_KNOWN,
		    .host = "web-1",
		    .pid = "41",
		    .user = "u",
		    .label = "nightly sync",
		    .held_ms = -1,
		    .left_ms = 600000},
		COMMAND("sh")})},
	"holder:   web-1 (pid 41, u)\n"
	"label:    nightly sync\n"
	"token:    t\n"
	"ttl left: 10m00s\n" NO_QUEUE,
	",\"ttl_ms\":600000,\"fence\":null,"
	"\"kind\":\"exclusive\",\"count\":1,\"permits\":null,"
	"\"free\":null,\"holders\":[{\"token\":\"t\","
	"\"ttl_ms\":600000,\"fence\":null,\"host\":\"web-1\","
	"\"pid\":41,\"user\":\"u\",\"label\":\"nightly sync\","
	"\"command\":\"sh\",\"since_ms\":null,\"held_ms\":null,"
	"\"ended\":false,\"hold\":false,\"paused\":false,\"replaceable\":false}"
	"]" REST,
	"exclusive|web-1|41|u|-|9m59s|0|-|nightly sync|-|"
	"nightly sync"},
    {"one that is kept",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("t"),
		.who = {.state = HOLDER_ENDED,
		    .host = "web-1",
		    .pid = "41",
		    .user = "u",
		    .held_ms = -1,
		    .left_ms = 19500},
		COMMAND("sh")})},
	"holder:   web-1 (pid 41, u)\n"
	"job:      has ended; kept for --min-hold\n"
	"token:    t\n" LEFT NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"exclusive\","
	"\"count\":1,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"t\",\"ttl_ms\":19500,"
	"\"fence\":null,\"host\":\"web-1\",\"pid\":41,"
	"\"user\":\"u\",\"label\":null,\"command\":\"sh\","
	"\"since_ms\":null,\"held_ms\":null,\"ended\":true,"
	"\"hold\":false,\"paused\":false,\"replaceable\":false}]" REST,
	"exclusive|web-1|41|u|-|18.5s kept|0|-|-|-|sh"},
    {"a hold",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("t"),
		.who = {.state = HOLDER_HOLD,
		    .host = "web-1",
		    .pid = "41",
		    .user = "u",
		    .held_ms = -1,
		    .left_ms = -1},
		COMMAND("")})},
	"holder:   web-1 (u)\n"
	"job:      none; this is a --hold\n"
	"token:    t\n"
	"ttl left: no limit\n" NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"exclusive\","
	"\"count\":1,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"t\",\"ttl_ms\":null,"
	"\"fence\":null,\"host\":\"web-1\",\"pid\":41,"
	"\"user\":\"u\",\"label\":null,\"command\":null,"
	"\"since_ms\":null,\"held_ms\":null,\"ended\":false,"
	"\"hold\":true,\"paused\":false,\"replaceable\":false}]" REST,
	"exclusive|web-1|-|u|-|18.5s hold|0|-|-|-|-"},
    {"a pause",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("t"),
		.who = {.state = HOLDER_PAUSED,
		    .host = "web-1",
		    .pid = "41",
		    .user = "u",
		    .held_ms = -1,
		    .left_ms = -1},
		COMMAND("")})},
	"holder:   web-1 (u)\n"
	"job:      none; the lock is paused by --pause\n"
	"token:    t\n"
	"ttl left: no limit\n" NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"exclusive\","
	"\"count\":1,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"t\",\"ttl_ms\":null,"
	"\"fence\":null,\"host\":\"web-1\",\"pid\":41,"
	"\"user\":\"u\",\"label\":null,\"command\":null,"
	"\"since_ms\":null,\"held_ms\":null,\"ended\":false,"
	"\"hold\":true,\"paused\":true,\"replaceable\":false}]" REST,
	"exclusive|web-1|-|u|-|18.5s paused|0|-|-|-|-"},
    {"readers, more than are listed",
	{.kind = 's',
	    .count = 3000,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("a"), KNOWN, COMMAND("")},
		{TOKEN("b"), FOREIGN, COMMAND("")})},
	"kind:     shared, 3000 holders\n"
	"holder:   web-1 (pid 41, deploy)\n"
	"token:    a\n" LEFT "holder:   another client (not a rlockrun),"
	" without a time limit\n"
	"token:    b\n"
	"ttl left: no limit\n"
	"holders:  2998 more\n" NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"shared\","
	"\"count\":3000,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"a\"," RECORD
	",{\"token\":\"b\",\"ttl_ms\":null,\"fence\":null," NO_RECORD "]" REST,
	"3000 shared|web-1|41|deploy|-|18.5s|0|-|-|-|-"},
    {"one reader",
	{.kind = 's',
	    .count = 1,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("a"), KNOWN, COMMAND("")})},
	"kind:     shared, 1 holder\n"
	"holder:   web-1 (pid 41, deploy)\n"
	"token:    a\n" LEFT NO_QUEUE,
	NULL, "1 shared|web-1|41|deploy|-|18.5s|0|-|-|-|-"},
    {"permits",
	{.kind = 'p',
	    .count = 1,
	    .permits = 3,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("a"), KNOWN, COMMAND("")})},
	"kind:     3 permits, 1 used, 2 free\n"
	"holder:   web-1 (pid 41, deploy)\n"
	"token:    a\n" LEFT NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"permits\","
	"\"count\":1,\"permits\":3,\"free\":2,"
	"\"holders\":[{\"token\":\"a\"," RECORD "]" REST,
	"1/3 permits|web-1|41|deploy|-|18.5s|0|-|-|-|-"},
    {"fewer permits than holders",
	{.kind = 'p',
	    .count = 2,
	    .permits = 1,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("a"), KNOWN, COMMAND("")})},
	"kind:     1 permit, 2 used, 0 free\n"
	"holder:   web-1 (pid 41, deploy)\n"
	"token:    a\n" LEFT "holders:  1 more\n" NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"permits\","
	"\"count\":2,\"permits\":1,\"free\":0,"
	"\"holders\":[{\"token\":\"a\"," RECORD "]" REST,
	"2/1 permit|web-1|41|deploy|-|18.5s|0|-|-|-|-"},
    {"permits, it is not known how many",
	{.kind = 'p',
	    .count = 2,
	    .left_ms = 19500,
	    HOLDERS({TOKEN("a"), FOREIGN, COMMAND("")})},
	"kind:     permits, 2 used\n"
	"holder:   another client (not a rlockrun),"
	" without a time limit\n"
	"token:    a\n"
	"ttl left: no limit\n"
	"holders:  1 more\n" NO_QUEUE,
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"permits\","
	"\"count\":2,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"a\",\"ttl_ms\":null,"
	"\"fence\":null," NO_RECORD "]" REST,
	"2 permits|(another client)|-|-|-|18.5s|0|-|-|-|-"},
    {"a queue, in which not all are listed",
	{.left_ms = -1,
	    .waiting = 5,
	    QUEUE({(char *)"no\nwaiter", (char *)"?", (char *)"?", 1000},
		{(char *)"x:t:77@early", (char *)"77", (char *)"early",
		    65000})},
	"holder:   nobody\n"
	"waiting:  5\n"
	"     1.   ? (pid ?) for 1s\n"
	"     2.   early (pid 77) for 1m05s\n"
	"          and 3 more\n",
	NOBODY ",\"nested\":0,\"outer_ended\":false,\"waiting\":5,"
	       "\"queue\":[{\"place\":1,\"host\":\"?\",\"pid\":null,"
	       "\"id\":\"no\\nwaiter\",\"waiting_ms\":1000},"
	       "{\"place\":2,\"host\":\"early\",\"pid\":77,"
	       "\"id\":\"x:t:77@early\",\"waiting_ms\":65000}],"
	       "\"last_run\":null,\"last_success\":null,\"expect_ms\":null,"
	       "\"expect_since_ms\":null,"
	       "\"problems\":[]}\n",
	NULL},
    {"a run inside", {.left_ms = -1, .fence = "7", .nested = 1},
	"holder:   nobody\n"
	"fence:    7\n"
	"nested:   1 run inside\n" NO_QUEUE,
	NULL, NULL},
    {"runs inside that outlast the outer one",
	{.left_ms = -1, .fence = "7", .nested = 2, .released = true},
	"holder:   nobody\n"
	"fence:    7\n"
	"nested:   2 runs inside; the outer one has ended\n" NO_QUEUE,
	",\"ttl_ms\":null,\"fence\":7,\"kind\":null,\"count\":0,"
	"\"permits\":null,\"free\":null,\"holders\":[],"
	"\"nested\":2,\"outer_ended\":true,\"waiting\":0,"
	"\"queue\":[],\"last_run\":null,\"last_success\":null,"
	"\"expect_ms\":null,\"expect_since_ms\":null,\"problems\":[]}\n",
	NULL},
    {"keys that cannot be read",
	{.left_ms = -1,
	    .waiting = -1,
	    .problems = (struct look_problem[]){{(char *)"{job}:rlk:q",
		(char *)"WRONGTYPE \"x\""}},
	    .problem_count = 1},
	"holder:   nobody\n",
	NOBODY ",\"nested\":0,\"outer_ended\":false,\"waiting\":null,"
	       "\"queue\":[],\"last_run\":null,\"last_success\":null,"
	       "\"expect_ms\":null,\"expect_since_ms\":null,"
	       "\"problems\":[\"{job}:rlk:q: WRONGTYPE "
	       "\\\"x\\\"\"]}\n",
	NULL},
    {"a run that did not finish, and a success before",
	{.left_ms = -1,
	    .now_ms = 900000,
	    .last = {.exists = true,
		.start_ms = 1000,
		.status = -1,
		.fence = "8",
		.who = {.state = HOLDER_KNOWN,
		    .host = "web-3",
		    .pid = "4",
		    .user = "ci"}},
	    .success = {.host = "web-2", .end_ms = 500, .fence = "6"}},
	NULL,
	NOBODY ",\"nested\":0,\"outer_ended\":false,\"waiting\":0,"
	       "\"queue\":[],\"last_run\":{\"running\":false,"
	       "\"host\":\"web-3\",\"pid\":4,\"user\":\"ci\","
	       "\"label\":null,\"start_ms\":1000,\"end_ms\":null,"
	       "\"status\":null,\"reason\":null,\"waited_ms\":0,\"fence\":8},"
	       "\"last_success\":{\"end_ms\":500,\"host\":\"web-2\","
	       "\"fence\":6},\"expect_ms\":null,\"expect_since_ms\":null,"
	       "\"problems\":[]}\n",
	"free|web-3|4|ci|free|-|0|-|-|did not finish|-"},
    {"a run that has ended",
	{.left_ms = -1,
	    .now_ms = 900000,
	    .last = {.exists = true,
		.start_ms = 1000,
		.end_ms = 247000,
		.status = 3,
		.who = {.state = HOLDER_KNOWN,
		    .host = "web-3",
		    .pid = "4",
		    .user = "ci",
		    .label = "x"}}},
	NULL,
	NOBODY ",\"nested\":0,\"outer_ended\":false,\"waiting\":0,"
	       "\"queue\":[],\"last_run\":{\"running\":false,"
	       "\"host\":\"web-3\",\"pid\":4,\"user\":\"ci\","
	       "\"label\":\"x\",\"start_ms\":1000,\"end_ms\":247000,"
	       "\"status\":3,\"reason\":null,\"waited_ms\":0,\"fence\":null},"
	       "\"last_success\":null,"
	       "\"expect_ms\":null,\"expect_since_ms\":null,\"problems\":[]}\n",
	"free|web-3|4|ci|free|-|0|-|x|status 3, 10m54s ago|x"},
    {"names that mean harm",
	{.kind = 'x',
	    .count = 1,
	    .left_ms = 19500,
	    .waiting = 1,
	    HOLDERS({TOKEN(EVIL),
		.who = {.state = HOLDER_KNOWN,
		    .host = EVIL,
		    .pid = "",
		    .user = EVIL,
		    .held_ms = -1,
		    .left_ms = 19500},
		COMMAND(EVIL)}),
	    QUEUE({(char *)EVIL, (char *)"7", (char *)EVIL, 1000})},
	"holder:   " EVIL_TEXT " (pid , " EVIL_TEXT ")\n"
	"command:  " EVIL_TEXT "\n"
	"token:    " EVIL_TEXT "\n" LEFT "waiting:  1\n"
	"     1.   " EVIL_TEXT " (pid 7) for 1s\n",
	",\"ttl_ms\":19500,\"fence\":null,\"kind\":\"exclusive\","
	"\"count\":1,\"permits\":null,\"free\":null,"
	"\"holders\":[{\"token\":\"" EVIL_JSON
	"\",\"ttl_ms\":19500,\"fence\":null,\"host\":\"" EVIL_JSON
	"\",\"pid\":null,\"user\":\"" EVIL_JSON
	"\",\"label\":null,\"command\":\"" EVIL_JSON
	"\",\"since_ms\":null,\"held_ms\":null,\"ended\":false,"
	"\"hold\":false,\"paused\":false,\"replaceable\":false}],\"nested\":0,"
	"\"outer_ended\":"
	"false,"
	"\"waiting\":1,\"queue\":[{\"place\":1,\"host\":\"" EVIL_JSON
	"\",\"pid\":7,\"id\":\"" EVIL_JSON
	"\",\"waiting_ms\":1000}],\"last_run\":null,"
	"\"last_success\":null,\"expect_ms\":null,\"expect_since_ms\":null,"
	"\"problems\":[]}\n",
	NULL},
};

static void
print(const struct look *look, const struct place *where, bool json)
{
	struct opts opts = {.prefix = where->prefix,
	    .action = OPTS_STATUS,
	    .keys[0].name = where->name};
	struct endpoint endpoint;
	struct loop loop;
	struct client client = {.opts = &opts, .endpoint = &endpoint};

	if (loop_init(&loop) == -1 || url_parse(where->url, &endpoint))
		abort();
	client.enquiry.server = server_new(&loop, &endpoint, NULL);
	if (json)
		look_print_json(look, &client, where->key);
	else
		look_print(look, &client);
	server_free(client.enquiry.server);
	endpoint_fini(&endpoint);
	loop_fini(&loop);
}

/* What is left on stdout, to be freed. */
static char *
printed(const struct look *look, const struct place *where, bool json)
{
	int saved, fd = memfd_create("stdout", MFD_CLOEXEC);
	char *text = calloc(1, 8192);

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	print(look, where, json);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	if (text == NULL || pread(fd, text, 8191, 0) <= 0)
		abort();
	close(saved);
	close(fd);
	return text;
}

static void
check_text(const struct look_case *test)
{
	static const char head[] =
	    "lock:     job\nserver:   redis://h:6379, db 0, no prefix\n";
	char *text = printed(&test->look, &place, false);

	ok(strncmp(text, head, strlen(head)) == 0, "%s", test->what);
	is_text(text + strlen(head), test->text, "  as text");
	free(text);
}

static void
check_json(const struct look_case *test)
{
	char *text = printed(&test->look, &place, true), head[256];

	snprintf(head, sizeof(head),
	    "{\"held\":%s,\"name\":\"job\",\"key\":\"job\",\"server\":"
	    "\"redis://h:6379\",\"db\":0,\"prefix\":\"\"",
	    test->look.kind != '\0' ? "true" : "false");
	ok(strncmp(text, head, strlen(head)) == 0, "%s", test->what);
	is_text(text + strlen(head), test->json, "  as JSON");
	free(text);
}

static void
check_row(const struct look_case *test)
{
	struct list_row row;
	char got[512] = "";

	list_row_describe(&row, &test->look, "job", 1000);
	is_text(row.cells[LIST_NAME], "job", test->what);
	for (size_t i = LIST_KIND; i < LIST_COLUMNS; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
		    row.cells[i], i + 1 < LIST_COLUMNS ? "|" : "");
	is_text(got, test->row, "  as a row, a second later");
}

/* The key is not shown as text, and the name has no prefix. */
static void
test_place(void)
{
	static const struct look look = {.left_ms = -1};
	const struct place where = {"unix:///s?db=3", "a\"b\n", "job",
	    "a\"b\njob"};
	char *text = printed(&look, &where, false);
	char *json = printed(&look, &where, true);

	is_text(text,
	    "lock:     job\nserver:   unix:///s?db=3, db 3, prefix "
	    "\"a\\\"b\\n\"\nholder:   nobody\nwaiting:  0\n",
	    "a db and a prefix");
	ok(strstr(json,
	       "\"name\":\"job\",\"key\":\"a\\\"b\\njob\",\"server\":"
	       "\"unix:///s?db=3\",\"db\":3,\"prefix\":\"a\\\"b\\n\"") != NULL,
	    "  as JSON");
	free(text);
	free(json);
}

int
main(void)
{
	for (size_t i = 0; i < LENGTH(cases); i++) {
		if (cases[i].text != NULL)
			check_text(&cases[i]);
		if (cases[i].json != NULL)
			check_json(&cases[i]);
		if (cases[i].row != NULL)
			check_row(&cases[i]);
	}
	test_place();
	return tap_done();
}
