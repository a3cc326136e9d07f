/* Orders to the hook runner, each with a byte for its length before it: an
 * order names a command that exists, or is dropped and counted. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define hook_runner_main fuzzed_runner_main
#include "sink/hook_runner.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
check_orders(struct runner *self)
{
	while (self->first != NULL) {
		struct order *order = self->first;

		require(order->command >= self->commands &&
			order->command < self->commands + self->command_count);
		require(order->length < HOOK_RUNNER_ORDER_MAX);
		self->first = order->next;
		self->count--;
		free(order);
	}
	require(self->count == 0);
}

/* How many were sent. */
static size_t
send_orders(int sock, const uint8_t *data, size_t size)
{
	size_t sent = 0;

	while (size > 1 && data[0] > 0 && data[0] < size &&
	       send(sock, data + 1, data[0], MSG_DONTWAIT) == data[0]) {
		size -= data[0] + 1U;
		data += data[0] + 1;
		sent++;
	}
	return sent;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hook_command commands[3];
	static char buffer[HOOK_RUNNER_ORDER_MAX];
	struct runner self = {.commands = commands,
	    .command_count = 3,
	    .buffer = buffer};
	int socks[2];
	size_t sent;

	require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks) == 0);
	self.sock = socks[0];
	sent = send_orders(socks[1], data, size);
	take_orders(&self);
	require(!self.ended && self.count <= ORDERS_MAX);
	require(self.count + self.dropped == sent);
	shutdown(socks[1], SHUT_WR);
	take_orders(&self);
	require(self.ended);
	check_orders(&self);
	close(socks[0]);
	close(socks[1]);
	return 0;
}
