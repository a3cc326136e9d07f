/* What a lock needs on its servers: the tier that is left, and the access rules
 * of the manual. */
#include "lock/needs.h"

#include <stdlib.h>

#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static const struct endpoint server = {.cluster = false};
static struct lock_config config = {.key = "job",
    .servers = &server,
    .server_count = 1,
    .wait = true,
    .kind = &kind_exclusive,
    .expect_ms = -1,
    .history_ms = 1000};

/* --- tiers ------------------------------------------------------------ */

static enum claim_tier
tier_without(uint64_t commands, uint64_t keys)
{
	const struct needs denied = {commands, keys};

	return needs_tier(&config, claim_top_tier(&config), &denied);
}

#define BIT(name) NEEDS_BIT(NEEDS_##name)
#define KEY(name) NEEDS_BIT(KEY_##name)

static void
is_tier(uint64_t commands, uint64_t keys, enum claim_tier tier,
    const char *what)
{
	is_int(tier_without(commands, keys), tier, what);
}

/* Whether a run can do without, by what is denied of each. */
static void
test_tiers(void)
{
	static const uint64_t helper_keys[] = {KEY(INFO), KEY(RUNS), KEY(QUEUE),
	    KEY(ALIVE), KEY(DOORBELL)};
	static const uint64_t lock_commands[] = {BIT(SCRIPTS), BIT(GET),
	    BIT(PTTL), BIT(SET), BIT(DEL), BIT(PEXPIRE), BIT(EXISTS)};

	is_tier(0, 0, CLAIM_FULL, "nothing is denied");
	for (size_t i = 0; i < LENGTH(helper_keys); i++)
		is_tier(0, helper_keys[i], CLAIM_PLAIN, "a helper key");
	for (size_t i = 0; i < LENGTH(lock_commands); i++)
		is_tier(lock_commands[i], 0, CLAIM_NONE,
		    "a command that each lock needs");
	is_tier(0, KEY(LOCK), CLAIM_NONE, "the lock's own key");
	is_tier(BIT(HSET), 0, CLAIM_PLAIN, "the record");
	is_tier(BIT(ZADD), 0, CLAIM_PLAIN, "the queue");
	is_tier(BIT(BLPOP) | BIT(RPUSH) | BIT(LPUSH) | BIT(LRANGE) | BIT(HDEL) |
		    BIT(EVALSHA) | BIT(SETNAME) | BIT(ZCOUNT),
	    KEY(NESTED), CLAIM_FULL, "what a run does without");
	config.wait = false;
	is_tier(BIT(ZADD) | BIT(ZRANK), 0, CLAIM_FULL,
	    "the queue, with --no-wait");
	config.wait = true;
}

/* Policies do not fall back. */
static void
test_policies(void)
{
	static const struct {
		const char *what;
		struct lock_config with;
	} policies[] = {
	    {"--once-per", {.once_ms = 1000, .expect_ms = -1}},
	    {"--once-id", {.once_id = "a", .expect_ms = -1}},
	    {"--expect", {.expect_ms = 1000}},
	    {"--newest", {.newest = true, .expect_ms = -1}},
	    {"--replace", {.replace = true, .expect_ms = -1}},
	    {"--replaceable", {.replaceable = true, .expect_ms = -1}},
	};
	const struct lock_config plain = config;

	for (size_t i = 0; i < LENGTH(policies); i++) {
		config = policies[i].with;
		config.key = plain.key;
		config.servers = plain.servers;
		config.server_count = 1;
		config.kind = &kind_exclusive;
		is_tier(BIT(LPUSH) | BIT(BLPOP), 0, CLAIM_FULL,
		    policies[i].what);
		is_tier(0, KEY(INFO), CLAIM_NONE, "  needs the record");
		is_tier(BIT(ZRANGEBYSCORE), 0, CLAIM_NONE,
		    "  and the queue, also if it does not wait");
	}
	config = plain;
}

static void
test_counted(void)
{
	config.kind = &kind_shared;
	is_tier(BIT(ZADD), 0, CLAIM_NONE, "a reader is a member");
	is_tier(BIT(HKEYS), 0, CLAIM_PLAIN, "whose record cannot be filed");
	is_tier(BIT(ZRANK), 0, CLAIM_PLAIN, "without a queue");
	config.kind = &kind_exclusive;
}

/* Of the rows of one server, none is about another way to find it. */
static void
test_uses(void)
{
	static const struct endpoint node = {.cluster = true};
	const struct needs_row *row = needs_rows;
	size_t elsewhere = 0, unused = 0;

	config.server_count = 2;
	for (; *row->check != '\0'; row++) {
		enum needs_use use = needs_use_of(row, &config, &node);

		elsewhere += use == NEEDS_ELSEWHERE;
		unused += use == NEEDS_UNUSED;
		if (row->by == NEEDS_BY_CLUSTER || row->by == NEEDS_BY_SEVERAL)
			is_int(use, NEEDS_USED, row->check);
	}
	is_int((int64_t)elsewhere, 1, "sentinels are elsewhere");
	ok(unused > 0, "and some rows are about others");
	config.server_count = 1;
}

/* --- the manual ------------------------------------------------------- */

static char manual[1 << 20];

/* The rules of its section about them from one word to another, as the bits of
 * the commands. */
static uint64_t
rules_between(const char *from, const char *to)
{
	char *section = strstr(manual, "\n.Sh ACCESS RULES");
	char *begin = section == NULL ? NULL : strstr(section, from);
	char *end = begin == NULL ? NULL : strstr(begin, to);
	uint64_t commands = 0;
	char saved;

	if (end == NULL)
		return 0;
	saved = *end;
	*end = '\0';
	for (char *rule = strchr(begin, '+'); rule != NULL;
	     rule = strchr(rule, '+')) {
		size_t length = strcspn(++rule, " \n\\");

		for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
			if (strlen(needs_rules[i]) == length &&
			    strncmp(rule, needs_rules[i], length) == 0)
				commands |= NEEDS_BIT(i);
	}
	*end = saved;
	return commands;
}

/* Of the rows with that check, or of all that such runs use. EVAL is a rule for
 * itself and for all scripts. */
static uint64_t
commands_of(const char *check, const struct lock_config *run)
{
	uint64_t commands = 0;

	for (const struct needs_row *row = needs_rows; *row->check != '\0';
	     row++)
		if (run == NULL
			? strcmp(row->check, check) == 0
			: needs_use_of(row, run, run->servers) == NEEDS_USED)
			commands |= row->needs.commands;
	if (commands & BIT(SCRIPTS))
		commands |= BIT(EVAL);
	return commands;
}

static void
is_rules(uint64_t documented, uint64_t needed, const char *what)
{
	documented |= documented & BIT(EVAL) ? BIT(SCRIPTS) : 0;
	ok(documented == needed, "%s", what);
	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if ((documented ^ needed) & NEEDS_BIT(i))
			printf("# %s is %s\n", needs_rules[i],
			    documented & NEEDS_BIT(i) ? "not needed"
						      : "not documented");
}

static void
test_manual(void)
{
	struct lock_config run = config;
	uint64_t all;

	run.once_ms = 1000;
	all = commands_of(NULL, &run) | commands_of("access-digest", NULL) |
	      commands_of("access-name", NULL);
	is_rules(rules_between("\nACL SETUSER locker on", "\n.Ed"), all,
	    "the rules of the manual are those of an exclusive lock");
	is_rules(rules_between("\nTo acquire counted locks", "needed"),
	    commands_of("access-counted", NULL) & ~all,
	    "those of counted locks");
	is_rules(rules_between("\n.Fl Fl wait-replicas\nneeds", ","),
	    commands_of("access-replicas", NULL), "of --wait-replicas");
	is_rules(rules_between("\nand several servers need", ","),
	    commands_of("access-votes", NULL), "of several servers");
	is_rules(rules_between("\nWith Sentinel,", "With Cluster"),
	    commands_of("access-sentinel", NULL), "of sentinels");
	is_rules(rules_between("\nWith Cluster,", ".Fl Fl wait-replicas"),
	    commands_of("access-cluster", NULL), "of a cluster");
	is_rules(rules_between("\n.Fl Fl status\nneeds", "Without"),
	    commands_of("access-status", NULL), "of --status");
	is_rules(rules_between("\n.Fl Fl list\nalso needs", ".Pq"),
	    commands_of("access-list", NULL) &
		~commands_of("access-status", NULL),
	    "of --list");
	is_rules(rules_between("\n.Fl Fl force-release\nalso needs", "\n.Sh"),
	    commands_of("access-force", NULL) &
		~commands_of("access-status", NULL),
	    "of --force-release");
}

int
main(void)
{
	FILE *file = fopen("man/rlockrun-servers.7", "r");

	if (file == NULL || fread(manual, 1, sizeof(manual) - 1, file) < 1000) {
		perror("man/rlockrun-servers.7");
		return EXIT_FAILURE;
	}
	fclose(file);
	test_tiers();
	test_policies();
	test_counted();
	test_uses();
	test_manual();
	return tap_done();
}
