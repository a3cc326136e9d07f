/* Writing to files that are not worth a signal. */
#ifndef FILE_WRITE_H
#define FILE_WRITE_H

#include <sys/types.h>
#include <sys/uio.h>

/* Like writev(2). Beyond RLIMIT_FSIZE the kernel would end us by SIGXFSZ, or
 * have us forward it to the job: here the write only fails with EFBIG. */
ssize_t file_write(int fd, const struct iovec *parts, int count);

#endif
