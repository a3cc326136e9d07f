/* A log file that others rotate, cut and fill up. Lines are appended, each with
 * one write. */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct log_file {
	const char *path;
	int fd;	      /* to be closed by the owner */
	bool is_ours; /* a descriptor with which we were started */
	dev_t device;
	ino_t inode;
	bool torn; /* the last line lacks its end */
	bool kept; /* what is at path now cannot be opened: that was said */
};

/* Creates the file if it does not exist. Only a regular file is opened: nothing
 * else is sure not to block, now or when it is written to. A path that names a
 * descriptor of ours, such as /dev/stdout, is that descriptor, whatever it is:
 * opened anew, the file would have another offset, and what the job writes
 * there would be overwritten. NULL, or the reason why not. */
const char *log_file_open(struct log_file *file, const char *path);

/* To be called before log_file_append. If another file is at the path, or none,
 * that one is opened; if this fails, it is reported once, and the former one is
 * used. */
void log_file_follow(struct log_file *file);

/* Appends the line, which ends with a newline. NULL, or the reason why the line
 * is lost. */
const char *log_file_append(struct log_file *file, const char *line,
    size_t length);

#endif
