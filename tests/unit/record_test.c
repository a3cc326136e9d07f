/* What a run says of itself: what is written is read again, and of what others
 * have written nothing is taken that is out of range. */
#include "lock/record.h"

#include <stdlib.h>

#include "tap.h"

#define TOKEN "01234567-89ab-4def-8123-456789abcdef"

static struct lock_config config = {.kind = &kind_exclusive,
    .label = "",
    .command = "backup"};
static struct holder self = {.pid = "4121", .host = "web-3", .user = "deploy"};

static void
is_record(const char *want, const char *what)
{
	char record[RECORD_SIZE];

	record_make(record, &config, &self);
	is_text(record, want, what);
}

static void
test_makes(void)
{
	is_record("run 0 4121 web-3 deploy - backup", "a run");
	config.replaceable = true;
	is_record("replaceable 0 4121 web-3 deploy - backup",
	    "one that others may replace");
	config.is_hold = true;
	config.command = "";
	config.label = "db migration";
	is_record("hold 0 4121 web-3 deploy db%20migration -", "a hold");
	config.is_pause = true;
	is_record("pause 0 4121 web-3 deploy db%20migration -", "a pause");
	config.is_pause = config.is_hold = config.replaceable = false;
	config.kind = &kind_permits;
	config.permits = 3;
	config.label = "";
	config.command = "backup";
	is_record("run 3 4121 web-3 deploy - backup", "permits");
	config.kind = &kind_shared;
	is_record("run 0 4121 web-3 deploy - backup", "only of their kind");
	config.kind = &kind_exclusive;
}

/* --- words ------------------------------------------------------------ */

static const struct {
	const char *text, *word;
} words[] = {
    {"", "-"},
    {"-", "%2D"},
    {"--", "--"},
    {"-x", "-x"},
    {"a b", "a%20b"},
    {" ", "%20"},
    {"100%", "100%25"},
    {"%41", "%2541"},
    {"a|b", "a%7Cb"},
    {"a\tb\nc\r", "a%09b%0Ac%0D"},
    {"\x01\x1f\x7f", "%01%1F%7F"},
    {"\x1b[31m", "%1B[31m"},
    {"\xc3\xa4\xff", "\xc3\xa4\xff"},
    {"\"'\\{}:", "\"'\\{}:"},
};

static void
test_words(void)
{
	char text[400];

	for (size_t i = 0; i < LENGTH(words); i++) {
		struct holder read;
		struct record_words at = {text};

		config.label = words[i].text;
		snprintf(text, sizeof(text),
		    "run 0 4121 web-3 deploy %s backup", words[i].word);
		is_record(text, text);
		record_read(&at, &read, NULL, 0);
		is_text(read.label, words[i].text, "  read again");
		is_text(at.at, "", "  with all that follows");
	}
	config.label = "";
}

/* What others have written. */
static void
test_strange_words(void)
{
	static const struct {
		const char *text, *word, *rest;
	} rows[] = {
	    {"%", "%", ""},
	    {"%4", "%4", ""},
	    {"%4x1", "%4x1", ""},
	    {"%4a", "%4a", ""},
	    {"%4A%4", "J%4", ""},
	    {"%00x", "%00x", ""},
	    {"%10x", "\x10x", ""},
	    {"%01x", "\x01x", ""},
	    {"%0", "%0", ""},
	    {"%%41", "%A", ""},
	    {"%FF", "\xff", ""},
	    {"%G0%0G", "%G0%0G", ""},
	    {"%4 1", "%4", "1"},
	    {"a  b", "a", " b"},
	    {" b", "", "b"},
	    {"- b", "", "b"},
	    {"-%41 b", "-A", "b"},
	    {"a|b c", "a|b", "c"},
	    {"123456789", "1234567", ""},
	    {"123456%41%42 c", "123456A", "c"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct record_words at = {rows[i].text};
		char word[8];

		record_word(&at, word, sizeof(word));
		is_text(word, rows[i].word, rows[i].text);
		is_text(at.at, rows[i].rest, "  the rest");
	}
}

static void
test_numbers(void)
{
	static const struct {
		const char *text;
		int64_t number;
	} rows[] = {
	    {"0", 0},
	    {"7 8", 7},
	    {"100", 100},
	    {"101", -1},
	    {"-1", -1},
	    {"-", -1},
	    {"", -1},
	    {" 7", -1},
	    {"7x", -1},
	    {"0x7", -1},
	    {"7.0", -1},
	    {"1e1", -1},
	    {"inf", -1},
	    {"nan", -1},
	    {"9223372036854775808", -1},
	    {"99999999999999999999999999999999", -1},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct record_words at = {rows[i].text};

		is_int(record_number(&at, 100), rows[i].number, rows[i].text);
	}
}

static void
test_times(void)
{
	static const struct {
		const char *text;
		int64_t now_ms, time_ms;
	} rows[] = {
	    {"1700000000000", 1700000001000, 1700000000000},
	    {"1700000002000", 1700000001000, 1700000002000},
	    {"0", 1700000001000, 0},
	    {"1700000000000", 1700000000000 + LIMIT_AGE_MS, 0},
	    {"1700000000000", 1700000000000 - LIMIT_AGE_MS, 0},
	    {"1700000000000", 1699999999999 + LIMIT_AGE_MS, 1700000000000},
	    {"1700000000000", 1700000000001 - LIMIT_AGE_MS, 1700000000000},
	    {"1", 2, 1},
	    {"1700000000000x", 1700000001000, 0},
	    {"-", 1700000001000, 0},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct record_words at = {rows[i].text};

		is_int(record_time(&at, rows[i].now_ms), rows[i].time_ms,
		    rows[i].text);
	}
}

/* --- lengths ---------------------------------------------------------- */

/* What is written fits into what is read, and one byte more is cut off. Scripts
 * cut what they pass on: that may cost the end of the command. */
static void
test_lengths(void)
{
	static char label[LIMIT_LABEL + 2], command[LIMIT_LONG_TEXT + 2];
	char read_command[LIMIT_LONG_TEXT + 1], record[RECORD_SIZE];
	struct record_words at;
	struct holder read;

	memset(label, '%', sizeof(label) - 1);
	memset(command, ' ', sizeof(command) - 1);
	memset(self.host, '|', sizeof(self.host) - 1);
	memset(self.user, '\n', sizeof(self.user) - 1);
	config.label = label;
	config.command = command;
	record_make(record, &config, &self);
	at.at = record;
	record_read(&at, &read, read_command, sizeof(read_command));
	is_int((int64_t)strlen(read.label), LIMIT_LABEL, "a label is cut");
	is_int((int64_t)strlen(read_command), LIMIT_LONG_TEXT,
	    "  a command, too");
	is_text(read.host, self.host, "  a host is whole");
	is_text(read.user, self.user, "  so is a user");
	record[LIMIT_ENTRY - 100] = '\0';
	at.at = record;
	record_read(&at, &read, read_command, sizeof(read_command));
	is_int((int64_t)strlen(read.label), LIMIT_LABEL,
	    "cut by a script, it has its label");
	is_text(read.host, self.host, "  and its host");
	ok(strlen(read_command) > LIMIT_LONG_TEXT / 2,
	    "  and most of its command");
	config.label = "";
	config.command = "backup";
	strcpy(self.host, "web-3");
	strcpy(self.user, "deploy");
}

/* --- records, entries -------------------------------------------------- */

static const char *
said(const struct holder *who, const char *command)
{
	static const char *const states[] = {"", "none", "foreign", "known",
	    "ended", "hold", "paused"};
	static char text[4096];

	snprintf(text, sizeof(text), "%s%s %" PRId64 " %s %s %s '%s' '%s'",
	    states[who->state], who->replaceable ? ",replaceable" : "",
	    who->permits, who->pid, who->host, who->user, who->label, command);
	return text;
}

static void
test_reads(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"run 0 4121 web-3 deploy l backup",
		"known 0 4121 web-3 deploy 'l' 'backup'"},
	    {"replaceable 5 1 h u - c", "known,replaceable 5 1 h u '' 'c'"},
	    {"ended 0 1 h u - c", "known 0 1 h u '' 'c'"},
	    {"run 1 0 h u - c", "known 1 0 h u '' 'c'"},
	    {"hold 0 1 h u - -", "hold 0 1 h u '' ''"},
	    {"pause 0 1 h u - -", "paused 0 1 h u '' ''"},
	    {"", "known 0 ? ? ? '' ''"},
	    {"run", "known 0 ? ? ? '' ''"},
	    {"run 0 1 h", "known 0 1 h ? '' ''"},
	    {"strange 0 1 h u l c more", "known 0 1 h u 'l' 'c'"},
	    {"replaceable-and-long 0 1 h u l c", "known 0 1 h u 'l' 'c'"},
	    {"run 1000000 4194304 h u l c",
		"known 1000000 4194304 h u 'l' 'c'"},
	    {"run 1000001 4194305 h u l c", "known 0 ? h u 'l' 'c'"},
	    {"run -1 -1 h u l c", "known 0 ? h u 'l' 'c'"},
	    {"run x 1;2 h u l c", "known 0 ? h u 'l' 'c'"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct record_words at = {rows[i].text};
		struct holder read = {.permits = 7, .replaceable = true};
		char command[LIMIT_LONG_TEXT + 1];

		record_read(&at, &read, command, sizeof(command));
		is_text(said(&read, command), rows[i].want, rows[i].text);
	}
}

#define NOW 1700000000000
#define RUN " run 0 1 h u - c"

/* Whether it is left, the fence, since when and for how long. */
static void
test_entries(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {TOKEN " 17 1699999999000" RUN,
		"known 0 1 h u '' 'c'; '17' 1699999999000 1000"},
	    {TOKEN ": 17 1699999999000" RUN,
		"known 0 1 h u '' 'c'; left '17' 1699999999000 1000"},
	    {TOKEN ":kept 17 1699999999000" RUN,
		"ended 0 1 h u '' 'c'; '17' 1699999999000 1000"},
	    {"s:" TOKEN " 9007199254740991 1700000000000" RUN,
		"known 0 1 h u '' 'c'; '9007199254740991' 1700000000000 0"},
	    {TOKEN " 17 1700000001000" RUN,
		"known 0 1 h u '' 'c'; '17' 1700000001000 0"},
	    {TOKEN " 9007199254740992 1" RUN, "known 0 1 h u '' 'c'; '' 0 -1"},
	    {TOKEN " 1 1699999999999" RUN,
		"known 0 1 h u '' 'c'; '1' 1699999999999 1"},
	    {"kept 17 1699999999000" RUN,
		"known 0 1 h u '' 'c'; '17' 1699999999000 1000"},
	    {"a:kept 17 1699999999000" RUN,
		"ended 0 1 h u '' 'c'; '17' 1699999999000 1000"},
	    {TOKEN " 0 0" RUN, "known 0 1 h u '' 'c'; '' 0 -1"},
	    {TOKEN " -1 -1" RUN, "known 0 1 h u '' 'c'; '' 0 -1"},
	    {TOKEN " x 1e12" RUN, "known 0 1 h u '' 'c'; '' 0 -1"},
	    {TOKEN " 17 1384380800000" RUN, "known 0 1 h u '' 'c'; '17' 0 -1"},
	    {TOKEN " 17 1384380800001" RUN,
		"known 0 1 h u '' 'c'; '17' 1384380800001 315619199999"},
	    {TOKEN " 17 99999999999999" RUN, "known 0 1 h u '' 'c'; '17' 0 -1"},
	    {TOKEN " ", "known 0 ? ? ? '' ''; '' 0 -1"},
	    {" ", "known 0 ? ? ? '' ''; '' 0 -1"},
	    {": ", "known 0 ? ? ? '' ''; left '' 0 -1"},
	    {":kept ", "known 0 ? ? ? '' ''; '' 0 -1"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct holder read = {.replaceable = true};
		struct record_entry entry;
		char got[5000];

		ok(record_read_entry(rows[i].text, NOW, &read, &entry),
		    "an entry '%s'", rows[i].text);
		snprintf(got, sizeof(got), "%s; %s'%s' %" PRId64 " %" PRId64,
		    said(&read, entry.command), entry.is_left ? "left " : "",
		    entry.fence, entry.since_ms, read.held_ms);
		is_text(got, rows[i].want, "  says");
	}
}

/* Nobody can replace a run that has ended. */
static void
test_ends(void)
{
	static const char *const marks[] = {"", ":", ":kept"};

	for (size_t i = 0; i < LENGTH(marks); i++) {
		char text[100];
		struct holder read;
		struct record_entry entry;

		snprintf(text, sizeof(text),
		    TOKEN "%s 17 1 replaceable 0 1 h u - c", marks[i]);
		ok(record_read_entry(text, NOW, &read, &entry) &&
			read.replaceable == (i == 0),
		    "whether '%s' can be replaced", text);
		is_text(entry.command, "c", "  its command");
	}
}

static void
test_no_entry(void)
{
	struct holder read = {.state = HOLDER_FOREIGN, .pid = "?"};
	struct record_entry entry = {.fence = "17"};

	ok(!record_read_entry("", NOW, &read, &entry) &&
		!record_read_entry(TOKEN, NOW, &read, &entry),
	    "no entry");
	ok(read.state == HOLDER_FOREIGN && *entry.fence == '\0',
	    "  tells of nobody");
}

int
main(void)
{
	test_makes();
	test_words();
	test_strange_words();
	test_numbers();
	test_times();
	test_lengths();
	test_reads();
	test_entries();
	test_ends();
	test_no_entry();
	return tap_done();
}
