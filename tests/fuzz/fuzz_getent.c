/* What getent(1) prints, of which the static build takes the addresses: no
 * more than there is room for, each once, with the port that was asked for. */
#include <sys/mman.h>

#include "fuzz.h"

/* The program itself has those of resolve_libc.c. */
#define resolve_look_up fuzzed_look_up
#define resolve_failure fuzzed_failure
#include "redis/names/resolve_getent.c"

#include <netinet/in.h>

enum { PORT = 6379 };

static void
check_address(const struct resolve_address *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->addr.ss_family == AF_INET) {
		memcpy(&v4, &address->addr, sizeof(v4));
		require(address->length == sizeof(v4));
		require(ntohs(v4.sin_port) == PORT);
	} else {
		memcpy(&v6, &address->addr, sizeof(v6));
		require(address->addr.ss_family == AF_INET6);
		require(address->length == sizeof(v6));
		require(ntohs(v6.sin6_port) == PORT);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct resolve_answer answer = {.count = 0};
	int fd = memfd_create("getent", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	require(lseek(fd, 0, SEEK_SET) == 0);
	read_addresses(&answer, fd, PORT);
	require(answer.count <= RESOLVE_MAX);
	for (size_t i = 0; i < answer.count; i++) {
		const struct resolve_address *address = &answer.address[i];

		check_address(address);
		for (size_t j = 0; j < i; j++)
			require(
			    memcmp((const char *)&answer.address[j],
				(const char *)address, sizeof(*address)) != 0);
	}
	return 0;
}
