/* The metrics of one lock as a file that all its runs on this host update:
 *
 *   NAME.prom  what Prometheus reads; replaced as a whole
 *   NAME.tmp   its next version while it is written, then the former one
 *   NAME.lock  flock(2)ed while NAME.prom is replaced. A run that waits or
 * holds has a lock on one byte of it (fcntl(2), of its open file description)
 * that ends with its process, so that others find out which of the recorded
 * runs are still there.
 *
 * No name is followed if it is a link, and only regular files are read and
 * written. */
#ifndef METRICS_FILE_H
#define METRICS_FILE_H

#include <stdbool.h>

#include "sink/metrics_text.h"

enum { METRICS_FILE_NAME_SIZE = METRICS_NAME_SIZE + sizeof(".prom") };

struct metrics_file {
	char *folder;
	/* What is in it: NAME.prom, NAME.tmp, NAME.lock. */
	char text_name[METRICS_FILE_NAME_SIZE];
	char new_name[METRICS_FILE_NAME_SIZE];
	char lock_name[METRICS_FILE_NAME_SIZE];
	char *label;
	/* While this process is one of its runs, otherwise -1 and 0. */
	int lock_fd;
	int byte;
	struct metrics changes; /* that are not written */
	int folder_fd;		/* of an update that is being made */
	char *text;
	size_t room;
	bool damaged; /* what the last update has replaced */
	char why[METRICS_NAME_SIZE + 128];
};

/* Whether files can be made in the folder now: NULL, or the reason why not. */
const char *metrics_file_check_folder(const char *folder);

/* Dies when memory is out. */
void metrics_file_init(struct metrics_file *file, const char *folder,
    const char *key);
void metrics_file_fini(struct metrics_file *file);

/* Adds file->changes to what the file says; then there are none. run: what this
 * process does, without a byte; if since_ms is 0, it neither waits nor holds.
 * Waits for another process that updates the file, for half a second at most.
 * NULL, or the reason why not, which lasts until the next update: the changes
 * remain, and what Prometheus reads is as it was. */
const char *metrics_file_update(struct metrics_file *file,
    const struct metrics_run *run);

#endif
