/* Small objects are cut from large chunks. Their sizes are powers of two, and
 * one that is freed is kept for the next of its size. Others are mapped. */
#include "redis/tls/tls_memory.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_SIZE = 256 * 1024, SMALLEST = 5, LARGEST = 15 };

struct object {
	union {
		size_t room;	     /* while it is used: of bytes */
		struct object *next; /* while it is not */
	};
	_Alignas(max_align_t) char bytes[];
};

struct memory {
	struct object *unused[LARGEST + 1];
	char *chunk, *end;
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): of this process */
static struct memory memory;

/* Above LARGEST: mapped by itself. */
static size_t
power_of(size_t room)
{
	size_t power = SMALLEST;

	while (power <= LARGEST &&
	       room > ((size_t)1 << power) - sizeof(struct object))
		power++;
	return power;
}

static struct object *
object_of(void *bytes)
{
	return (struct object *)((char *)bytes - sizeof(struct object));
}

/* One call instead of a page fault for each page: nearly all are used. */
static void *
map(size_t size)
{
	void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* The rest of the former chunk stays unused. */
static struct object *
cut_object(size_t size)
{
	char *object;

	if ((size_t)(memory.end - memory.chunk) < size) {
		char *chunk = map(CHUNK_SIZE);
		if (chunk == NULL)
			return NULL;
		memory.chunk = chunk;
		memory.end = chunk + CHUNK_SIZE;
	}
	object = memory.chunk;
	memory.chunk += size;
	return (struct object *)object;
}

static void *
allocate(size_t size, const char *file, int line)
{
	size_t power = power_of(size);
	struct object *object;

	(void)file;
	(void)line;
	if (power > LARGEST) {
		object =
		    size > PTRDIFF_MAX ? NULL : map(sizeof(*object) + size);
	} else {
		size = ((size_t)1 << power) - sizeof(*object);
		object = memory.unused[power];
		if (object != NULL)
			memory.unused[power] = object->next;
		else
			object = cut_object((size_t)1 << power);
	}
	if (object == NULL)
		return NULL;
	object->room = size;
	return object->bytes;
}

static void
release_object(void *bytes, const char *file, int line)
{
	struct object *object;
	size_t power;

	(void)file;
	(void)line;
	if (bytes == NULL)
		return;
	object = object_of(bytes);
	power = power_of(object->room);
	if (power > LARGEST) {
		munmap(object, sizeof(*object) + object->room);
		return;
	}
	object->next = memory.unused[power];
	memory.unused[power] = object;
}

static void *
reallocate(void *bytes, size_t size, const char *file, int line)
{
	size_t room = bytes == NULL ? 0 : object_of(bytes)->room;
	void *moved;

	if (bytes != NULL && size <= room)
		return bytes;
	moved = allocate(size, file, line);
	if (moved != NULL && bytes != NULL)
		memcpy(moved, bytes, room);
	if (moved != NULL)
		release_object(bytes, file, line);
	return moved;
}

void
tls_memory_provide(void)
{
	CRYPTO_set_mem_functions(allocate, reallocate, release_object);
}
