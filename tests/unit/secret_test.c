#include "base/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tap.h"

/* How many of these bytes a child made by fork(2) finds. */
static int
left_in_child(const char *secret, size_t size)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		int left = 0;

		for (size_t i = 0; i < size; i++)
			left += secret[i] != '\0';
		_exit(left > 0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
main(void)
{
	char *mixed = secret_alloc_mixed(4);
	char *secret, *grown;

	ok(!secret_was_here(), "no secret yet");
	memcpy(mixed, "say", 4);
	is_int(left_in_child(mixed, 4), 1,
	    "common memory, as a child finds it");
	secret = mem_secret_copy("hush, hush", 4);
	ok(secret_was_here(), "a secret");
	mixed = secret_grow(mixed, 10000);
	is_text(mixed, "say", "grown");
	is_int(left_in_child(mixed, 4), 0, "wiped in a child");
	secret_free(mixed);

	is_text(secret, "hush", "a copy up to a length");
	ok(secret_grow(secret, 100) == secret, "there is room in the page");
	grown = secret_grow(secret, 100000);
	is_text(grown, "hush", "grown, with what was in it");
	memset(grown, 'x', 100000);
	is_int(left_in_child(grown, 100000), 0, "wiped in a child");
	is_int(grown[99999], 'x', "and not here");
	ok(secret_share(grown) == grown, "shared, it is the same memory");
	secret_free(grown);
	is_int(grown[0], 'x', "and it lasts until its last owner frees it");
	secret_free(grown);
	secret_free(NULL);
	ok(secret_share(NULL) == NULL, "NULL can be shared, too");
	is_int((int64_t)secret_length("a\r\n", 3), 1, "a line without its end");
	is_int((int64_t)secret_length(&"\n"[1], 0), 0, "nothing has none");
	is_int((int64_t)secret_length(&"\r\n"[1], 1), 0,
	    "nor has an empty line");
	return tap_done();
}
