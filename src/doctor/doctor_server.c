#include "doctor/doctor_server.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

enum { LINE_MAX_BYTES = 512 };

/* clang-format off */
#define NUMBER(name, member) \
	{name, offsetof(struct doctor_server, member), 0}
#define TEXT(name, member) \
	{name, offsetof(struct doctor_server, member), \
	    sizeof(((struct doctor_server *)NULL)->member)}

struct field {
	char name[24]; /* a pointer would be adjusted at each start */
	size_t offset;
	size_t size; /* of a text; 0: a number */
};

static const struct field info_fields[] = {
	TEXT("redis_version", redis_version),
	TEXT("valkey_version", valkey_version),
	TEXT("run_id", run_id),
	NUMBER("uptime_in_seconds", uptime_s),
	NUMBER("loading", loading),
	TEXT("role", role),
	TEXT("redis_mode", mode),
	TEXT("server_mode", mode), /* of Valkey */
	NUMBER("maxmemory", maxmemory),
	NUMBER("used_memory", used_memory),
	TEXT("maxmemory_policy", policy),
	NUMBER("aof_enabled", appendonly),
	TEXT("rdb_last_bgsave_status", snapshot_status),
	TEXT("aof_last_write_status", append_status),
	NUMBER("connected_clients", clients),
	NUMBER("maxclients", maxclients),
	NUMBER("connected_slaves", replicas),
	NUMBER("min_slaves_good_slaves", good_replicas),
};

static const struct field config_fields[] = {
	TEXT("appendfsync", appendfsync),
	TEXT("save", save),
	NUMBER("maxclients", maxclients),
	NUMBER("min-replicas-to-write", min_replicas),
};
/* clang-format on */

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

void
doctor_server_init(struct doctor_server *server)
{
	*server = (struct doctor_server){.no_info = NULL};
	for (size_t i = 0; i < LENGTH(info_fields); i++)
		if (info_fields[i].size == 0)
			*(int64_t *)((char *)server + info_fields[i].offset) =
			    -1;
	server->min_replicas = -1;
	server->replicas_online = -1;
}

static void
set_field(struct doctor_server *server, const struct field *field,
    const char *text)
{
	char *place = (char *)server + field->offset;
	int64_t number;

	if (field->size > 0)
		snprintf(place, field->size, "%s", text);
	else if (num_int(text, 0, INT64_MAX, &number) == 0)
		memcpy(place, &number, sizeof(number));
}

/* slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=0 */
static bool
is_online_replica(const char *name, const char *text)
{
	size_t length = strlen(name);

	return strncmp(name, "slave", 5) == 0 && length > 5 &&
	       strspn(name + 5, "0123456789") == length - 5 &&
	       strstr(text, ",state=online,") != NULL;
}

static void
read_line(struct doctor_server *server, char *line)
{
	char *text = strchr(line, ':');

	if (text == NULL)
		return;
	*text++ = '\0';
	for (size_t i = 0; i < LENGTH(info_fields); i++)
		if (strcmp(line, info_fields[i].name) == 0)
			set_field(server, &info_fields[i], text);
	if (is_online_replica(line, text))
		server->replicas_online++;
}

void
doctor_server_read_info(struct doctor_server *server, const char *info)
{
	char line[LINE_MAX_BYTES];

	server->replicas_online = 0;
	while (*info != '\0') {
		size_t length = strcspn(info, "\r\n");

		/* A longer line is none of those that count. */
		if (length < sizeof(line)) {
			memcpy(line, info, length);
			line[length] = '\0';
			read_line(server, line);
		}
		info += length + strspn(info + length, "\r\n");
	}
}

void
doctor_server_read_config(struct doctor_server *server, const char *name,
    const char *value)
{
	for (size_t i = 0; i < LENGTH(config_fields); i++)
		if (strcmp(name, config_fields[i].name) == 0)
			set_field(server, &config_fields[i], value);
	if (strcmp(name, "save") == 0)
		server->save_known = true;
}

bool
doctor_server_is_node(const struct doctor_server *server)
{
	return strcmp(server->mode, "cluster") == 0;
}

int64_t
doctor_server_major(const struct doctor_server *server)
{
	const char *version = server->redis_version;
	char digits[16];
	int64_t major;

	snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(version, "."),
	    version);
	return num_int(digits, 0, INT64_MAX, &major) == 0 ? major : -1;
}

/* --- asking ----------------------------------------------------------- */

static void
take_info(struct doctor_server *server, const struct doctor_question *question)
{
	const char *info = value_text(question->value);

	if (info != NULL)
		doctor_server_read_info(server, info);
	else
		server->no_info = mem_strdup(question->error != NULL
						 ? question->error
						 : "its reply is no text");
}

static void
take_config(struct doctor_server *server,
    const struct doctor_question *question)
{
	const char *name = value_text(value_at(question->value, 0));
	const char *value = value_text(value_at(question->value, 1));

	if (name != NULL && value != NULL)
		doctor_server_read_config(server, name, value);
	else if (question->error != NULL && server->no_config == NULL)
		server->no_config = mem_strdup(question->error);
}

bool
doctor_server_ask(struct doctor_server *server, struct doctor_visit *visit)
{
	struct doctor_question questions[1 + LENGTH(config_fields)] = {
	    {.argv = {"INFO"}}};
	bool answered;

	doctor_server_init(server);
	for (size_t i = 0; i < LENGTH(config_fields); i++) {
		const char **argv = questions[i + 1].argv;

		argv[0] = "CONFIG";
		argv[1] = "GET";
		argv[2] = config_fields[i].name;
	}
	answered = doctor_visit_ask(visit, questions, LENGTH(questions));
	take_info(server, &questions[0]);
	for (size_t i = 1; i < LENGTH(questions); i++)
		take_config(server, &questions[i]);
	for (size_t i = 0; i < LENGTH(questions) && !answered; i++)
		if (questions[i].outcome == visit->ended) {
			doctor_visit_report_end(visit, &questions[i]);
			break;
		}
	doctor_visit_forget(questions, LENGTH(questions));
	return answered;
}

void
doctor_server_fini(struct doctor_server *server)
{
	free(server->no_info);
	free(server->no_config);
}
