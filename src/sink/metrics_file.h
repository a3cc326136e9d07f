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

enum { METRICS_FILE_NAME_SIZE = METRICS_NAME_SIZE + sizeof(".prom") };

enum metrics_update {
	METRICS_UPDATE_GOES_ON,
	METRICS_UPDATED_WELL,
	METRICS_UPDATED_ANEW, /* what was there is damaged */
	METRICS_UPDATE_BUSY,  /* another process does it; try again soon */
	METRICS_UPDATE_FAILED,
};

struct metrics_file {
	const char *folder;
	/* What is in it: NAME.prom, NAME.tmp, NAME.lock. */
	char text_name[METRICS_FILE_NAME_SIZE];
	char new_name[METRICS_FILE_NAME_SIZE];
	char lock_name[METRICS_FILE_NAME_SIZE];
	char *label;
	size_t room;
	struct metrics
	    changes; /* since the last update; the caller adds them */
	char why[METRICS_NAME_SIZE + 128]; /* the last update failed */
	/* While this process is one of its runs, otherwise -1 and 0. */
	int lock_fd;
	int byte;
	/* An update that is being made. */
	size_t step;		/* from 1; 0: there is none */
	struct metrics written; /* the changes that it writes */
	struct metrics_run run;
	bool damaged;
	int folder_fd;
	int fd; /* of the text that is read or written */
	char *text;
	size_t length;
};

/* Whether files can be made in the folder now: NULL, or the reason why not. */
const char *metrics_file_check_folder(const char *folder);

/* Dies when memory is out. The folder's name must last. */
void metrics_file_init(struct metrics_file *file, const char *folder,
    const char *key);
void metrics_file_fini(struct metrics_file *file);

/* Begins an update, which adds the changes to what the file says. They are
 * changes again if it fails. run: what this process does, without a byte; if
 * since_ms is 0, it neither waits nor holds. */
void metrics_file_begin(struct metrics_file *file,
    const struct metrics_run *run);

/* Does nothing if there is no update. */
void metrics_file_cancel(struct metrics_file *file);

/* Goes on with the update by one system call that a slow disk may delay. If it
 * has failed, the text in file->why lasts until the next one, and what
 * Prometheus reads is as it was. */
enum metrics_update metrics_file_step(struct metrics_file *file);

#endif
