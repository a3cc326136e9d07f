#include "sink/metrics_text.h"

#include <stdlib.h>

#include "tap.h"

static const struct {
	const char *key, *file, *label;
} cases[] = {
    {"job:sync-1.a_b", "rlockrun-job:sync-1.a_b", "job:sync-1.a_b"},
    {"/etc/../x", "rlockrun-%2Fetc%2F..%2Fx", "/etc/../x"},
    {".", "rlockrun-.", "."},
    {"a b~%", "rlockrun-a%20b%7E%25", "a b~%"},
    {"\"\\\n", "rlockrun-%22%5C%0A", "\\\"\\\\\\n"},
    {"\\n", "rlockrun-%5Cn", "\\\\n"},
    {"caf\u00e9", "rlockrun-caf%C3%A9", "caf\u00e9"},
    {"caf\xe9", "rlockrun-caf%E9", "caf\ufffde9"},
    {"\\xe9", "rlockrun-%5Cxe9", "\\\\xe9"},
    {"\t\x1b\x7f", "rlockrun-%09%1B%7F", "\ufffd09\ufffd1b\ufffd7f"},
    {"\ufffde9", "rlockrun-%EF%BF%BDe9", "\ufffdef\ufffdbf\ufffdbde9"},
    {"a\u202eb", "rlockrun-a%E2%80%AEb", "a\ufffde2\ufffd80\ufffdaeb"},
};

static void
test_cases(void)
{
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char file[METRICS_NAME_SIZE];
		char *label = metrics_text_label(cases[i].key);

		metrics_text_name(cases[i].key, file);
		is_text(file, cases[i].file, "a file");
		is_text(label, cases[i].label, "a label");
		free(label);
	}
}

static void
test_length(void)
{
	char key[1025] = "", file[METRICS_NAME_SIZE], other[METRICS_NAME_SIZE];

	memset(key, 'x', 200);
	metrics_text_name(key, file);
	ok(strlen(file) == strlen("rlockrun-") + 200, "200 bytes are whole");
	ok(strchr(file, '~') == NULL, "without a digest");
	key[200] = 'x';
	metrics_text_name(key, file);
	is_text(strchr(file, '~'),
	    "~84a0678c90937f5dcf9994d5866668da6b995109c8ad845410559b48a4ecafed",
	    "201 bytes have one");
	memset(key, '\xff', sizeof(key) - 1);
	metrics_text_name(key, file);
	ok(strlen(file) + strlen(".prom") <= 255, "1 kB fits into a name");
	key[1023] = '\xfe';
	metrics_text_name(key, other);
	ok(strcmp(file, other) != 0, "its last byte counts");
}

int
main(void)
{
	test_cases();
	test_length();
	return tap_done();
}
