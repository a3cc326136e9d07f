/* What --doctor makes of the replies of a server, and of its clock. */
#include "doctor/doctor_clock.h"
#include "doctor/doctor_server.h"

#include "tap.h"

static void
test_info(void)
{
	struct doctor_server server;

	doctor_server_init(&server);
	is_int(server.maxmemory, -1, "at first nothing is known");
	doctor_server_read_info(&server,
	    "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n"
	    "uptime_in_seconds:12\r\nmaxmemory:104857600\r\n"
	    "maxmemory_policy:allkeys-lru\r\nmaxclients:\r\n"
	    "connected_clients:-3\r\nused_memory:1x\r\n"
	    "connected_slaves:2\r\n"
	    "slave0:ip=1.2.3.4,port=1,state=online,offset=14,lag=0\r\n"
	    "slave1:ip=1.2.3.5,port=1,state=wait_bgsave,offset=0,lag=0\r\n"
	    "slave_expires:,state=online,\r\nrole:master");
	is_text(server.redis_version, "7.0.15", "a text");
	is_int(doctor_server_major(&server), 7, "the first number of it");
	is_int(server.uptime_s, 12, "a number");
	is_int(server.maxmemory, 104857600, "a large one");
	is_text(server.policy, "allkeys-lru", "a name that begins like it");
	is_int(server.maxclients, -1, "no number");
	is_int(server.clients, -1, "a negative one");
	is_int(server.used_memory, -1, "one with trailing text");
	is_int(server.replicas, 2, "replicas");
	is_int(server.replicas_online, 1, "those online");
	is_text(server.role, "master", "a line without an end");
	doctor_server_read_info(&server, "redis_mode:cluster\r\n");
	ok(doctor_server_is_node(&server), "a node of a Redis Cluster");
	doctor_server_read_info(&server, "server_mode:sentinel\r\n");
	is_text(server.mode, "sentinel", "Valkey's word for the mode");
}

static void
test_hostile_info(void)
{
	struct doctor_server server;
	char info[4096];

	doctor_server_init(&server);
	doctor_server_read_info(&server, "");
	doctor_server_read_info(&server, "\r\n:\r\n::::\nrole");
	is_text(server.role, "", "a line without a colon");
	memset(info, 'v', sizeof(info));
	memcpy(info, "role:", 5);
	info[300] = '\0';
	doctor_server_read_info(&server, info);
	is_int((int64_t)strlen(server.role), sizeof(server.role) - 1,
	    "a long text is cut");
	memset(info, 'v', sizeof(info));
	memcpy(info, "run_id:", 7);
	info[sizeof(info) - 1] = '\0';
	doctor_server_read_info(&server, info);
	is_text(server.run_id, "", "a very long line is ignored");
}

static void
test_config(void)
{
	struct doctor_server server;

	doctor_server_init(&server);
	ok(!server.save_known, "nothing is known of snapshots");
	doctor_server_read_config(&server, "save", "");
	ok(server.save_known, "there are none");
	doctor_server_read_config(&server, "min-replicas-to-write", "2");
	is_int(server.min_replicas, 2, "a number");
	doctor_server_read_config(&server, "requirepass", "x");
}

static void
test_clock(void)
{
	struct doctor_clock clock = {.samples =
					 {
					     {1000, 400, 5001200},
					     {2000, 100, 5002050},
					     {3000, 900, -1},
					     {4000, 200, 5504100},
					 },
	    .count = 3};
	int64_t offset, error;

	ok(doctor_clock_offset(&clock, &offset, &error), "there is an offset");
	is_int(offset, 5000000, "that of the shortest round trip");
	is_int(error, 50, "which may be wrong by half of that");
	is_int(doctor_clock_step(&clock), 0, "no step");
	clock.samples[2] = clock.samples[3];
	is_int(doctor_clock_step(&clock), 500000, "a step forward");
	clock.samples[2].time_us = 4004100;
	is_int(doctor_clock_step(&clock), -1000000, "a step back");
	clock.count = 0;
	ok(!doctor_clock_offset(&clock, &offset, &error), "no samples");
}

int
main(void)
{
	test_info();
	test_hostile_info();
	test_config();
	test_clock();
	return tap_done();
}
