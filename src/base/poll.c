#include "base/poll.h"

int
poll_wait(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	return poll(polled, count, timeout_ms);
}
