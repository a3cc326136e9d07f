/* The metrics of one lock as a file that all its runs on this host update:
 *
 *   NAME.prom  what Prometheus reads; replaced as a whole
 *   NAME.tmp   its next version while it is written, then the former one
 *   NAME.lock  flock(2)ed while NAME.prom is replaced. A run that waits or
 * holds has a lock on one byte of it (fcntl(2), of its open file description)
 * that ends with its process, so that others find out which of the recorded
 * runs are still there.
 *
 * Nothing here waits for another process. No name is followed if it is a link,
 * and only regular files are read and written. */
#ifndef METRICS_FILE_H
#define METRICS_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "sink/metrics_name.h"
#include "sink/metrics_text.h"

struct metrics_file {
	const char *folder;
	char name[METRICS_NAME_SIZE];
	char *label;
	char *text; /* during an update */
	size_t room;
	char why[METRICS_NAME_SIZE + 128]; /* the last update failed */
	/* While this process is one of its runs, otherwise -1 and 0. */
	int lock_fd;
	int slot;
};

enum metrics_update {
	METRICS_UPDATED_WELL,
	METRICS_UPDATED_ANEW, /* what was there is damaged */
	METRICS_UPDATE_BUSY,  /* another process does it; try again soon */
	METRICS_UPDATE_FAILED,
};

/* Dies when memory is out. The folder's name must last. */
void metrics_file_init(struct metrics_file *file, const char *folder,
    const char *key);
void metrics_file_fini(struct metrics_file *file);

/* Adds the changes to what the file says. run: what this process does, without
 * a slot; NULL: it neither waits nor holds. If it fails, *why is a text that
 * lasts until the next update, and the file is as it was. */
enum metrics_update metrics_file_update(struct metrics_file *file,
    const struct metrics *changes, const struct metrics_run *run,
    const char **why);

#endif
