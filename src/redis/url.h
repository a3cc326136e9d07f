/* Server URLs, as in URLS of rlockrun-servers(7):
 *   redis://[user[:password]@]host[:port][/db]
 *   rediss://..., the same over TLS
 *   unix://[user[:password]@]/path[?db=N]
 *   redis-sentinel://[user[:password]@]host[:port][,host[:port]...]/master[/db]
 *   rediss-sentinel://..., the same over TLS, to sentinels and primary
 *   redis-cluster://[user[:password]@]host[:port][,host[:port]...]
 *   rediss-cluster://..., the same over TLS, to all nodes
 * Pure: nothing is resolved or connected here. */
#ifndef URL_H
#define URL_H

#include <stdbool.h>
#include <stddef.h>

struct password_file;
struct tls_context;

/* What separates the URLs of a list. */
#define URL_SEPARATORS " \t\r\n"

/* Where others say that a server is. */
enum { URL_HOST_SIZE = 256 };
struct url_address {
	char host[URL_HOST_SIZE];
	int port;
};

enum url_transport { URL_TCP, URL_UNIX };

struct endpoint {
	enum url_transport transport;
	/* Name or address without brackets, "fe80::1%eth0" if it has a zone;
	 * the socket's path; NULL, and port 0, where others know the server. */
	char *host;
	int port;	/* 1 to 65535; 0 with URL_UNIX */
	int db;		/* 0 and up */
	char *user;	/* NULL when not given */
	char *password; /* of secret.h, or NULL when not given */
	/* Has the password instead, or NULL; stays the setter's. */
	struct password_file *password_file;
	char *label; /* the URL for messages: without user and password */
	bool tls;    /* never with URL_UNIX */
	/* With tls, to be set before connecting; stays the setter's. */
	struct tls_context *tls_context;
	char *master;	 /* its name at the sentinels, NULL without them */
	bool is_default; /* nobody named a server */
	bool cluster;	 /* hosts are nodes of one; each knows the others */
	/* Those that know the server, each an endpoint without master, user,
	 * password and db. */
	struct endpoint *hosts;
	size_t host_count;
};

/* Parses text into *endpoint, to be freed by endpoint_fini. NULL, or the
 * reason as a static string that quotes nothing of the text (a password may be
 * in it), with nothing to free. Percent-encoding is decoded in user, password,
 * path and a master's name; "%00" is refused. An empty user
 * ("redis://:secret@h") or password ("user:@h") counts as not given. The label
 * is a URL for the same server. */
const char *url_parse(const char *text, struct endpoint *endpoint);

/* Overwrites user and password with as many 'x', also in text that url_parse
 * refuses: all up to the last '@' may be secret. False if there was nothing to
 * overwrite. */
bool url_wipe(char *text);

/* For messages: "redis://10.0.0.3:7001/5 (NAME)", of a server that was found in
 * the cluster or under the master's name. */
void endpoint_describe(const struct endpoint *endpoint, const char *name,
    char *label, size_t size);

/* Frees all members. */
void endpoint_fini(struct endpoint *endpoint);

#endif
