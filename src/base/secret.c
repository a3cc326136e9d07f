#include "base/secret.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* At least as deep as parsing options and formatting a command. */
enum { DEAD_STACK = 32768 };
/* The vector registers, and what else is called before main. */
enum { DEAD_START = 4096 };

/* Precedes the memory that the caller gets. */
struct header {
	alignas(max_align_t) size_t size; /* of all pages */
	size_t shares;			  /* beside the first */
	bool common;			  /* from malloc(3) */
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): of this process */
static bool any;

static struct header *
header_of(void *secret)
{
	return (struct header *)secret - 1;
}

/* MADV_WIPEONFORK came with Linux 4.14. If a kernel or a sandbox refuses either
 * call, others still cannot read the memory, as the process is not dumpable. */
void *
secret_alloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (size + sizeof(struct header) + page - 1) / page * page;
	struct header *header = mmap(NULL, whole, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	any = true;
	if (header == MAP_FAILED)
		return NULL;
	madvise(header, whole, MADV_WIPEONFORK);
	madvise(header, whole, MADV_DONTDUMP);
	header->size = whole;
	return header + 1;
}

void *
secret_alloc_mixed(size_t size)
{
	struct header *header;

	if (any)
		return secret_alloc(size);
	header = malloc(sizeof(*header) + size);
	if (header == NULL)
		return NULL;
	*header =
	    (struct header){.size = sizeof(*header) + size, .common = true};
	return header + 1;
}

void
secret_note(void)
{
	any = true;
}

bool
secret_was_here(void)
{
	return any;
}

size_t
secret_length(const char *text, size_t length)
{
	if (length > 0 && text[length - 1] == '\n')
		length--;
	if (length > 0 && text[length - 1] == '\r')
		length--;
	return length;
}

void *
secret_grow(void *secret, size_t size)
{
	size_t room = header_of(secret)->size - sizeof(struct header);
	void *larger;

	if (size <= room)
		return secret;
	larger = secret_alloc(size);
	if (larger == NULL)
		return NULL;
	memcpy(larger, secret, room);
	secret_free(secret);
	return larger;
}

void *
secret_share(void *secret)
{
	if (secret != NULL)
		header_of(secret)->shares++;
	return secret;
}

/* The kernel zeroes a page before it is mapped again. */
void
secret_free(void *secret)
{
	struct header *header;

	if (secret == NULL)
		return;
	header = header_of(secret);
	if (header->shares > 0)
		header->shares--;
	else if (header->common)
		free(header);
	else
		munmap(header, header->size);
}

__attribute__((noinline)) void
secret_wipe_stack(void)
{
	char dead[DEAD_STACK];

	if (any)
		explicit_bzero(dead, sizeof(dead));
}

__attribute__((noinline)) void
secret_wipe_start(void)
{
	char dead[DEAD_START];

	explicit_bzero(dead, sizeof(dead));
}
