/* What a lock needs on its servers: the tier that is left, and the access rules
 * of the manual. */
#include "lock/needs.h"

#include <stdlib.h>

#include "tap.h"

static const struct endpoint server = {.cluster = false};
static struct lock_config config = {.key = "job",
    .servers = &server,
    .server_count = 1,
    .wait = true,
    .kind = &kind_exclusive,
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
test_tiers(void)
{
	is_int(tier_without(0, 0), CLAIM_WITH_HISTORY, "nothing is denied");
	is_int(tier_without(0, KEY(HISTORY)), CLAIM_WITH_QUEUE, "the history");
	is_int(tier_without(0, KEY(DOORBELL)), CLAIM_WITH_NESTED, "a doorbell");
	is_int(tier_without(BIT(ZADD), 0), CLAIM_WITH_NESTED, "a command");
	is_int(tier_without(BIT(BLPOP) | BIT(HMGET) | BIT(UNLINK), 0),
	    CLAIM_WITH_HISTORY, "those that a run does without");
	is_int(tier_without(0, KEY(NESTED)), CLAIM_WITH_RECORD, "nested runs");
	is_int(tier_without(0, KEY(FENCE)), 0, "the fence: refused");
	is_int(tier_without(BIT(PTTL), 0), 0, "the lease: refused");
	config.once_ms = 1000;
	is_int(tier_without(BIT(BLPOP), 0), CLAIM_WITH_HISTORY, "--once-per");
	is_int(tier_without(BIT(ZADD), 0), 0, "  depends on the history");
	config.wait = false;
	is_int(tier_without(BIT(ZSCORE) | BIT(ZRANK) | BIT(ZCOUNT) | BIT(ZADD) |
				BIT(ZREM),
		   0),
	    CLAIM_WITH_HISTORY, "  and on these if it waits");
	is_int(tier_without(BIT(ZRANGE), 0), 0, "  on this in any case");
	config.wait = true;
	config.once_ms = 0;
	is_int(tier_without(0, KEY(NEWEST)), CLAIM_WITH_HISTORY,
	    "the key of --newest, which this run does not use");
	config.newest = true;
	is_int(tier_without(0, KEY(HISTORY)), CLAIM_WITH_QUEUE, "--newest");
	is_int(tier_without(0, KEY(NEWEST)), 0, "  depends on its key");
	is_int(tier_without(0, KEY(ALIVE)), 0, "  and on the queue");
	config.newest = false;
	config.replaceable = true;
	is_int(tier_without(0, KEY(NEWEST)), CLAIM_WITH_HISTORY,
	    "--replaceable");
	is_int(tier_without(0, KEY(ORDER)), 0, "  depends on its key");
	is_int(tier_without(0, KEY(ALIVE)), 0, "  and on the queue");
	config.replaceable = false;
	config.once_id = "a";
	is_int(tier_without(BIT(ZADD), 0), 0, "so does --once-id");
	config.once_id = NULL;
	config.expect_ms = 1000;
	is_int(tier_without(BIT(ZADD), 0), 0, "so does --expect");
	config.expect_ms = 0;
	config.kind = &kind_shared;
	is_int(tier_without(BIT(ZADD), 0), 0, "a reader is a member");
	config.server_count = 2;
	config.servers = (const struct endpoint[2]){server, server};
	is_int(tier_without(0, KEY(QUEUE)), CLAIM_WITH_NESTED, "Redlock");
	config.server_count = 1;
	config.servers = &server;
	config.kind = &kind_exclusive;
}

static void
test_next_tier(void)
{
	static const struct {
		const char *error;
		enum claim_tier tier, next;
	} errors[] = {
	    {"NOPERM this user has no permissions to access one of the keys",
		CLAIM_WITH_HISTORY, CLAIM_WITH_QUEUE},
	    {"ERR The user executing the script can't run this command or "
	     "subcommand (ZADD)",
		CLAIM_WITH_HISTORY, CLAIM_WITH_NESTED},
	    {"ERR ACL failure in script: User u has no permissions to run the "
	     "'zadd' command (ZADD)",
		CLAIM_WITH_QUEUE, CLAIM_WITH_NESTED},
	    {"ERR ACL failure in script: No permissions to access a key "
	     "(PEXPIRE)",
		CLAIM_WITH_HISTORY, CLAIM_WITH_QUEUE},
	    {"ERR The user executing the script can't run this command or "
	     "subcommand (SET)",
		CLAIM_WITH_HISTORY, 0},
	    {"NOPERM User u has no permissions to run the 'eval' command",
		CLAIM_WITH_HISTORY, 0},
	    {"NOPERM No permissions to access a key", CLAIM_WITH_RECORD, 0},
	};
	struct claim claim = {.config = &config};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		claim.tier = errors[i].tier;
		is_int(needs_next_tier(&claim, errors[i].error, true),
		    errors[i].next, errors[i].error);
	}
	claim.tier = CLAIM_WITH_HISTORY;
	config.wait = false;
	is_int(needs_next_tier(&claim, errors[1].error, true), errors[1].next,
	    "likewise with -n");
	config.wait = true;
	is_int(needs_next_tier(&claim, "WRONGTYPE", false), CLAIM_WITH_NESTED,
	    "a damaged queue");
	config.newest = true;
	is_int(needs_next_tier(&claim, "WRONGTYPE", false), 0,
	    "  which --newest depends on");
	config.newest = false;
	claim.tier = CLAIM_WITH_NESTED;
	is_int(needs_next_tier(&claim, "WRONGTYPE", false), 0,
	    "  is no reason to do without nested runs");
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
	      commands_of("access-unlink", NULL) |
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
	test_next_tier();
	test_manual();
	return tap_done();
}
