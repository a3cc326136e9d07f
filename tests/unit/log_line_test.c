#include "sink/log_line.h"

#include "sink/event_text.h"
#include "tap.h"

/* Names of bytes that need six in JSON. */
static char name[OPTS_KEY_MAX];

static const struct holder holder = {.state = HOLDER_KNOWN,
    .host = "web-3",
    .pid = "4121",
    .user = "deploy",
    .label = "nightly"};

static struct event
full_event(enum event_type type)
{
	return (struct event){.type = type,
	    .ending = ENDING_LOST,
	    .then = EVENT_THEN_STOPPED,
	    .name = name,
	    .why = name,
	    .server = name,
	    .who = name,
	    .command = name,
	    .fence = "7",
	    .token = "2f5c0e9a-9c4e-4e0a-8d3c-000000000000",
	    .holder = &holder,
	    .position = 3,
	    .count = 4,
	    .permits = 5,
	    .ms = 6000,
	    .status = -9};
}

/* Ends in a newline, and has no other control character. */
static bool
is_line(const char *text, size_t length, const char *end)
{
	char last[8];
	size_t at = 0;

	while (at < length && (unsigned char)text[at] >= ' ')
		at++;
	snprintf(last, sizeof(last), "%.*s", (int)strlen(end),
	    text + length - strlen(end));
	return length > strlen(end) && length <= LOG_LINE_MAX &&
	       at == length - 1 && text[at] == '\n' && strcmp(last, end) == 0;
}

static void
test_events(const struct log_line *text, const struct log_line *json)
{
	char line[LOG_LINE_MAX];

	for (int type = EVENT_ENDING; type < EVENT_COUNT; type++) {
		struct event event = full_event((enum event_type)type);
		bool silent = event_level(&event) == LEVEL_NONE;
		/* --list and the like are not logged. */
		bool named = type != EVENT_LISTED && type != EVENT_NONE_LISTED;
		size_t length = log_line_format(text, &event, line);

		ok(silent ? length == 0 : is_line(line, length, "\n"),
		    "event %d as text", type);
		length = log_line_format(json, &event, line);
		line[length < LOG_LINE_MAX ? length : LOG_LINE_MAX - 1] = '\0';
		ok(silent ? length == 0 : is_line(line, length, "}\n"),
		    "as JSON");
		ok(silent || !named || strstr(line, ",\"event\":\"") != NULL,
		    "its word");
	}
}

static void
test_all_locks(const struct log_line *json)
{
	struct event event = full_event(EVENT_ENDED);
	char line[LOG_LINE_MAX];
	const char *at;
	int64_t names = 1;

	event.name = NULL;
	ok(is_line(line, log_line_format(json, &event, line), "}\n"),
	    "32 names of 1 kB");
	at = strstr(line, ",\"keys\":[");
	for (; at != NULL && strncmp(at, "\"]", 2) != 0; at++)
		names += strncmp(at, "\",\"", 3) == 0;
	is_int(names, OPTS_KEYS_MAX, "  are listed");
}

/* A name never makes a second line, nor invalid JSON. */
static void
test_names(const struct log_line *json, const struct log_line *text)
{
	static const struct {
		const char *name, *text, *json;
	} cases[] = {
	    {"two\nlines", "\"two\\nlines\"", "two\\nlines"},
	    {"\033[31mred", "\"\\x1b[31mred\"", "\\u001b[31mred"},
	    {"\"quoted\\\"", "\"\\\"quoted\\\\\\\"\"", "\\\"quoted\\\\\\\""},
	    {"no \xff UTF-8", "\"no \\xff UTF-8\"", "no \\u00ff UTF-8"},
	    {"wide 界", "\"wide 界\"", "wide 界"},
	    {"tab\t", "\"tab\\t\"", "tab\\t"},
	};
	char line[LOG_LINE_MAX], want[128];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct event event = {.type = EVENT_RELEASED,
		    .name = cases[i].name};
		size_t length = log_line_format(text, &event, line);

		snprintf(want, sizeof(want), ": %s: released\n", cases[i].text);
		ok(is_line(line, length, "\n") &&
			memmem(line, length, want, strlen(want)) != NULL,
		    "%s", cases[i].text);
		length = log_line_format(json, &event, line);
		snprintf(want, sizeof(want), ",\"key\":\"%s\",", cases[i].json);
		ok(is_line(line, length, "}\n") &&
			memmem(line, length, want, strlen(want)) != NULL,
		    "  as JSON");
	}
}

int
main(void)
{
	struct opts opts = {.key_count = OPTS_KEYS_MAX, .lock.label = name};
	struct facts_lock locks[OPTS_KEYS_MAX] = {{.token = ""}};
	struct facts facts = {.opts = &opts, .locks = locks};
	struct log_line json = {.facts = &facts, .json = true};
	struct log_line text = {.facts = &facts};

	memset(name, 1, sizeof(name) - 1);
	for (size_t i = 0; i < OPTS_KEYS_MAX; i++)
		opts.keys[i].name = name;
	holder_self(&json.self);
	text.self = json.self;
	test_events(&text, &json);
	json.head = LOG_LINE_SYSLOG;
	test_all_locks(&json);
	json.head = LOG_LINE_DATED;
	test_all_locks(&json);
	test_names(&json, &text);
	return tap_done();
}
