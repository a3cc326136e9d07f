/* What a server says of itself, by INFO and CONFIG GET, as numbers and texts.
 * Nothing of it is believed beyond its type. */
#ifndef DOCTOR_SERVER_H
#define DOCTOR_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor/doctor_visit.h"

/* Numbers are -1 and texts empty where the server does not say. */
struct doctor_server {
	/* The words of the error, if that is why much is not known; to be
	 * freed. */
	char *no_info, *no_config;

	char redis_version[32];
	char valkey_version[32];
	char run_id[64];
	int64_t uptime_s;
	int64_t loading;
	char role[16];
	char mode[16]; /* standalone, cluster or sentinel */
	/* Memory. */
	int64_t maxmemory, used_memory;
	char policy[32];
	/* Persistence. */
	int64_t appendonly;
	char appendfsync[16];
	bool save_known;
	char save[128]; /* empty: no snapshots */
	char snapshot_status[16], append_status[16];
	/* Clients. */
	int64_t clients, maxclients;
	/* Replication. */
	int64_t replicas, replicas_online;
	int64_t min_replicas, good_replicas;
};

/* Asks the server. False as doctor_visit_ask, when that has been reported. */
bool doctor_server_ask(struct doctor_server *server,
    struct doctor_visit *visit);
void doctor_server_fini(struct doctor_server *server);

/* Pure: everything unknown; then what a text of INFO says, and one pair of
 * CONFIG GET. */
void doctor_server_init(struct doctor_server *server);
void doctor_server_read_info(struct doctor_server *server, const char *info);
void doctor_server_read_config(struct doctor_server *server, const char *name,
    const char *value);

/* Whether it is a node of a cluster. */
bool doctor_server_is_node(const struct doctor_server *server);

/* The version's first number, or -1. */
int64_t doctor_server_major(const struct doctor_server *server);

#endif
