#include "base/secret.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "pipe.h"
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

static int
noted_in_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		secret_note();
		_exit(secret_was_here());
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether the kernel has noted that of the memory there: see VmFlags in
 * proc(5). */
static bool
has_flag(const void *memory, const char *flag)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[512];
	bool there = false, has = false;

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		char *end;
		uintptr_t first = strtoull(line, &end, 16);

		if (*end == '-')
			there = first <= (uintptr_t)memory &&
				(uintptr_t)memory < strtoull(end + 1, NULL, 16);
		if (there && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, flag) != NULL;
	}
	fclose(maps);
	return has;
}

/* How much a caller may write into memory for so many bytes. */
static size_t
room_for(size_t size)
{
	size_t room = size;
	char *secret = secret_alloc(size);

	while (secret_grow(secret, room + 1) == secret)
		room++;
	/* It has been freed. */
	return room;
}

static void
test_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = room_for(1); /* of one page */
	char text[room + 1], *copy;

	ok(room < page && room > page - 100, "memory comes in whole pages");
	is_int((int64_t)room_for(room), (int64_t)room, "  as few as will do");
	is_int((int64_t)room_for(room + 1), (int64_t)(room + page), "  or two");
	memset(text, 'x', room);
	copy = mem_secret_copy(text, room);
	ok(secret_grow(copy, room + 1) == copy, "a NUL fits behind a copy");
	is_int(copy[room], '\0', "  and is there");
	ok(has_flag(copy, " dd"), "it is in no core");
	secret_free(copy);
	ok(!has_flag(text, " dd"), "  the stack is");
}

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static bool memory_is_out;

/* In place of the C library's: only mem_strndup calls it here. */
char *
strndup(const char *text, size_t length)
{
	char *copy = memory_is_out ? NULL : calloc(1, length + 1);

	return copy != NULL ? memcpy(copy, text, strnlen(text, length)) : NULL;
}

/* How a child ends, and what it prints to stderr. */
static void
test_out_of_memory(bool has_stderr)
{
	static const char text[] = "rlockrun: out of memory\n";
	int fd = open_pipe(), status = 0;
	pid_t child = fork();
	char said[64];
	ssize_t length;

	if (child == 0) {
		if (!has_stderr)
			close(STDERR_FILENO);
		memory_is_out = true;
		free(mem_strndup("abc", 2));
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == EXITCODE_RESOURCE,
	    "out of memory");
	length = read(fd, said, sizeof(said));
	is_int(length, has_stderr ? (int)strlen(text) : -1, "  it is said");
	ok(length <= 0 || memcmp(said, text, strlen(text)) == 0, "  so");
	close(fd);
}

static void
test_memory(void)
{
	char *list = mem_append(NULL, ',', "a"), *zeros = mem_alloc(500);
	char *some = mem_strndup("abc", 2);
	size_t left = 0;

	list = mem_append(list, ',', "");
	list = mem_append(list, ';', "b");
	is_text(list, "a,;b", "a list");
	is_text(some, "ab", "the first two");
	for (size_t i = 0; i < 500; i++)
		left += zeros[i] != '\0';
	is_int((int64_t)left, 0, "zeroed");
	ok(malloc_usable_size(zeros) >= 500, "  all of it");
	free(list);
	free(some);
	free(zeros);
	test_out_of_memory(true);
	test_out_of_memory(false);
}

int
main(void)
{
	char *mixed, *secret, *grown;

	test_memory();
	ok(!secret_was_here(), "no secret yet");
	is_int(noted_in_child(), 1, "unless there is one in other memory");
	mixed = secret_alloc_mixed(4);
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
	is_int((int64_t)secret_length("a\r", 2), 1,
	    "the end of another system");
	is_int((int64_t)secret_length("a\n\r", 3), 2, "one end");
	mixed = secret_alloc_mixed(4);
	memcpy(mixed, "say", 4);
	is_int(left_in_child(mixed, 4), 0, "mixed with a secret: wiped");
	secret_free(mixed);
	test_pages();
	return tap_done();
}
