/* How a primary is found by its sentinels, by the words of placed.h. */
#include "redis/ways/sentinel.h"

#include "placed.h"
#include "tap.h"

#define ASKS(who, ms) who ":SENTINEL_get-master-addr-by-name@" #ms " db"
#define FAILS(ms) ASKS("a", ms) " drop:a " ASKS("b", ms) " drop:b "
#define SILENCE(ms) FAILS(ms) "primary:no sentinel answers: silence "
#define SILENT "find80000 1=silent 2=silent "
#define NO_PASSWORD                                                       \
	"it requires a password (give it by --sentinel-password-file or " \
	"RLOCKRUN_SENTINEL_PASSWORD, which a job does not inherit)"
#define WRONG "WRONGPASS (check the user and the password for the sentinels)"

/* So many sentinels: a, b and c are the ways 1, 2 and 3. */
static const struct placed_row sentinels[] = {
    {"half of the time is for the primary, a part of the rest for each", "2",
	"find4400 +700 1=silent +700 2=h",
	ASKS("a", 733) " drop:a " ASKS("b", 750) " drop:b primary=h:7@800"},
    {"  a second at most", "1", "find9000 1=h",
	ASKS("a", 1000) " drop:a primary=h:7@4500"},
    {"a slow primary has two seconds, if there are so many", "2",
	"find3000 cancel find1500 1=h",
	ASKS("a", 666) " drop:a " ASKS("a", 500) " drop:a primary=h:7@1500"},
    {"distant ones are waited for until one answers", "2",
	SILENT SILENT SILENT SILENT SILENT "find80000 1=h find80000",
	SILENCE(1000) SILENCE(2000) SILENCE(4000) SILENCE(8000) SILENCE(8000)
	    ASKS("a", 8000) " drop:a primary=h:7@40000 " ASKS("b", 1000)},
    {"who has answered is asked first", "3",
	"find9000 1=silent 2=silent 3=h judge=master find9000 3=silent "
	"1=silent",
	ASKS("a", 1000) " drop:a " ASKS("b", 1000) " drop:b " ASKS("c",
	    1000) " drop:c primary=h:7@4500 fits " ASKS("c",
	    1000) " drop:c " ASKS("a", 1000) " drop:a " ASKS("b", 1000)},
    {"  last if its answer was wrong", "3",
	"find9000 1=h judge=slave find9000 2=silent 3=silent",
	ASKS("a", 1000) " drop:a primary=h:7@4500 it is a replica, not the "
			"primary " ASKS("b", 1000) " drop:b " ASKS("c",
			    1000) " drop:c " ASKS("a", 1000)},
    {"  which is said once", "2", "find9000 1=h find9000 cancel find9000",
	ASKS("a", 1000) " drop:a primary=h:7@4500 " ASKS("b",
	    1000) " drop:b " ASKS("b", 1000)},
    {"who is not asked is not cancelled", "1", "cancel", ""},
    {"what it should be", "1",
	"judge=ok judge=-NOPERM judge=master judge=sentinel",
	"fits fits fits it is not a primary"},

    {"nobody knows it", "2", "find9000 1=nil 2=nil",
	FAILS(1000) "primary:its sentinels know no master \"db\",permanent"},
    {"some do not, the others are silent", "2", "find9000 1=dead 2=nil",
	FAILS(1000) "primary:1 of 2 sentinels answer, and know no such "
		    "master,permanent"},
    {"  or refuse us", "2", "find9000 1=refused 2=nil",
	FAILS(1000) "primary:1 of 2 sentinels answer, and know no such "
		    "master,permanent"},
    {"all refuse us", "2", "find9000 1=-NOAUTH 2=-WRONGPASS_x",
	FAILS(1000) "primary:sentinel b: " WRONG ",refused,permanent"},
    {"  that answer", "2", "find9000 1=refused 2=silent",
	FAILS(1000) "primary:sentinel a: NOPERM,refused"},
    {"  but for one that is none", "2", "find9000 1=-NOAUTH 2=ok",
	FAILS(1000) "primary:no sentinel answers: b: an answer that is not "
		    "understood"},
    {"  that requires a password", "1", "find9000 1=-NOAUTH",
	ASKS("a", 1000) " drop:a primary:sentinel a: " NO_PASSWORD
			",refused,permanent"},
    {"a plain server", "1", "find9000 1=-ERR_unknown_command",
	ASKS("a", 1000) " drop:a primary:no sentinel answers: a: it is not a "
			"sentinel,permanent"},
    {"another error", "1", "find9000 1=-LOADING",
	ASKS("a", 1000) " drop:a primary:no sentinel answers: a: LOADING"},
    {"nobody answers, nor will", "2", "find9000 1=dead 2=dead",
	FAILS(1000) "primary:no sentinel answers: silence,permanent"},
    {"what is counted is counted anew", "1", "find9000 1=nil find9000 1=silent",
	ASKS("a",
	    1000) " drop:a primary:its sentinels know no master "
		  "\"db\",permanent " ASKS("a",
		      2000) " drop:a primary:no sentinel answers: silence"},
    {"memory is out for one", "2", "full find9000 2=h",
	"no-" ASKS("a", 1000) " " ASKS("b", 1000) " drop:b primary=h:7@4500"},
};

static void
test_sentinels(void)
{
	struct endpoint url = {.master = "db", .hosts = seeds};
	char want[200];
	void *place;

	for (size_t i = 0; i < LENGTH(sentinels); i++) {
		url.host_count = strtoul(sentinels[i].with, NULL, 10);
		play(&way_sentinels, &url, "primary", NULL, &sentinels[i]);
	}
	url.host_count = 1;
	place = begin(&way_sentinels, &url, "primary", NULL);
	take_steps(&way_sentinels, place, "full find9000");
	snprintf(want, sizeof(want),
	    "no-" ASKS("a", 1000) " primary:no sentinel answers: %s",
	    strerror(ENOMEM));
	is_text(placed.trace, want, "  for all");
	way_sentinels.end(place);
	url.host_count = 2;
	place = begin(&way_sentinels, &url, "primary", NULL);
	way_sentinels.end(place);
	is_text(placed.trace, "free:a free:b", "the end frees their ways");
	placed.full = true;
	ok(way_sentinels.begin(NULL, NULL, &url, NULL) == NULL,
	    "memory is out");
}

/* What two ways have been told, NULL: nothing, and how much later this one
 * was. */
static const struct {
	const char *what, *here, *there;
	int64_t later_ms;
	bool has_moved;
} moves[] = {
    {"another host", "g", "h", 1, true},
    {"another port", "h8", "h", 1, true},
    {"at the same time", "g", "h", 0, true},
    {"before", "g", "h", -1, false},
    {"the same", "h", "h", 1, false},
    {"this one knows none", NULL, "h", 1, false},
    {"that one knows none", "h", NULL, 1, false},
};

static void
locate(void *place, struct way *sentinel, const char *word)
{
	way_sentinels.locate(place, placed.now + 9000);
	answer(sentinel, word != NULL ? word : "silent");
}

static void
test_moves(void)
{
	const struct endpoint url = {.master = "db",
	    .hosts = seeds,
	    .host_count = 1};

	for (size_t i = 0; i < LENGTH(moves); i++) {
		void *here = begin(&way_sentinels, &url, "here", NULL);
		void *there =
		    way_sentinels.begin(new_way("there"), NULL, &url, NULL);

		ok(!way_sentinels.has_moved(here, there), "nothing is known");
		locate(there, &placed.ways[3], moves[i].there);
		placed.now += moves[i].later_ms;
		locate(here, &placed.ways[1], moves[i].here);
		ok(way_sentinels.has_moved(here, there) == moves[i].has_moved,
		    "%s", moves[i].what);
		way_sentinels.locate(here, placed.now + 9000);
		ok(!way_sentinels.has_moved(here, there), "  is asked anew");
		way_sentinels.end(here);
		way_sentinels.end(there);
	}
}

/* A name of so many letters, and what follows it. */
static const struct {
	int letters;
	const char *rest;
	int port;
} addresses[] = {
    {1, "$1\r\n1\r\n", 1},
    {URL_HOST_SIZE - 1, "$5\r\n65535\r\n", 65535},
    {URL_HOST_SIZE, "$1\r\n1\r\n", 0},
    {0, "$1\r\n1\r\n", 0},
    {1, "$1\r\n0\r\n", 0},
    {1, "$5\r\n65536\r\n", 0},
    {1, ":1\r\n", 0},
};

static void
test_addresses(void)
{
	for (size_t i = 0; i < LENGTH(addresses); i++) {
		struct url_address address = {.port = 0};
		char host[URL_HOST_SIZE + 1] = "", wire[400];
		struct value *value;
		bool is_one;

		memset(host, 'h', (size_t)addresses[i].letters);
		snprintf(wire, sizeof(wire), "*2\r\n$%d\r\n%s\r\n%s",
		    addresses[i].letters, host, addresses[i].rest);
		value = parse(wire);
		is_one = sentinel_read_address(&address, value);
		ok(is_one == (addresses[i].port != 0), "address %zu", i);
		is_int(address.port, addresses[i].port, "  its port");
		is_text(address.host, is_one ? host : "", "  its host");
		value_free(value);
	}
}

int
main(void)
{
	test_sentinels();
	test_moves();
	test_addresses();
	return tap_done();
}
