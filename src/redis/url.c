#include "redis/url.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"

#define HOSTS_MAX 32
#define SOCKET_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HOST_NAME LETTERS "0123456789.-_"
#define ZONE_NAME HOST_NAME "~" /* unreserved characters */

enum kind { KIND_TCP, KIND_UNIX, KIND_SENTINEL, KIND_CLUSTER };

static const struct scheme {
	char prefix[20];
	enum kind kind;
	bool tls;
} schemes[] = {
    {"redis://", KIND_TCP, false},
    {"rediss://", KIND_TCP, true},
    {"unix://", KIND_UNIX, false},
    {"redis-sentinel://", KIND_SENTINEL, false},
    {"rediss-sentinel://", KIND_SENTINEL, true},
    {"redis-cluster://", KIND_CLUSTER, false},
    {"rediss-cluster://", KIND_CLUSTER, true},
};

static const int usual_ports[] =
    {[KIND_TCP] = 6379, [KIND_SENTINEL] = 26379, [KIND_CLUSTER] = 6379};
static const char *const wrong_rests[] = {
    [KIND_TCP] = "host and port must be followed by /db or nothing",
    [KIND_SENTINEL] = "hosts and ports must be followed by /MASTER",
    [KIND_CLUSTER] = "hosts and ports must be followed by nothing",
};

/* The text behind the prefix, or NULL. */
static const char *
after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* The byte that two digits mean; -1 for none, and for NUL. */
static int
hex_byte(const char *digits, size_t length)
{
	static const char known[] = "0123456789abcdef0123456789ABCDEF";
	int byte = 0;

	for (size_t i = 0; i < 2; i++) {
		const char *at =
		    i < length ? memchr(known, digits[i], sizeof(known) - 1)
			       : NULL;

		if (at == NULL)
			return -1;
		byte = byte * 16 + (int)(at - known) % 16;
	}
	return byte == 0 ? -1 : byte;
}

/* Percent-decodes into memory of its own; empty text becomes NULL. */
static const char *
decode(const char *text, size_t length, bool secret, char **decoded)
{
	char *to;

	if (length == 0)
		return NULL;
	to = secret ? mem_secret(length + 1) : mem_alloc(length + 1);
	*decoded = to;
	for (size_t i = 0; i < length; i++) {
		int byte = (unsigned char)text[i];

		if (byte == '%') {
			byte = hex_byte(text + i + 1, length - i - 1);
			if (byte < 0)
				return "bad percent-escape";
			i += 2;
		}
		*to++ = (char)byte;
	}
	return NULL;
}

/* Separates what is in front of it from a path, a query or a fragment. In a
 * password it would cut that, and the rest could come to be seen, as an '@'
 * behind it does not end the credentials. */
#define ENDS_AUTHORITY "/?#"
#define RAW_SEPARATOR                                                 \
	"a '/', '?' or '#' precedes an '@': in a user or a password " \
	"write %2F, %3F or %23"

/* The parse functions move *text behind the part that they parse. */

static const char *
parse_credentials(const char **text, struct endpoint *endpoint)
{
	const char *user = *text, *colon, *reason;
	const char *at = memrchr(user, '@', strcspn(user, ENDS_AUTHORITY));

	if (at == NULL)
		return NULL;
	*text = at + 1;
	colon = memchr(user, ':', (size_t)(at - user));
	reason = decode(user, (size_t)((colon == NULL ? at : colon) - user),
	    false, &endpoint->user);
	if (reason != NULL || colon == NULL)
		return reason;
	return decode(colon + 1, (size_t)(at - colon - 1), true,
	    &endpoint->password);
}

/* A zone is behind "%25" (RFC 6874), of which the '%' is kept. */
static const char *
parse_ipv6(const char **text, struct endpoint *endpoint)
{
	size_t length = strcspn(*text, "]");
	char *host = mem_strndup(*text + 1, length - 1);
	char *zone = strchr(host, '%');
	const char *name;
	struct in6_addr address;
	int parsed;

	endpoint->host = host;
	if (zone != NULL)
		*zone = '\0';
	parsed = inet_pton(AF_INET6, host, &address);
	if ((*text)[length] == '\0' || parsed != 1)
		return "bad IPv6 address";
	*text += length + 1;
	if (zone == NULL)
		return NULL;
	*zone = '%';
	name = after(zone, "%25");
	length = name == NULL ? 0 : strspn(name, ZONE_NAME);
	if (length == 0 || length >= IF_NAMESIZE || name[length] != '\0')
		return "the zone of an IPv6 address must be an interface "
		       "behind %25, as in [fe80::1%25eth0]";
	memmove(zone + 1, name, length + 1);
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

/* host:port, with brackets around an IPv6 address. Returns the length, as
 * snprintf(3) does. */
static int
print_host(char *text, size_t size, const struct endpoint *endpoint,
    const char *prefix)
{
	const char *host = endpoint->host;
	bool ipv6 = strchr(host, ':') != NULL;
	int length = (int)(ipv6 ? strcspn(host, "%") : strlen(host));
	const char *zone = host + length;

	return snprintf(text, size, "%s%s%.*s%s%s%s:%d", prefix,
	    ipv6 ? "[" : "", length, host, *zone != '\0' ? "%25" : "",
	    *zone != '\0' ? zone + 1 : "", ipv6 ? "]" : "", endpoint->port);
}

static char *
describe_host(const struct endpoint *endpoint, const char *prefix)
{
	char start[1];
	size_t size =
	    (size_t)print_host(start, sizeof(start), endpoint, prefix) + 1;
	char *text = mem_alloc(size);

	print_host(text, size, endpoint, prefix);
	return text;
}

/* rest follows the hosts: the name of a master is in it, escaped as it has to
 * be. */
static char *
make_label(const struct endpoint *endpoint, const struct scheme *scheme,
    const char *rest)
{
	char db[sizeof("/2147483647")] = "";
	char *hosts = NULL;
	int master = 0;
	char *label;

	if (endpoint->host_count == 0)
		hosts = describe_host(endpoint, "");
	for (size_t i = 0; i < endpoint->host_count; i++) {
		char *host = describe_host(&endpoint->hosts[i], "");

		hosts = mem_append(hosts, ',', host);
		free(host);
	}
	if (endpoint->db > 0)
		snprintf(db, sizeof(db), "/%d", endpoint->db);
	if (endpoint->master != NULL)
		master = 1 + (int)strcspn(rest + 1, "/");
	label =
	    mem_printf("%s%s%.*s%s", scheme->prefix, hosts, master, rest, db);
	free(hosts);
	return label;
}

/* Separated by commas. */
static const char *
parse_hosts(const char **text, int usual_port, struct endpoint *endpoint)
{
	struct endpoint *list = mem_alloc(HOSTS_MAX * sizeof(*list));

	endpoint->hosts = list;
	for (;;) {
		struct endpoint *one = &list[endpoint->host_count++];
		const char *reason = parse_host(text, one);

		one->tls = endpoint->tls;
		if (reason == NULL)
			reason = parse_port(text, usual_port, one);
		if (reason != NULL)
			return reason;
		one->label =
		    describe_host(one, one->tls ? "rediss://" : "redis://");
		if (**text != ',')
			return NULL;
		++*text;
		if (endpoint->host_count == HOSTS_MAX)
			return "more than 32 hosts";
	}
}

/* What follows host and port, or hosts and ports. */
static const char *
parse_rest(const char *text, enum kind kind, struct endpoint *endpoint)
{
	const char *reason = NULL;
	size_t length;

	if (strpbrk(text, "?#") != NULL)
		return "only unix:// takes a query (?db=N), and no URL takes "
		       "a fragment";
	if (*text == ',')
		return "several hosts require redis-sentinel:// or "
		       "redis-cluster://";
	if (*text != '\0' && *text != '/')
		return wrong_rests[kind];
	if (kind == KIND_SENTINEL) {
		length = *text == '\0' ? 0 : strcspn(text + 1, "/");
		if (length == 0)
			return "no name of a master "
			       "(redis-sentinel://HOST,.../MASTER)";
		reason = decode(text + 1, length, false, &endpoint->master);
		text += 1 + length;
	}
	if (reason != NULL || *text == '\0' || text[1] == '\0')
		return reason;
	reason = parse_db(text + 1, endpoint);
	if (reason == NULL && kind == KIND_CLUSTER && endpoint->db != 0)
		reason = "a cluster has db 0 only";
	return reason;
}

static const char *
parse_network(const char *text, const struct scheme *scheme,
    struct endpoint *endpoint)
{
	int usual_port = usual_ports[scheme->kind];
	const char *reason;

	if (strchr(text + strcspn(text, ENDS_AUTHORITY), '@') != NULL)
		return RAW_SEPARATOR;
	if (scheme->kind == KIND_TCP) {
		reason = parse_host(&text, endpoint);
		if (reason == NULL)
			reason = parse_port(&text, usual_port, endpoint);
	} else {
		reason = parse_hosts(&text, usual_port, endpoint);
	}
	if (reason == NULL)
		reason = parse_rest(text, scheme->kind, endpoint);
	if (reason == NULL)
		endpoint->label = make_label(endpoint, scheme, text);
	return reason;
}

/* "/path[?db=N]" */
static const char *
parse_unix(const char *text, struct endpoint *endpoint)
{
	size_t length = strcspn(text, "?#");
	const char *reason = decode(text, length, false, &endpoint->host);
	const char *db = after(text + length, "?db=");

	endpoint->transport = URL_UNIX;
	if (*text != '/' && strchr(text, '@') != NULL)
		return RAW_SEPARATOR;
	if (*text != '/')
		return "the path of a socket must be absolute (unix:///path)";
	if (reason != NULL)
		return reason;
	if (strlen(endpoint->host) >= SOCKET_PATH_SIZE)
		return "the path of a socket cannot have more than 107 bytes";
	if (db == NULL && text[length] != '\0')
		return "only ?db=N can follow the path of a socket";
	if (db != NULL)
		reason = parse_db(db, endpoint);
	if (reason == NULL)
		endpoint->label = mem_printf("unix://%s", text);
	return reason;
}

const char *
url_parse(const char *text, struct endpoint *endpoint)
{
	const struct scheme *scheme = NULL;
	const char *reason;

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (after(text, schemes[i].prefix) != NULL)
			scheme = &schemes[i];
	memset(endpoint, 0, sizeof(*endpoint));
	if (scheme == NULL)
		return "unknown scheme (redis://, rediss://, unix://, "
		       "redis-sentinel:// or redis-cluster://)";
	text += strlen(scheme->prefix);
	endpoint->tls = scheme->tls;
	endpoint->cluster = scheme->kind == KIND_CLUSTER;
	reason = parse_credentials(&text, endpoint);
	if (reason == NULL)
		reason = scheme->kind == KIND_UNIX
			     ? parse_unix(text, endpoint)
			     : parse_network(text, scheme, endpoint);
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
	bool any;

	/* An '@' in a plain socket path hides nothing. */
	if (at == NULL || after(text, "unix:///") != NULL)
		return false;
	if (strncmp(text + scheme, "://", 3) == 0)
		secret += scheme + 3;
	any = secret < at;
	if (any)
		secret_note();
	while (secret < at)
		*secret++ = 'x';
	return any;
}

void
endpoint_describe(const struct endpoint *endpoint, const char *name,
    char *label, size_t size)
{
	const char *prefix = endpoint->tls ? "rediss://" : "redis://";
	size_t length = (size_t)print_host(label, size, endpoint, prefix);
	char db[sizeof("/2147483647")] = "";

	if (endpoint->db > 0)
		snprintf(db, sizeof(db), "/%d", endpoint->db);
	if (length < size)
		snprintf(label + length, size - length, "%s (%s)", db, name);
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
