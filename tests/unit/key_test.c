#include "lock/key.h"

#include <stdlib.h>

#include "redis/ways/cluster.h"
#include "tap.h"

static const struct {
	const char *key, *helper, *bell;
	bool placeable;
} cases[] = {
    {"job", "{job}:rlk:i", "{job}:rlk:m:t-1", true},
    {"", "{}:rlk:i", "{}:rlk:m:t-1", false},
    {"{a}b", "{a}b:rlkt:i", "{a}b:rlkt:m:t-1", true},
    {"x{{a}}", "x{{a}}:rlkt:i", "x{{a}}:rlkt:m:t-1", true},
    {"a}{b}", "a}{b}:rlkt:i", "a}{b}:rlkt:m:t-1", true},
    {"{}{a}", "{{}{a}}:rlk:i", "{{}{a}}:rlk:m:t-1", false},
    {"a{}b", "{a{}b}:rlk:i", "{a{}b}:rlk:m:t-1", false},
    {"a}b", "{a}b}:rlk:i", "{a}b}:rlk:m:t-1", false},
    {"{a", "{{a}:rlk:i", "{{a}:rlk:m:t-1", true},
    {"}{", "{}{}:rlk:i", "{}{}:rlk:m:t-1", false},
};

static const char *const no_helpers[] = {"", ":", "i", "job", "job:rlk:i",
    "job:rlkt:i", "{job}:rlkt", "{job}:rlk:", "{job}:rlk:ii", "{job}rlk:i",
    "{{a}b}:rlk:i", "{a{}b:rlkt:", "}:rlk:i", ":rlk:i", "{}b:rlkt:i",
    "{job}:rlk:m:t-1"};

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *helper = key_helper(cases[i].key, 'i');
		char *bell = key_of_token(cases[i].key, 'm', "t-1");
		char *back;

		is_text(helper, cases[i].helper, cases[i].key);
		is_text(bell, cases[i].bell, cases[i].key);
		is_int(key_is_placeable(cases[i].key), cases[i].placeable,
		    "  in its slot");
		is_int(cluster_slot(helper) == cluster_slot(cases[i].key) &&
			   cluster_slot(bell) == cluster_slot(cases[i].key),
		    cases[i].placeable, "  indeed");
		back = key_of_helper(helper);
		is_text(back, cases[i].key, "  and back");
		free(back);
		free(helper);
		free(bell);
	}
	for (size_t i = 0; i < sizeof(no_helpers) / sizeof(*no_helpers); i++)
		is_text(key_of_helper(no_helpers[i]), NULL, no_helpers[i]);
	return tap_done();
}
