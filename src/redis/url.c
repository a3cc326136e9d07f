#include "redis/url.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"

#define TCP_SCHEME "redis://"
#define UNIX_SCHEME "unix://"
#define TLS_SCHEME "rediss://"
#define SENTINEL_SCHEME "redis-sentinel://"
#define TLS_SENTINEL_SCHEME "rediss-sentinel://"
#define CLUSTER_SCHEME "redis-cluster://"
#define TLS_CLUSTER_SCHEME "rediss-cluster://"
#define DEFAULT_PORT 6379
#define DEFAULT_SENTINEL_PORT 26379
#define HOSTS_MAX 32
#define SOCKET_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HOST_NAME LETTERS "0123456789.-_"

/* Where text goes on behind the prefix, or NULL. */
static const char *
after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static int
hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* The byte that the digits stand for; -1 for none, and for NUL. */
static int
hex_byte(const char *digits, size_t length)
{
	int high = length < 2 ? -1 : hex_digit(digits[0]);
	int low = length < 2 ? -1 : hex_digit(digits[1]);

	if (high < 0 || low < 0 || high + low == 0)
		return -1;
	return high * 16 + low;
}

static const char *
decode_into(const char *text, size_t length, char *decoded)
{
	for (size_t i = 0; i < length; i++) {
		int byte = (unsigned char)text[i];

		if (byte == '%') {
			byte = hex_byte(text + i + 1, length - i - 1);
			if (byte < 0)
				return "bad percent-escape";
			i += 2;
		}
		*decoded++ = (char)byte;
	}
	return NULL;
}

/* Percent-decodes into memory of its own; empty text becomes NULL. */
static const char *
decode(const char *text, size_t length, char **decoded)
{
	if (length == 0)
		return NULL;
	*decoded = mem_alloc(length + 1);
	return decode_into(text, length, *decoded);
}

static const char *
decode_secret(const char *text, size_t length, char **decoded)
{
	if (length == 0)
		return NULL;
	*decoded = mem_secret(length + 1);
	return decode_into(text, length, *decoded);
}

/* The parse functions take their part off the front of *text. */

static const char *
parse_credentials(const char **text, struct endpoint *endpoint)
{
	const char *user = *text, *colon, *reason;
	const char *at = memrchr(user, '@', strcspn(user, "/?#"));

	if (at == NULL)
		return NULL;
	*text = at + 1;
	colon = memchr(user, ':', (size_t)(at - user));
	if (colon == NULL)
		return decode(user, (size_t)(at - user), &endpoint->user);
	reason = decode(user, (size_t)(colon - user), &endpoint->user);
	if (reason != NULL)
		return reason;
	colon++;
	return decode_secret(colon, (size_t)(at - colon), &endpoint->password);
}

static const char *
parse_ipv6(const char **text, struct endpoint *endpoint)
{
	size_t length = strcspn(*text, "]");
	struct in6_addr address;

	endpoint->host = mem_strndup(*text + 1, length - 1);
	if ((*text)[length] == '\0' ||
	    inet_pton(AF_INET6, endpoint->host, &address) != 1)
		return "bad IPv6 address";
	*text += length + 1;
	return NULL;
}

static const char *
parse_host(const char **text, struct endpoint *endpoint)
{
	size_t length = strcspn(*text, ",:/?#");

	if (**text == '[')
		return parse_ipv6(text, endpoint);
	if (length == 0)
		return "no host";
	if (strspn(*text, HOST_NAME) < length)
		return "bad character in the host name";
	endpoint->host = mem_strndup(*text, length);
	*text += length;
	return NULL;
}

static const char *
parse_port(const char **text, int usual, struct endpoint *endpoint)
{
	char digits[sizeof("65535")] = "";
	size_t length;
	int64_t port;

	endpoint->port = usual;
	if (**text != ':')
		return NULL;
	++*text;
	length = strcspn(*text, ",/?#");
	if (length < sizeof(digits))
		memcpy(digits, *text, length);
	if (num_int(digits, 1, 65535, &port) < 0)
		return "port must be 1 to 65535";
	endpoint->port = (int)port;
	*text += length;
	return NULL;
}

static const char *
parse_db(const char *text, struct endpoint *endpoint)
{
	int64_t db;

	if (num_int(text, 0, INT_MAX, &db) < 0)
		return "db must be a number from 0 on";
	endpoint->db = (int)db;
	return NULL;
}

/* The rest of a redis:// or rediss:// URL, behind host and port. */
static const char *
parse_tcp_db(const char *text, struct endpoint *endpoint)
{
	if (strpbrk(text, "?#") != NULL)
		return "redis:// and rediss:// take no query and no fragment";
	if (*text == ',')
		return "several hosts want redis-sentinel:// or "
		       "redis-cluster://";
	if (*text == '\0' || strcmp(text, "/") == 0)
		return NULL;
	if (*text != '/')
		return "host and port must be followed by /db or nothing";
	return parse_db(text + 1, endpoint);
}

static char *
tcp_label(const struct endpoint *endpoint)
{
	bool ipv6 = strchr(endpoint->host, ':') != NULL;
	char db[sizeof("/2147483647")] = "";

	if (endpoint->db > 0)
		snprintf(db, sizeof(db), "/%d", endpoint->db);
	return mem_printf("%s%s%s%s:%d%s",
	    endpoint->tls ? TLS_SCHEME : TCP_SCHEME, ipv6 ? "[" : "",
	    endpoint->host, ipv6 ? "]" : "", endpoint->port, db);
}

static const char *
parse_tcp(const char *text, bool tls, struct endpoint *endpoint)
{
	const char *reason;

	endpoint->tls = tls;
	reason = parse_credentials(&text, endpoint);
	if (reason == NULL)
		reason = parse_host(&text, endpoint);
	if (reason == NULL)
		reason = parse_port(&text, DEFAULT_PORT, endpoint);
	if (reason == NULL)
		reason = parse_tcp_db(text, endpoint);
	if (reason == NULL)
		endpoint->label = tcp_label(endpoint);
	return reason;
}

/* Each takes its part, up to a comma or what follows the last. */
static const char *
parse_hosts(const char **text, int usual_port, struct endpoint *endpoint)
{
	struct endpoint *list = mem_alloc(HOSTS_MAX * sizeof(*list));
	const char *reason = NULL;

	endpoint->hosts = list;
	while (reason == NULL) {
		struct endpoint *one = &list[endpoint->host_count++];
		one->tls = endpoint->tls;
		reason = parse_host(text, one);
		if (reason == NULL)
			reason = parse_port(text, usual_port, one);
		if (reason != NULL)
			break;
		one->label = tcp_label(one);
		if (**text != ',')
			break;
		++*text;
		if (endpoint->host_count == HOSTS_MAX)
			reason = "more than 32 hosts";
	}
	return reason;
}

/* "/master[/db]" */
static const char *
parse_master(const char *text, struct endpoint *endpoint)
{
	const char *name = text + 1, *reason;
	size_t length;

	if (strpbrk(text, "?#") != NULL)
		return "redis-sentinel:// takes no query and no fragment";
	if (*text != '\0' && *text != '/')
		return "hosts and ports must be followed by /MASTER";
	length = *text == '\0' ? 0 : strcspn(name, "/");
	if (length == 0)
		return "no name of a master (redis-sentinel://HOST,.../MASTER)";
	reason = decode(name, length, &endpoint->master);
	if (reason != NULL || name[length] == '\0' || name[length + 1] == '\0')
		return reason;
	return parse_db(name + length + 1, endpoint);
}

/* Their own labels, without the schemes. */
static char *
list_hosts(const struct endpoint *endpoint)
{
	size_t skip = strlen(endpoint->tls ? TLS_SCHEME : TCP_SCHEME);
	char *list = mem_strdup("");

	for (size_t i = 0; i < endpoint->host_count; i++) {
		char *longer = mem_printf("%s%s%s", list, i > 0 ? "," : "",
		    endpoint->hosts[i].label + skip);
		free(list);
		list = longer;
	}
	return list;
}

/* master is the rest of the URL, where the name is escaped as it has to be. */
static char *
sentinel_label(const struct endpoint *endpoint, const char *master)
{
	char db[sizeof("/2147483647")] = "";
	char *list = list_hosts(endpoint), *label;

	if (endpoint->db > 0)
		snprintf(db, sizeof(db), "/%d", endpoint->db);
	label = mem_printf("%s%s/%.*s%s",
	    endpoint->tls ? TLS_SENTINEL_SCHEME : SENTINEL_SCHEME, list,
	    (int)strcspn(master, "/"), master, db);
	free(list);
	return label;
}

static const char *
parse_sentinel(const char *text, bool tls, struct endpoint *endpoint)
{
	const char *reason;

	endpoint->tls = tls;
	reason = parse_credentials(&text, endpoint);
	if (reason == NULL)
		reason = parse_hosts(&text, DEFAULT_SENTINEL_PORT, endpoint);
	if (reason == NULL)
		reason = parse_master(text, endpoint);
	if (reason == NULL)
		endpoint->label = sentinel_label(endpoint, text + 1);
	return reason;
}

static const char *
parse_cluster_db(const char *text, struct endpoint *endpoint)
{
	const char *reason;

	if (strpbrk(text, "?#") != NULL)
		return "redis-cluster:// takes no query and no fragment";
	if (*text == '\0' || strcmp(text, "/") == 0)
		return NULL;
	if (*text != '/')
		return "hosts and ports must be followed by nothing";
	reason = parse_db(text + 1, endpoint);
	if (reason == NULL && endpoint->db != 0)
		reason = "a cluster has db 0 only";
	return reason;
}

static const char *
parse_cluster(const char *text, bool tls, struct endpoint *endpoint)
{
	const char *reason;
	char *list;

	endpoint->tls = tls;
	endpoint->cluster = true;
	reason = parse_credentials(&text, endpoint);
	if (reason == NULL)
		reason = parse_hosts(&text, DEFAULT_PORT, endpoint);
	if (reason == NULL)
		reason = parse_cluster_db(text, endpoint);
	if (reason != NULL)
		return reason;
	list = list_hosts(endpoint);
	endpoint->label =
	    mem_printf("%s%s", tls ? TLS_CLUSTER_SCHEME : CLUSTER_SCHEME, list);
	free(list);
	return NULL;
}

static const char *
parse_path(const char **text, struct endpoint *endpoint)
{
	size_t length = strcspn(*text, "?#");
	const char *reason;

	if (**text != '/')
		return "the path of a socket must be absolute (unix:///path)";
	reason = decode(*text, length, &endpoint->host);
	if (reason != NULL)
		return reason;
	if (strlen(endpoint->host) >= SOCKET_PATH_SIZE)
		return "the path of a socket can't have more than 107 bytes";
	*text += length;
	return NULL;
}

static const char *
parse_unix(const char *text, struct endpoint *endpoint)
{
	const char *reason = parse_credentials(&text, endpoint);
	const char *path = text, *db;

	endpoint->transport = URL_UNIX;
	if (reason == NULL)
		reason = parse_path(&text, endpoint);
	if (reason != NULL)
		return reason;
	if (*text != '\0') {
		db = after(text, "?db=");
		if (db == NULL)
			return "only ?db=N can follow the path of a socket";
		reason = parse_db(db, endpoint);
	}
	if (reason == NULL)
		endpoint->label = mem_printf(UNIX_SCHEME "%s", path);
	return reason;
}

const char *
url_parse(const char *text, struct endpoint *endpoint)
{
	const char *rest, *reason;

	memset(endpoint, 0, sizeof(*endpoint));
	if ((rest = after(text, TCP_SCHEME)) != NULL)
		reason = parse_tcp(rest, false, endpoint);
	else if ((rest = after(text, TLS_SCHEME)) != NULL)
		reason = parse_tcp(rest, true, endpoint);
	else if ((rest = after(text, UNIX_SCHEME)) != NULL)
		reason = parse_unix(rest, endpoint);
	else if ((rest = after(text, SENTINEL_SCHEME)) != NULL)
		reason = parse_sentinel(rest, false, endpoint);
	else if ((rest = after(text, TLS_SENTINEL_SCHEME)) != NULL)
		reason = parse_sentinel(rest, true, endpoint);
	else if ((rest = after(text, CLUSTER_SCHEME)) != NULL)
		reason = parse_cluster(rest, false, endpoint);
	else if ((rest = after(text, TLS_CLUSTER_SCHEME)) != NULL)
		reason = parse_cluster(rest, true, endpoint);
	else
		reason = "unknown scheme (redis://, rediss://, unix://, "
			 "redis-sentinel:// or redis-cluster://)";
	if (reason != NULL)
		endpoint_fini(endpoint);
	return reason;
}

bool
url_wipe(char *text)
{
	size_t scheme = strspn(text, LETTERS "-");
	char *at = strrchr(text, '@');
	char *secret = text;
	bool any = false;

	/* An '@' in a plain socket path hides nothing. */
	if (at == NULL || after(text, UNIX_SCHEME "/") != NULL)
		return false;
	if (strncmp(text + scheme, "://", 3) == 0)
		secret += scheme + 3;
	for (; secret < at; secret++) {
		*secret = 'x';
		any = true;
	}
	return any;
}

void
endpoint_fini(struct endpoint *endpoint)
{
	for (size_t i = 0; i < endpoint->host_count; i++)
		endpoint_fini(&endpoint->hosts[i]);
	free(endpoint->hosts);
	free(endpoint->master);
	free(endpoint->host);
	free(endpoint->user);
	secret_free(endpoint->password);
	free(endpoint->label);
	memset(endpoint, 0, sizeof(*endpoint));
}
