/* An object has a size that is a power of two. Small ones are cut from large
 * chunks, and one that is freed is kept for the next of its size; each large
 * one is mapped by itself. */
#include "redis/tls/tls_memory.h"

#include <openssl/crypto.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_SIZE = 256 * 1024, SMALLEST = 5, LARGEST = 15 };

struct object {
	union {
		int power;	     /* while it is used */
		struct object *next; /* while it is not */
	};
	_Alignas(max_align_t) char bytes[];
};

struct memory {
	struct object *unused[LARGEST + 1];
	char *chunk;
	size_t left; /* of the chunk */
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): of this process */
static struct memory memory;

/* One call instead of a page fault for each page: nearly all are used. */
static void *
map(size_t size)
{
	void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* The rest of the former chunk stays unused. */
static void *
cut_object(size_t size)
{
	if (memory.left < size) {
		memory.chunk = map(CHUNK_SIZE);
		memory.left = memory.chunk == NULL ? 0 : CHUNK_SIZE;
		if (memory.chunk == NULL)
			return NULL;
	}
	memory.left -= size;
	return memory.chunk + memory.left;
}

static void *
allocate(size_t size, const char *file, int line)
{
	struct object *object;
	int power = SMALLEST;

	(void)file;
	(void)line;
	if (size > PTRDIFF_MAX / 2)
		return NULL;
	while (size > ((size_t)1 << power) - sizeof(*object))
		power++;
	if (power > LARGEST)
		object = map((size_t)1 << power);
	else if ((object = memory.unused[power]) != NULL)
		memory.unused[power] = object->next;
	else
		object = cut_object((size_t)1 << power);
	if (object == NULL)
		return NULL;
	object->power = power;
	return object->bytes;
}

static void
release_object(void *bytes, const char *file, int line)
{
	struct object *object;
	int power;

	(void)file;
	(void)line;
	if (bytes == NULL)
		return;
	object = (struct object *)bytes - 1;
	power = object->power;
	if (power > LARGEST) {
		munmap(object, (size_t)1 << power);
		return;
	}
	object->next = memory.unused[power];
	memory.unused[power] = object;
}

static void *
reallocate(void *bytes, size_t size, const char *file, int line)
{
	size_t room;
	void *moved;

	if (bytes == NULL)
		return allocate(size, file, line);
	room = ((size_t)1 << ((struct object *)bytes - 1)->power) -
	       sizeof(struct object);
	if (size <= room)
		return bytes;
	moved = allocate(size, file, line);
	if (moved == NULL)
		return NULL;
	memcpy(moved, bytes, room);
	release_object(bytes, file, line);
	return moved;
}

void
tls_memory_provide(void)
{
	CRYPTO_set_mem_functions(allocate, reallocate, release_object);
}
