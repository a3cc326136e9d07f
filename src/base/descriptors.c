#include "base/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not in the headers of older systems. The wrapper of glibc came with 2.34. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int
close_range_to(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

/* May count the descriptor that reads the list. */
static int
read_last(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int last = 0;

	if (folder == NULL)
		return -1;
	while (errno = 0, (entry = readdir(folder)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (fd > last)
			last = fd;
	}
	if (errno != 0)
		last = -1;
	closedir(folder);
	return last;
}

/* An empty range shows whether the call is there. */
int
descriptors_find_last(void)
{
	return close_range_to(~0U, ~0U) == 0 ? INT_MAX : read_last();
}

int
descriptors_close(int first, int last)
{
	if (close_range_to((unsigned)first, (unsigned)last) == 0)
		return 0;
	if (last == INT_MAX)
		last = read_last();
	for (int fd = first; fd <= last; fd++)
		close(fd);
	return last == -1 ? -1 : 0;
}
