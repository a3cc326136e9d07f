/* What is found in an answer to INFO. */
#include "redis/info.h"

#include "tap.h"

static const char info[] =
    "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n"
    "uptime_in_seconds:12\r\nmaxmemory:104857600\r\n"
    "maxmemory_policy:allkeys-lru\r\nmaxclients:\r\n"
    "connected_clients:-3\r\nused_memory:1x\r\n"
    "connected_slaves:2\r\n"
    "slave0:ip=1.2.3.4,port=1,state=online,offset=14,lag=0\r\n"
    "slave1:ip=1.2.3.5,port=1,state=wait_bgsave,offset=0,lag=0\r\n"
    "slave_expires:,state=online,\r\nrole:master";

static void
test_texts(void)
{
	char text[64];

	info_text(info, "redis_version", text, sizeof(text));
	is_text(text, "7.0.15", "a text");
	info_text(info, "maxmemory_policy", text, sizeof(text));
	is_text(text, "allkeys-lru", "a name that begins like another one");
	info_text(info, "role", text, sizeof(text));
	is_text(text, "master", "a line without an end");
	info_text(info, "version", text, sizeof(text));
	is_text(text, "", "a name that ends like another one");
	info_text(info, "", text, sizeof(text));
	is_text(text, "", "no name");
	ok(info_is(info, "run_id", "abc"), "the same text");
	ok(!info_is(info, "run_id", "ab"), "a longer one");
	ok(info_is(info, "mode", ""), "a text that is missing");
}

static void
test_numbers(void)
{
	is_int(info_number(info, "uptime_in_seconds"), 12, "a number");
	is_int(info_number(info, "maxmemory"), 104857600, "a large one");
	is_int(info_number(info, "maxclients"), -1, "no number");
	is_int(info_number(info, "connected_clients"), -1, "a negative one");
	is_int(info_number(info, "used_memory"), -1, "one with trailing text");
	is_int(info_number(info, "connected_slaves"), 2, "replicas");
	is_int(info_online_replicas(info), 1, "those online");
	is_int(info_number("n:0\r\n", "n"), 0, "zero");
	is_int(info_number("n:99999999999999999999999999", "n"), -1,
	    "one that is too large");
}

static void
test_hostile(void)
{
	char text[16], hostile[4096];

	is_int(info_number(NULL, "maxmemory"), -1, "no answer has no number,");
	is_int(info_online_replicas(NULL), -1, "no replicas,");
	info_text(NULL, "role", text, sizeof(text));
	is_text(text, "", "and no text");
	is_int(info_number("", "maxmemory"), -1, "an empty one");
	info_text("\r\n:\r\n::::\nrole", "role", text, sizeof(text));
	is_text(text, "", "a line without a colon");
	is_int(info_online_replicas("slave0\r\nslave:,state=online,\r\n"), 0,
	    "lines that begin like those of replicas");
	memset(hostile, 'v', sizeof(hostile));
	memcpy(hostile, "role:", 5);
	hostile[sizeof(hostile) - 1] = '\0';
	info_text(hostile, "role", text, sizeof(text));
	is_int((int64_t)strlen(text), sizeof(text) - 1, "a long text is cut");
	ok(!info_is(hostile, "role", text), "and is not its beginning");
}

int
main(void)
{
	test_texts();
	test_numbers();
	test_hostile();
	return tap_done();
}
