/* Commands as bytes, and that what was written or taken back is wiped. */
#include "redis/out.h"

#include "tap.h"

#define PING "*1\r\n$4\r\nPING\r\n"
#define LONG "12345678901"

static struct out out;

static bool
is_wiped(size_t from, size_t size)
{
	for (size_t i = from; i < size; i++)
		if (out.bytes[i] != '\0')
			return false;
	return true;
}

static void
has(const char *bytes, const char *what)
{
	is_int((int64_t)out.length, (int64_t)strlen(bytes), what);
	ok(memcmp(out.bytes, bytes, strlen(bytes)) == 0, "  its bytes");
}

int
main(void)
{
	static const char *const ping[] = {"PING", NULL},
				 *const words[] = {LONG, "", NULL},
				 *const head[2] = {"EVALSHA", "0"};
	size_t length = strlen(PING), whole;

	ok(out_init(&out) == 0, "empty");
	ok(out_put(&out, NULL, ping) == 0, "a command");
	has(PING, "  as Redis reads it");
	ok(out_put(&out, head, words) == 0, "behind it, one with a head");
	has(PING "*4\r\n$7\r\nEVALSHA\r\n$1\r\n0\r\n$11\r\n" LONG
		 "\r\n$0\r\n\r\n",
	    "  both");
	whole = out.length;
	out_cut(&out, length);
	has(PING, "the second is taken back");
	ok(is_wiped(length, whole), "  and wiped");
	out_wrote(&out, 4);
	has(&PING[4], "a part is written");
	ok(is_wiped(length - 4, whole), "  and wiped");
	out_fini(&out);
	return tap_done();
}
