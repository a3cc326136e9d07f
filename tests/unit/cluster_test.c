#include "redis/ways/cluster.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

/* As CLUSTER KEYSLOT of Redis 7.0.15 says; cluster.bats asks it about more. */
static const struct {
	const char *key;
	int slot;
} keys[] = {
    {"", 0},
    {"123456789", 12739},
    {"foo", 12182},
    {"{foo}bar", 12182},
    {"x{foo}{bar}", 12182},
    {"foo{}{bar}", 8363},
    {"foo{{bar}}zap", 4015},
    {"a}b", 7866},
};

static const struct {
	const char *error;
	enum cluster_redirect said;
	const char *host;
	int port;
} redirects[] = {
    {"MOVED 3999 127.0.0.1:6381", CLUSTER_MOVED, "127.0.0.1", 6381},
    {"ASK 1 h.example:1", CLUSTER_ASK, "h.example", 1},
    {"MOVED 3999 2001:db8::1:6381", CLUSTER_MOVED, "2001:db8::1", 6381},
    {"MOVED 3999 :6381", CLUSTER_MOVED, "", 6381},
    {"ASK 3999 ?:6381", CLUSTER_ASK, "", 6381},
    {"MOVED", CLUSTER_NONE, NULL, 0},
    {"MOVED 1", CLUSTER_NONE, NULL, 0},
    {"MOVED 1 h", CLUSTER_NONE, NULL, 0},
    {"MOVED 1 h:0", CLUSTER_NONE, NULL, 0},
    {"MOVED 1 h:65536", CLUSTER_NONE, NULL, 0},
    {"MOVED 1 h:1 x", CLUSTER_NONE, NULL, 0},
    {"ASKING", CLUSTER_NONE, NULL, 0},
    {"ERR MOVED 1 h:1", CLUSTER_NONE, NULL, 0},
    {"", CLUSTER_NONE, NULL, 0},
};

static void *parsed[16];
static size_t parsed_count;

static const struct value *
parse(const char *wire)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;

	redisReaderFeed(reader, wire, strlen(wire));
	redisReaderGetReply(reader, &reply);
	redisReaderFree(reader);
	parsed[parsed_count++] = reply;
	return reply;
}

static void
is_picked(struct cluster *cluster, const char *host, int port)
{
	const struct url_address *node = cluster_pick(cluster);

	is_text(node->host, host, "  host");
	is_int(node->port, port, "  port");
}

static void
test_picks(void)
{
	struct endpoint hosts[] = {{.host = "a", .port = 1},
	    {.host = "b", .port = 2}, {.host = "c", .port = 3}};
	struct endpoint url = {.hosts = hosts, .host_count = 3};
	const struct url_address other = {"d", 4}, same = {"", 5};
	struct cluster cluster;

	ok(cluster_init(&cluster, &url, 16383) == 0, "the last of the slots");
	is_picked(&cluster, "c", 3);
	ok(true, "one that isn't confirmed isn't picked again");
	is_picked(&cluster, "a", 1);
	cluster_confirm(&cluster);
	ok(true, "one that is is, once");
	is_picked(&cluster, "a", 1);
	is_picked(&cluster, "b", 2);
	cluster_moved(&cluster, &other);
	ok(true, "one that others say owns it, once");
	is_picked(&cluster, "d", 4);
	cluster_moved(&cluster, &same);
	ok(true, "without a host, the same host");
	is_picked(&cluster, "d", 5);
	is_picked(&cluster, "c", 3);
	cluster_confirm(&cluster);
	cluster_doubt(&cluster);
	ok(true, "one that is in doubt isn't");
	is_picked(&cluster, "a", 1);
	cluster_fini(&cluster);
	ok(cluster_init(&cluster, &url, 5461) == 0, "the last of a third");
	is_picked(&cluster, "a", 1);
	cluster_fini(&cluster);
	ok(cluster_init(&cluster, &url, CLUSTER_ANY_SLOT) == 0, "any slot");
	is_picked(&cluster, "a", 1);
	cluster_fini(&cluster);
}

#define NODE(host, port) "*3\r\n" host ":" port "\r\n$1\r\ni\r\n"
#define A "$1\r\na\r\n"
#define B "$1\r\nb\r\n"
#define SLOTS                                              \
	"*3\r\n"                                           \
	"*4\r\n:0\r\n:99\r\n" NODE(A, "1") NODE("$-1\r\n", \
	    "2") "*4\r\n:100\r\n:199\r\n" NODE(B, "1")     \
	    NODE("$1\r\n?\r\n", "3") "*3\r\n:200\r\n:16383\r\n" NODE(A, "1")

#define BAD_SLOTS                                                           \
	"*1\r\n*5\r\n:0\r\n:16383\r\n" NODE(A, "0") NODE(B, "65536") "*1\r" \
								     "\n" A

static void
test_learning(void)
{
	struct endpoint hosts[] = {{.host = "c", .port = 9}};
	struct endpoint url = {.hosts = hosts, .host_count = 1};
	const struct value *slots = parse(SLOTS);
	struct cluster cluster;
	struct url_address *primaries = NULL;

	ok(cluster_init(&cluster, &url, 150) == 0, "learning");
	is_picked(&cluster, "c", 9);
	ok(cluster_learn(&cluster, NULL) == -1, "  from no answer");
	ok(cluster_learn(&cluster, parse("*0\r\n")) == -1, "  from nothing");
	ok(cluster_learn(&cluster, parse("-ERR\r\n")) == -1, "  from an error");
	ok(cluster_learn(&cluster, parse("*1\r\n*1\r\n:1\r\n")) == -1,
	    "  from something else");
	is_int((int64_t)cluster.count, 1, "  nothing was learnt");
	cluster_learn(&cluster, parse(BAD_SLOTS));
	is_int((int64_t)cluster.count, 1, "  nor from nodes without a port");
	ok(cluster_learn(&cluster, slots) == 0, "  from an answer");
	ok(cluster_learn(&cluster, slots) == 0, "  again");
	is_int((int64_t)cluster.count, 5, "  each once");
	is_picked(&cluster, "c", 9);
	ok(true, "  the own slot's first");
	is_picked(&cluster, "b", 1);
	is_picked(&cluster, "c", 3);
	is_picked(&cluster, "a", 1);
	is_picked(&cluster, "c", 2);
	is_picked(&cluster, "c", 9);
	cluster_fini(&cluster);

	is_int(cluster_primaries(slots, "h", &primaries), 2, "primaries");
	is_text(primaries[0].host, "a", "  one");
	is_text(primaries[1].host, "b", "  and the other");
	free(primaries);
	is_int(cluster_primaries(parse("*0\r\n"), "h", &primaries), -1,
	    "  of nothing");
}

int
main(void)
{
	for (size_t i = 0; i < LENGTH(keys); i++)
		is_int(cluster_slot(keys[i].key), keys[i].slot, keys[i].key);
	for (size_t i = 0; i < LENGTH(redirects); i++) {
		struct url_address to;
		enum cluster_redirect said =
		    cluster_redirect(redirects[i].error, &to);

		is_int(said, redirects[i].said, redirects[i].error);
		if (said == CLUSTER_NONE)
			continue;
		is_text(to.host, redirects[i].host, "  host");
		is_int(to.port, redirects[i].port, "  port");
	}
	test_picks();
	test_learning();
	while (parsed_count > 0)
		freeReplyObject(parsed[--parsed_count]);
	return tap_done();
}
