#include "redis/tls/tls_memory.h"

#include <openssl/crypto.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

enum { OBJECTS = 300, STEPS = 200000, SIZE_MAX_SEEN = 70000 };

static CRYPTO_malloc_fn allocate;
static CRYPTO_realloc_fn reallocate;
static CRYPTO_free_fn release;

/* OpenSSL's, which only a static build has in it. */
int
CRYPTO_set_mem_functions(CRYPTO_malloc_fn malloc_fn,
    CRYPTO_realloc_fn realloc_fn, CRYPTO_free_fn free_fn)
{
	allocate = malloc_fn;
	reallocate = realloc_fn;
	release = free_fn;
	return 1;
}

static struct object {
	unsigned char *bytes;
	size_t size;
	unsigned char mark;
} objects[OBJECTS];

static bool
is_intact(const struct object *object, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (object->bytes[i] != object->mark)
			return false;
	return true;
}

/* Mostly small ones, as OpenSSL's are. */
static size_t
choose_size(void)
{
	size_t size = (size_t)rand();

	return size % 20 == 0 ? size / 20 % SIZE_MAX_SEEN : size % 600;
}

static bool
change(struct object *object)
{
	size_t size = choose_size();
	size_t kept = size < object->size ? size : object->size;

	if (!is_intact(object, object->size))
		return false;
	if (rand() % 3 == 0) {
		release(object->bytes, "", 0);
		*object = (struct object){.bytes = NULL};
		return true;
	}
	object->bytes = reallocate(object->bytes, size, "", 0);
	if (object->bytes == NULL || (uintptr_t)object->bytes % 16 != 0 ||
	    !is_intact(object, kept))
		return false;
	object->size = size;
	object->mark = (unsigned char)rand();
	memset(object->bytes, object->mark, size);
	return true;
}

static void
objects_keep_their_bytes(void)
{
	int step = 0;

	while (step < STEPS && change(&objects[rand() % OBJECTS]))
		step++;
	ok(step == STEPS, "objects keep their bytes, whatever their size");
	for (size_t i = 0; i < OBJECTS; i++)
		release(objects[i].bytes, "", 0);
}

static void
freed_memory_is_used_again(void)
{
	void *first = allocate(100, "", 0), *second;

	release(first, "", 0);
	second = allocate(90, "", 0);
	ok(first == second, "a freed object is the next of its size");
	release(second, "", 0);
}

static void
too_much_is_refused(void)
{
	void *small = allocate(10, "", 0);

	ok(allocate(SIZE_MAX, "", 0) == NULL &&
		allocate(SIZE_MAX / 2, "", 0) == NULL,
	    "more than there is");
	ok(reallocate(small, SIZE_MAX - 8, "", 0) == NULL,
	    "an object cannot grow to more than there is");
	release(small, "", 0);
}

int
main(void)
{
	tls_memory_provide();
	objects_keep_their_bytes();
	freed_memory_is_used_again();
	too_much_is_refused();
	return tap_done();
}
