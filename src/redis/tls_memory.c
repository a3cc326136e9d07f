/* Small objects are cut from large chunks. Their sizes are powers of two, and
 * one that is freed is kept for the next of its size. Others come from malloc.
 */
#include "redis/tls_memory.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_SIZE = 256 * 1024, SMALLEST = 5, LARGEST = 15 };

struct object {
	union {
		/* While it is used: its size, or up to LARGEST, of which power
		 * of two that is. */
		size_t size;
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

static size_t
power_of(size_t size)
{
	size_t power = SMALLEST;

	while (power <= LARGEST &&
	       size > ((size_t)1 << power) - sizeof(struct object))
		power++;
	return power;
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
cut(size_t size)
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

static struct object *
take(size_t power)
{
	struct object *object = memory.unused[power];

	if (object == NULL)
		return cut((size_t)1 << power);
	memory.unused[power] = object->next;
	return object;
}

static void *
allocate(size_t size, const char *file, int line)
{
	size_t power = power_of(size);
	size_t whole = sizeof(struct object) + size;
	struct object *object;

	(void)file;
	(void)line;
	if (whole < size)
		return NULL;
	object = power > LARGEST ? map(whole) : take(power);
	if (object == NULL)
		return NULL;
	object->size = power > LARGEST ? whole : power;
	return object->bytes;
}

static struct object *
object_of(void *bytes)
{
	return (struct object *)((char *)bytes - sizeof(struct object));
}

static size_t
room_of(const struct object *object)
{
	size_t whole =
	    object->size > LARGEST ? object->size : (size_t)1 << object->size;

	return whole - sizeof(*object);
}

static void
release(void *bytes, const char *file, int line)
{
	struct object *object;
	size_t size;

	(void)file;
	(void)line;
	if (bytes == NULL)
		return;
	object = object_of(bytes);
	size = object->size;
	if (size > LARGEST) {
		munmap(object, size);
		return;
	}
	object->next = memory.unused[size];
	memory.unused[size] = object;
}

static void *
reallocate(void *bytes, size_t size, const char *file, int line)
{
	size_t room = bytes == NULL ? 0 : room_of(object_of(bytes));
	void *moved;

	if (bytes != NULL && size <= room)
		return bytes;
	moved = allocate(size, file, line);
	if (moved == NULL)
		return NULL;
	if (bytes != NULL)
		memcpy(moved, bytes, room);
	release(bytes, file, line);
	return moved;
}

void
tls_memory_provide(void)
{
	CRYPTO_set_mem_functions(allocate, reallocate, release);
}
