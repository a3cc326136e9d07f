/* Tokens have every random byte, and the form of a version 4 UUID. */
#include "lock/token.h"

#include <errno.h>
#include <sys/random.h>

#include "tap.h"

/* In place of the kernel's: counts from a number. */
static size_t first_byte;
static ssize_t given = 16;

ssize_t
getrandom(void *buffer, size_t length, unsigned flags)
{
	unsigned char *bytes = buffer;

	(void)flags;
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(first_byte + i);
	errno = EAGAIN;
	return given;
}

int
main(void)
{
	char token[TOKEN_SIZE];

	is_int(token_make(token), 0, "a token");
	is_text(token, "00010203-0405-4607-8809-0a0b0c0d0e0f",
	    "its bytes, each in its place");
	first_byte = 0xf0;
	is_int(token_make(token), 0, "another one");
	is_text(token, "f0f1f2f3-f4f5-46f7-b8f9-fafbfcfdfeff",
	    "  has the version and the variant of a random UUID");
	given = 15;
	is_int(token_make(token), -1, "too little randomness");
	given = -1;
	is_int(token_make(token), -1, "no randomness");
	is_int(errno, EAGAIN, "  its error");
	return tap_done();
}
