/* An enquiry at a server, without a lock of our own: questions are asked, and
 * their replies awaited for --server-timeout. What looks at locks, servers and
 * this host shares it. Signals do what they do to a plain process. All of it
 * dies when memory is out. */
#ifndef ENQUIRY_H
#define ENQUIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/request.h"
#include "options/opts.h"
#include "redis/reply.h"
#include "redis/value.h"
#include "redis/way.h"
#include "redis/ways/cluster.h"

/* As many questions travel together; a connection keeps track of 16 commands,
 * with those of its handshake. */
enum { ENQUIRY_AT_ONCE = 12 };

enum question_outcome {
	QUESTION_UNASKED,
	QUESTION_ANSWERED,
	QUESTION_FAILED,  /* by an error reply */
	QUESTION_TOO_FEW, /* replicas have what it did */
	/* After one of these nothing more is asked: */
	QUESTION_REFUSED, /* AUTH or SELECT was */
	QUESTION_SILENT,  /* there is no reply */
};

struct question {
	/* To be set. The script, or NULL; the words end with NULL: see struct
	 * command. */
	const struct script *script;
	const char **argv;

	/* What came of it. */
	struct value *value; /* of the answer, or NULL */
	char *error;	     /* why there is none, or NULL */
	const char *label;   /* of the server that replied */
	enum question_outcome outcome;
	enum verdict verdict; /* on the reply */
	bool is_permanent;    /* it is silent, and will be */
	int repeats;	      /* as the server had run nothing */
	int64_t deadline;
	int64_t sent_us, took_us; /* of clock_now_us */
	struct enquiry *enquiry;
};

#define QUESTION_WORDS(...) ((const char *[]){__VA_ARGS__, NULL})

/* A server that was found: a primary of a cluster, or a replica. */
struct enquiry_node {
	struct endpoint endpoint; /* a plain one, with the login of the URL */
	struct way *server;
	struct url_address at; /* the endpoint's */
	char label[CLUSTER_LABEL_SIZE];
};

struct enquiry {
	/* Set by the owner. */
	const struct opts *opts;
	struct loop *loop;
	int replicas; /* that are to have what is asked; 0: not awaited */

	const struct endpoint *endpoint; /* that is asked, and its server */
	struct way *server;
	size_t unanswered;
	struct loop_timer timer; /* only wakes the loop */
	struct enquiry_node *nodes;
	int node_count;
	int node; /* the one that is visited; 0: none is */
};

/* Connects when something is asked. The key: see server_new. */
void enquiry_begin(struct enquiry *enquiry, const struct endpoint *endpoint,
    const char *key);
void enquiry_end(struct enquiry *enquiry);

/* The question that a request makes, which points into the request. */
struct question enquiry_question(const struct request *request);

/* Asks them all, ENQUIRY_AT_ONCE at a time, and awaits the replies. NULL, or
 * the first one that was refused or has no reply: then those that follow it may
 * not have been asked. */
struct question *enquiry_ask(struct enquiry *enquiry,
    struct question *questions, size_t count);

/* Frees what came back. */
void enquiry_forget(struct question *questions, size_t count);

/* Lets the loop turn until that time. */
void enquiry_sleep(struct enquiry *enquiry, int64_t until);

/* Sets the endpoint of a node at its address, with the login of the URL. The
 * label has the name of what it was found in. */
void enquiry_name_node(struct enquiry_node *node, const struct endpoint *from,
    const char *name);

/* The primaries in an answer to CLUSTER SLOTS become the nodes, and stay
 * connected as long as they are the same. False if it is no such answer. */
bool enquiry_set_nodes(struct enquiry *enquiry, const struct value *slots);
void enquiry_forget_nodes(struct enquiry *enquiry);
/* Which of the nodes it is, or -1. An empty host is any: that of the server
 * that sent a redirect. */
int enquiry_find_node(const struct enquiry *enquiry,
    const struct url_address *node);

/* Calls visit for each of the nodes of a cluster, which is the one that is
 * asked meanwhile; once for another server. */
void enquiry_visit_nodes(struct enquiry *enquiry, void (*visit)(void *arg),
    void *arg);

#endif
