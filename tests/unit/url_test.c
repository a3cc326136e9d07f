#include "redis/url.h"

#include <stdlib.h>

#include "base/secret.h"
#include "tap.h"

#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* What the URL says, and the label. */
static const struct good_case {
	const char *text, *label, *want;
} good[] = {
    {"redis://h", "redis://h:6379", "tcp h 6379"},
    {"redis://h/", "redis://h:6379", "tcp h 6379"},
    {"redis://h/1", "redis://h:6379/1", "tcp h 6379 db=1"},
    {"redis://h:1/0", "redis://h:1", "tcp h 1"},
    {"redis://h:65535/15", "redis://h:65535/15", "tcp h 65535 db=15"},
    {"redis://my-host_1.example.org", "redis://my-host_1.example.org:6379",
	"tcp my-host_1.example.org 6379"},
    {"redis://10.0.0.1:7000", "redis://10.0.0.1:7000", "tcp 10.0.0.1 7000"},
    {"redis://[::1]", "redis://[::1]:6379", "tcp ::1 6379"},
    {"redis://[fe80::1:2]:7/2147483647", "redis://[fe80::1:2]:7/2147483647",
	"tcp fe80::1:2 7 db=2147483647"},
    {"redis://[fe80::1%25eth0.7]:7/2", "redis://[fe80::1%25eth0.7]:7/2",
	"tcp fe80::1%eth0.7 7 db=2"},
    {"rediss://[fe80::1%252]", "rediss://[fe80::1%252]:6379",
	"tcp fe80::1%2 6379 tls"},
    {"redis-cluster://[fe80::1%25a_b],[fe80::2%25fifteen-letters]:7",
	"redis-cluster://[fe80::1%25a_b]:6379,[fe80::2%25fifteen-letters]:7",
	"tcp hosts=2 cluster"},
    {"redis://u:p@h", "redis://h:6379", "tcp h 6379 user=u password=p"},
    {"redis://:p@h", "redis://h:6379", "tcp h 6379 password=p"},
    {"redis://u@h", "redis://h:6379", "tcp h 6379 user=u"},
    {"redis://u:@h", "redis://h:6379", "tcp h 6379 user=u"},
    {"redis://@h", "redis://h:6379", "tcp h 6379"},
    {"redis://u%3a%40:p%2F%3f%25:x@h:1", "redis://h:1",
	"tcp h 1 user=u:@ password=p/?%:x"},
    {"redis://:p@ss@h:1", "redis://h:1", "tcp h 1 password=p@ss"},
    {"rediss://h", "rediss://h:6379", "tcp h 6379 tls"},
    {"rediss://u:p@[::1]:7/2", "rediss://[::1]:7/2",
	"tcp ::1 7 db=2 tls user=u password=p"},
    {"redis-cluster://u:p@h,[::1]:7,i:8/0",
	"redis-cluster://h:6379,[::1]:7,i:8",
	"tcp hosts=3 cluster user=u password=p"},
    {"rediss-cluster://h/", "rediss-cluster://h:6379",
	"tcp hosts=1 tls cluster"},
    {"redis-sentinel://h/m", "redis-sentinel://h:26379/m",
	"tcp hosts=1 master=m"},
    {"rediss-sentinel://u:p@a:1,[::1],b/my%2fm/7",
	"rediss-sentinel://a:1,[::1]:26379,b:26379/my%2fm/7",
	"tcp hosts=3 master=my/m db=7 tls user=u password=p"},
    {"redis-sentinel://h/my%40m", "redis-sentinel://h:26379/my%40m",
	"tcp hosts=1 master=my@m"},
    {"redis-sentinel://h/0/", "redis-sentinel://h:26379/0",
	"tcp hosts=1 master=0"},
    {"unix:///run/redis.sock", "unix:///run/redis.sock",
	"socket /run/redis.sock"},
    {"unix:///a%20b@c%3f?db=3", "unix:///a%20b@c%3f?db=3",
	"socket /a b@c? db=3"},
    {"unix://u:p%2f@/s@t", "unix:///s@t", "socket /s@t user=u password=p/"},
    {"unix:///" HUNDRED "123456", "unix:///" HUNDRED "123456",
	"socket /" HUNDRED "123456"},
};

#define SCHEME                                                             \
	"unknown scheme (redis://, rediss://, unix://, redis-sentinel:// " \
	"or redis-cluster://)"
#define SEVERAL "several hosts require redis-sentinel:// or redis-cluster://"
#define MASTER "no name of a master (redis-sentinel://HOST,.../MASTER)"
#define HOST "bad character in the host name"
#define PORT "port must be 1 to 65535"
#define DB "db must be a number from 0 on"
#define ESCAPE "bad percent-escape"
#define QUERY "only unix:// takes a query (?db=N), and no URL takes a fragment"
#define IPV6 "bad IPv6 address"
#define ZONE                                                       \
	"the zone of an IPv6 address must be an interface behind " \
	"%25, as in [fe80::1%25eth0]"
#define REST "host and port must be followed by /db or nothing"
#define PATH "the path of a socket must be absolute (unix:///path)"
#define PATH_LENGTH "the path of a socket cannot have more than 107 bytes"
#define PATH_REST "only ?db=N can follow the path of a socket"

#define RAW                                                           \
	"a '/', '?' or '#' precedes an '@': in a user or a password " \
	"write %2F, %3F or %23"

static const struct bad_case {
	const char *text, *reason;
} bad[] = {
    {"", SCHEME},
    {"h:6379", SCHEME},
    {"http://h", SCHEME},
    {"REDIS://h", SCHEME},
    {" redis://h", SCHEME},
    {"redis:/h", SCHEME},
    {"redissss://h", SCHEME},
    {"rediss://", "no host"},
    {"rediss://h?db=1", QUERY},
    {"redis://", "no host"},
    {"redis:///0", "no host"},
    {"redis://:6379", "no host"},
    {"rediss://:1", "no host"},
    {"redis://user@/1", "no host"},
    {"redis://u:p@", "no host"},
    {"redis://u:p@:1", "no host"},
    {"redis://h h", HOST},
    {"redis://h\n", HOST},
    {"redis://h%41", HOST},
    {"redis://h,i", SEVERAL},
    {"redis://h:1,i:2/0", SEVERAL},
    {"redis-sentinel://", "no host"},
    {"redis-sentinel:///m", "no host"},
    {"redis-sentinel://h,/m", "no host"},
    {"redis-sentinel://,h/m", "no host"},
    {"redis-sentinel://h,h:0/m", PORT},
    {"redis-sentinel://h", MASTER},
    {"redis-sentinel://h/", MASTER},
    {"redis-sentinel://h,i:2//", MASTER},
    {"redis-sentinel://h//0", MASTER},
    {"redis-sentinel://h/m%", ESCAPE},
    {"redis-sentinel://h/m%00", ESCAPE},
    {"redis-sentinel://h/m/x", DB},
    {"redis-sentinel://h/m/1/", DB},
    {"redis-cluster://", "no host"},
    {"redis-cluster://a,", "no host"},
    {"redis-cluster://a:0", PORT},
    {"redis-cluster://a/3", "a cluster has db 0 only"},
    {"redis-cluster://a/x", DB},
    {"redis-cluster://[::1]x", "hosts and ports must be followed by nothing"},
    {"redis-cluster://a?db=0", QUERY},
    {"redis-sentinel://h/m?db=1", QUERY},
    {"redis-sentinel://[::1]x/m",
	"hosts and ports must be followed by /MASTER"},
    {"redis-sentinel://a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"
     "a,a,a,a,a,a/m",
	"more than 32 hosts"},
    {"redis://h:0", PORT},
    {"redis://h:", PORT},
    {"redis://h:70000", PORT},
    {"redis://h:65536", PORT},
    {"redis://h:000001", PORT},
    {"redis://h:4294967297", PORT},
    {"redis://h:-1", PORT},
    {"redis://h:1x", PORT},
    {"redis://h:x", PORT},
    {"redis://h:99999999999999999999", PORT},
    {"redis://h:1:2", PORT},
    {"redis://h/x", DB},
    {"redis://h/-1", DB},
    {"redis://h/1/", DB},
    {"redis://h/2147483648", DB},
    {"redis://h?db=1", QUERY},
    {"redis://h/1?x", QUERY},
    {"redis://h/0?db=1", QUERY},
    {"rediss://h/0?db=1", QUERY},
    {"redis://h/1#x", QUERY},
    {"redis://u%:p@h", ESCAPE},
    {"redis://u:p%@h", ESCAPE},
    {"redis://u:p%4@h", ESCAPE},
    {"redis://u:p%1@h", ESCAPE},
    {"redis://u:p%zz@h", ESCAPE},
    {"redis://u:p%4g@h", ESCAPE},
    {"redis://u:p%00@h", ESCAPE},
    {"redis://:p/w@h", RAW},
    {"redis://u:p/w@h:1/0", RAW},
    {"redis://u:1/w@h", RAW},
    {"redis://u:1/0@h", RAW},
    {"redis://u/x:p@h", RAW},
    {"redis://:p?w@h", RAW},
    {"redis://:p#w@h", RAW},
    {"redis://:/@h", RAW},
    {"rediss://:p@ss/w@h", RAW},
    {"redis-cluster://u:1/w@h,i", RAW},
    {"redis-sentinel://:p/w@h/m", RAW},
    {"redis-sentinel://u:1/w@h", RAW},
    {"redis-sentinel://u:1/w@h/m", RAW},
    {"unix://u:p/w@/s", RAW},
    {"unix://:p?w@/s", RAW},
    {"unix://u:p@ss/w@/s", RAW},
    {"unix:///s@t?x", PATH_REST},
    {"unix://u:p@/s@t?x", PATH_REST},
    {"redis://[::1", IPV6},
    {"redis://[]", IPV6},
    {"redis://[::g]", IPV6},
    {"redis://[1.2.3.4]", IPV6},
    {"redis://[fe80::1%25eth0", IPV6},
    {"redis://[fe80::%25eth0%25]", ZONE},
    {"redis://[%25eth0]", IPV6},
    {"redis://[1.2.3.4%25eth0]", IPV6},
    {"redis://[fe80::1%eth0]", ZONE},
    {"redis://[fe80::1%]", ZONE},
    {"redis://[fe80::1%25]", ZONE},
    {"redis://[fe80::1%25a/b]", ZONE},
    {"redis://[fe80::1%25a b]", ZONE},
    {"redis://[fe80::1%25\033]", ZONE},
    {"redis://[fe80::1%25sixteen--letters]", ZONE},
    {"redis://h%25eth0", HOST},
    {"redis://[::1]x", REST},
    {"redis://::1", "no host"},
    {"unix://", PATH},
    {"unix://run/sock", PATH},
    {"unix://s", PATH},
    {"unix://u:p@run/sock", PATH},
    {"unix:///s%0", ESCAPE},
    {"unix:///s%00t", ESCAPE},
    {"unix:///s?", PATH_REST},
    {"unix:///s?db=", DB},
    {"unix:///s?db=x", DB},
    {"unix:///s?db=1&x=2", DB},
    {"unix:///s?x=1", PATH_REST},
    {"unix:///s?password=x", PATH_REST},
    {"unix:///s#f", PATH_REST},
    {"unix:///" HUNDRED "1234567", PATH_LENGTH},
};

static const struct wipe_case {
	const char *text, *want;
	bool any;
} wipes[] = {
    {"redis://h", "redis://h", false},
    {"redis://@h", "redis://@h", false},
    {"redis://u:pw@h:1/2", "redis://xxxx@h:1/2", true},
    {"redis://:p@ss@h", "redis://xxxxx@h", true},
    {"redis://:pw@h:70000", "redis://xxx@h:70000", true},
    {"redis://:p/w@h", "redis://xxxx@h", true},
    {"redis:///:pw@h", "redis://xxxx@h", true},
    {"redis-sentinel://:pw@h/m", "redis-sentinel://xxx@h/m", true},
    {"u:pw@h", "xxxx@h", true},
    {"u:p://w@h", "xxxxxxx@h", true},
    {"redis://:a@h redis://:b@h", "redis://xxxxxxxxxxxxxxx@h", true},
    {"unix://u:pw@/s", "unix://xxxx@/s", true},
    {"unix:///s@t", "unix:///s@t", false},
    {"", "", false},
};

/* As it was found, or as each of its hosts, in the same words. */
static void
is_described(const struct endpoint *got)
{
	char text[400] = "";
	size_t length = 0;

	if (got->transport == URL_TCP && got->host_count == 0) {
		endpoint_describe(got, "name", text, sizeof(text));
		length = strlen(got->label);
		ok(strncmp(text, got->label, length) == 0, "  %s", text);
		is_text(text + length, " (name)", "  by its name");
		endpoint_describe(got, "name", text, 9);
		is_int((int64_t)strlen(text), 8, "  as much as there is room");
	}
	for (size_t i = 0; i < got->host_count; i++) {
		const struct endpoint *host = &got->hosts[i];

		is_int(host->tls, got->tls, "  its tls");
		length += (size_t)snprintf(text + length, sizeof(text) - length,
		    "%s%s", i > 0 ? "," : "",
		    host->label + strlen(got->tls ? "rediss://" : "redis://"));
	}
	if (got->host_count > 0)
		ok(strstr(got->label, text) != NULL, "  hosts: %s", text);
}

static const char *
said(const struct endpoint *endpoint, bool with_login)
{
	static char text[400];
	FILE *out = fmemopen(text, sizeof(text), "w");

	if (out == NULL)
		return "no memory";
	fprintf(out, "%s", endpoint->transport == URL_UNIX ? "socket" : "tcp");
	if (endpoint->host != NULL)
		fprintf(out, " %s", endpoint->host);
	if (endpoint->port != 0)
		fprintf(out, " %d", endpoint->port);
	if (endpoint->host_count > 0)
		fprintf(out, " hosts=%zu", endpoint->host_count);
	if (endpoint->master != NULL)
		fprintf(out, " master=%s", endpoint->master);
	if (endpoint->db != 0)
		fprintf(out, " db=%d", endpoint->db);
	fprintf(out, "%s%s", endpoint->tls ? " tls" : "",
	    endpoint->cluster ? " cluster" : "");
	if (with_login && endpoint->user != NULL)
		fprintf(out, " user=%s", endpoint->user);
	if (with_login && endpoint->password != NULL)
		fprintf(out, " password=%s", endpoint->password);
	fclose(out);
	return text;
}

static void
test_good(const struct good_case *test)
{
	struct endpoint got, again;
	char want[400];

	memset(&got, 0xff, sizeof(got)); /* what was there does not count */
	memset(&again, 0xff, sizeof(again));
	is_text(url_parse(test->text, &got), NULL, test->text);
	is_text(said(&got, true), test->want, "  says");
	is_text(got.label, test->label, "  label");
	is_text(url_parse(got.label, &again), NULL, "  label is a URL");
	snprintf(want, sizeof(want), "%s", said(&got, false));
	is_text(said(&again, true), want, "  that says the same, and no login");
	is_text(again.label, test->label, "  with that label");
	is_described(&got);
	endpoint_fini(&got);
	endpoint_fini(&again);
}

static void
test_bad(const struct bad_case *test)
{
	struct endpoint endpoint;

	memset(&endpoint, 0xff, sizeof(endpoint));
	is_text(url_parse(test->text, &endpoint), test->reason, test->text);
	ok(endpoint.host == NULL && endpoint.user == NULL &&
		endpoint.password == NULL && endpoint.label == NULL,
	    "  leaves nothing to free");
}

static void
test_wipe(const struct wipe_case *test)
{
	char *text = strdup(test->text);
	static bool was_any;

	is_int(url_wipe(text), test->any, "wipe");
	was_any = was_any || test->any;
	is_int(secret_was_here(), was_any, "  is noted");
	is_text(text, test->want, "  text");
	free(text);
}

int
main(void)
{
	for (size_t i = 0; i < LENGTH(wipes); i++)
		test_wipe(&wipes[i]);
	for (size_t i = 0; i < LENGTH(good); i++)
		test_good(&good[i]);
	for (size_t i = 0; i < LENGTH(bad); i++)
		test_bad(&bad[i]);
	return tap_done();
}
