/* What --show-config prints is a configuration file that leads to the same
 * settings, and so to the same output. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "options/opts_parse.h"
#include "options/opts_table.h"
#include "tap.h"

enum { ROUNDS = 3000, PIECES_MAX = 5, TEXT_MAX = 256 };

static char path[] = "/tmp/rlockrun-settings_text_test.XXXXXX";

/* The first ones also in a URL, which another one would comment out: then there
 * would be another server. */
static const char *const pieces[] = {"a", "b", "=", "[", "]", "\\", "'", "$",
    "%41", "\xa0", "\xe4", "\u00e4", "\U0001f512", "\"", "\"", "#", " ", " ",
    " #", "\t", "\n", "\r", "\x01", "\x1b", "\x7f", "\x80", "\x9b", "\xc2\x9b",
    "\u202e", "\u00ad", "\xef\xbb\xbf", "\xff"};
enum { URL_PIECES = 15 };

static const enum option_id texts[] = {OPT_LABEL, OPT_HOOK, OPT_PREFIX,
    OPT_USER, OPT_PASSWORD_FILE, OPT_SENTINEL_USER, OPT_TLS_CA, OPT_TLS_CERT,
    OPT_LOG_TO, OPT_METRICS};

static const enum option_id durations[] = {OPT_KEEP_HISTORY, OPT_ONCE_PER,
    OPT_MIN_HOLD, OPT_SPLAY, OPT_MAX_RUN, OPT_KILL_AFTER, OPT_TTL};

static char *
random_text(const char *begin, size_t count)
{
	char *text = mem_alloc(TEXT_MAX);

	strcpy(text, begin);
	for (int i = rand() % PIECES_MAX; i >= 0; i--)
		strcat(text, pieces[(size_t)rand() % count]);
	return text;
}

/* opts_parse keeps what opts point to in the arguments. */
struct shown {
	struct opts opts;
	char *arguments[8];
	int status;
};

static void
show(struct shown *shown, char *const *arguments)
{
	int argc = 0;

	memset(shown, 0, sizeof(*shown));
	for (; arguments[argc] != NULL; argc++)
		shown->arguments[argc] = mem_strdup(arguments[argc]);
	shown->status = opts_parse(&shown->opts, argc, shown->arguments);
}

static void
shown_free(struct shown *shown)
{
	if (shown->status == 0)
		opts_fini(&shown->opts);
	for (int i = 0; shown->arguments[i] != NULL; i++)
		free(shown->arguments[i]);
}

/* Lines without comments: origins differ. No origin of this test has a '#'. */
static char *
settings_of(const char *text)
{
	char *all = mem_strdup(text), *rest = all, *line;
	char *settings = mem_alloc(strlen(text) + 1), *end = settings;

	while ((line = strsep(&rest, "\n")) != NULL) {
		char *origin = strrchr(line, '#');

		if (origin == NULL || *line == '#')
			continue;
		while (origin > line && origin[-1] == ' ')
			origin--;
		*origin = '\0';
		end = stpcpy(stpcpy(end, line), "\n");
	}
	free(all);
	return settings;
}

static bool
is_commented_out(const char *text, enum option_id id)
{
	char comment[64];

	snprintf(comment, sizeof(comment), "\n# %s cannot ",
	    opts_table[id].longs[0]);
	return strstr(text, comment) != NULL;
}

static const char *
text_in(const struct opts *opts, enum option_id id)
{
	return *(
	    const char *const *)((const char *)opts + opts_table[id].field);
}

static bool
same_text(const struct shown *first, const struct shown *again,
    enum option_id id)
{
	const char *one = text_in(&first->opts, id);
	const char *two = text_in(&again->opts, id);

	return is_commented_out(first->opts.shown, id) || one == two ||
	       (one != NULL && two != NULL && strcmp(one, two) == 0);
}

static bool
same_duration(const struct shown *first, const struct shown *again,
    enum option_id id)
{
	size_t field = opts_table[id].field;

	return *(const int64_t *)((const char *)&first->opts + field) ==
	       *(const int64_t *)((const char *)&again->opts + field);
}

static void
write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	if (file == NULL || fputs(text, file) == EOF || fclose(file) == EOF)
		abort();
}

/* Whether what is shown reads back, and leads to the same. */
static bool
reads_back(const struct shown *first)
{
	struct shown again;
	char *want = settings_of(first->opts.shown), *got;
	bool same;

	write_file(first->opts.shown);
	show(&again,
	    (char *[]){"rlockrun", "--show-config", "--config", path, NULL});
	same = again.status == 0;
	if (same) {
		got = settings_of(again.opts.shown);
		same = strcmp(got, want) == 0;
		for (size_t i = 0; i < LENGTH(texts); i++)
			same = same && same_text(first, &again, texts[i]);
		for (size_t i = 0; i < LENGTH(durations); i++)
			same =
			    same && same_duration(first, &again, durations[i]);
		free(got);
	}
	free(want);
	shown_free(&again);
	return same;
}

static char *
random_argument(void)
{
	static const char *const units[] = {"", "ms", "s", "m", "h", "d"};
	char *argument = mem_alloc((size_t)2 * TEXT_MAX), *text;
	enum option_id id = texts[(size_t)rand() % LENGTH(texts)];

	if (rand() % 3 == 0) {
		id = durations[(size_t)rand() % LENGTH(durations)];
		sprintf(argument, "--%s=%d%s", opts_table[id].longs[0],
		    rand() % 100, units[(size_t)rand() % LENGTH(units)]);
		return argument;
	}
	text = random_text("", LENGTH(pieces));
	sprintf(argument, "--%s=%s", opts_table[id].longs[0], text);
	free(text);
	return argument;
}

static void
test_round_trips(void)
{
	int accepted = 0, commented = 0, wrong = 0;

	srand(24);
	for (int i = 0; i < ROUNDS; i++) {
		char *first = random_argument(), *second = random_argument();
		char *url = random_text("unix:///", URL_PIECES);
		struct shown shown;

		if (i % 4 != 1)
			strcpy(url, "rediss://h");
		show(&shown, (char *[]){"rlockrun", "--show-config", "-r", url,
				 first, second, NULL});
		if (shown.status == 0) {
			accepted++;
			commented += strstr(shown.opts.shown, " cannot ") != 0;
			if (!reads_back(&shown) && wrong++ == 0)
				printf("# %s %s %s\n%s", url, first, second,
				    shown.opts.shown);
		}
		shown_free(&shown);
		free(first);
		free(second);
		free(url);
	}
	is_int(wrong, 0, "what is shown leads to the same");
	ok(accepted > ROUNDS / 2, "most are accepted: %d", accepted);
	ok(commented > accepted / 10 && commented < accepted * 9 / 10,
	    "some cannot be shown: %d", commented);
}

/* The line of the option, without its origin. */
static void
is_line(char *argument, const char *want)
{
	struct shown shown;
	char *settings, *line;

	show(&shown, (char *[]){"rlockrun", "--show-config", argument, NULL});
	settings = settings_of(shown.opts.shown);
	line = strstr(settings, want);
	if (!ok(line != NULL && (line == settings || line[-1] == '\n') &&
		    line[strlen(want)] == '\n',
		"%.*s", (int)strcspn(want, "\xe9"), want))
		printf("# got %s", settings);
	free(settings);
	shown_free(&shown);
}

static void
test_lines(void)
{
	is_line("--label=a", "keep-history = 4d");
	is_line("--once-per=2d", "keep-history = 6d");
	is_line("--once-per=1d", "keep-history = 4d");
	is_line("--expect=31d", "keep-history = 93d");
	is_line("--once-per=40d", "keep-history = 100d");
	is_line("--expect=3653d", "keep-history = 100d");
	is_line("--expect=0", "keep-history = 4d");
	is_line("--keep-history=5h", "keep-history = 5h");
	is_line("--label=a", "kill-after = 5s");
	is_line("--ttl=10s", "kill-after = 1666ms");
	is_line("--ttl=90m", "min-uptime = 90m");
	is_line("--ttl=2h", "min-uptime = 2h");
	is_line("--min-hold=2h", "min-uptime = 2h");
	is_line("--min-hold=10s", "min-uptime = 1m");
	is_line("--label=a", "splay = 0s");
	is_line("--label=a \"b\" c", "label = a \"b\" c");
	is_line("--label=a # c", "label = \"a # c\"");
	is_line("--label= a", "label = \" a\"");
	is_line("--label=a\t", "label = \"a\t\"");
	is_line("--label=#", "label = \"#\"");
	is_line("--label=a#", "label = a#");
	is_line("--label=caf\xe9", "label = caf\xe9");
	is_line("--label=\\n", "label = \\n");
	is_line("--prefix=", "prefix =");
}

static void
test_comments(void)
{
	static char *const arguments[] = {"--label=a\nttl = 1s",
	    "--label=\x1b[2J", "--label=\"a\"", "--label= \"", "--label=\x9b",
	    "--label=\xc2\x9b"};

	for (size_t i = 0; i < LENGTH(arguments); i++) {
		struct shown shown;

		show(&shown, (char *[]){"rlockrun", "--show-config",
				 arguments[i], NULL});
		ok(is_commented_out(shown.opts.shown, OPT_LABEL) &&
			strpbrk(shown.opts.shown, "\x1b\x9b") == NULL &&
			strstr(shown.opts.shown, "\nlabel") == NULL,
		    "%zu cannot be shown", i);
		shown_free(&shown);
	}
}

int
main(void)
{
	int fd = mkstemp(path);

	if (fd == -1 || freopen("/dev/null", "w", stderr) == NULL)
		abort();
	setenv("RLOCKRUN_CONFIG", "none", 1);
	unsetenv("RLOCKRUN_REDIS");
	test_lines();
	test_comments();
	test_round_trips();
	unlink(path);
	close(fd);
	return tap_done();
}
