#include "sink/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_write.h"

/* Nobody but our own group may lock the lock file, as all may who can read it.
 * What Prometheus reads is for all. */
enum { LOCK_MODE = 0640, TEXT_MODE = 0644 };

/* Of Linux 3.15; not in the headers of musl. */
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

#define OPEN_SAFELY (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Without a path it is the folder that fails. */
static enum metrics_update
fail_update(struct metrics_file *file, const char *path, const char *why)
{
	if (path == NULL)
		snprintf(file->why, sizeof(file->why), "%s", why);
	else
		snprintf(file->why, sizeof(file->why), "\"%s\": %s", path, why);
	return METRICS_UPDATE_FAILED;
}

static const char *
describe_errno(void)
{
	return errno == ELOOP ? "it is a link" : strerror(errno);
}

static enum metrics_update
fail_errno(struct metrics_file *file, const char *path)
{
	return fail_update(file, path, describe_errno());
}

/* --- the runs --------------------------------------------------------- */

static int
set_byte(const struct metrics_file *file, int byte, int command, short *type)
{
	struct flock range = {.l_type = *type,
	    .l_whence = SEEK_SET,
	    .l_start = byte,
	    .l_len = 1};
	int rc = fcntl(file->lock_fd, command, &range);

	*type = range.l_type;
	return rc;
}

static bool
is_run_alive(const struct metrics_file *file, int byte)
{
	short type = F_WRLCK;

	return set_byte(file, byte, F_OFD_GETLK, &type) == -1 ||
	       type != F_UNLCK;
}

/* Leaves those of other processes that are still there. */
static void
remove_dead_runs(const struct metrics_file *file, struct metrics *metrics)
{
	size_t count = 0;

	for (size_t i = 0; i < metrics->run_count; i++)
		if (metrics->runs[i].byte != file->byte &&
		    is_run_alive(file, metrics->runs[i].byte))
			metrics->runs[count++] = metrics->runs[i];
	metrics->run_count = count;
}

/* If there are too many, this one is not recorded. */
static void
enter_run(struct metrics_file *file, struct metrics *metrics,
    const struct metrics_run *run)
{
	bool used[METRICS_RUNS_MAX + 1] = {false};
	short type = F_RDLCK;
	int byte = 1;

	for (size_t i = 0; i < metrics->run_count; i++)
		used[metrics->runs[i].byte] = true;
	/* Runs that were recorded in a file that is lost still have theirs. */
	while (file->byte == 0 && byte <= METRICS_RUNS_MAX &&
	       (used[byte] || is_run_alive(file, byte)))
		byte++;
	if (file->byte == 0) {
		if (byte > METRICS_RUNS_MAX ||
		    set_byte(file, byte, F_OFD_SETLK, &type) == -1)
			return;
		file->byte = byte;
	}
	metrics->runs[metrics->run_count] = *run;
	metrics->runs[metrics->run_count++].byte = file->byte;
}

/* --- the steps of an update -------------------------------------------- */

/* A link there may lead anywhere by the time it is used. -1 with errno. */
static int
open_path(const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	/* open(2) says ENOTDIR of a link. */
	if (fd == -1 && errno == ENOTDIR && lstat(folder, &status) == 0)
		errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
	return fd;
}

static enum metrics_update
open_metrics_folder(struct metrics_file *file)
{
	file->folder_fd = open_path(file->folder);
	return file->folder_fd != -1 ? METRICS_UPDATE_GOES_ON
				     : fail_errno(file, NULL);
}

static void
close_lock(struct metrics_file *file)
{
	if (file->lock_fd != -1)
		close(file->lock_fd);
	file->lock_fd = -1;
	file->byte = 0;
}

/* Somebody may have removed it, and the folder. */
static enum metrics_update
open_lock(struct metrics_file *file)
{
	struct stat ours, there;

	if (file->lock_fd != -1 && fstat(file->lock_fd, &ours) == 0 &&
	    fstatat(file->folder_fd, file->lock_name, &there,
		AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		return METRICS_UPDATE_GOES_ON;
	close_lock(file);
	file->lock_fd = openat(file->folder_fd, file->lock_name,
	    O_RDONLY | O_CREAT | OPEN_SAFELY, LOCK_MODE);
	if (file->lock_fd == -1)
		return fail_errno(file, file->lock_name);
	return METRICS_UPDATE_GOES_ON;
}

static enum metrics_update
open_former(struct metrics_file *file)
{
	if (flock(file->lock_fd, LOCK_EX | LOCK_NB) == -1)
		return errno == EWOULDBLOCK ? METRICS_UPDATE_BUSY
					    : fail_errno(file, file->lock_name);
	file->fd =
	    openat(file->folder_fd, file->text_name, O_RDONLY | OPEN_SAFELY);
	if (file->fd == -1 && errno != ENOENT)
		return fail_errno(file, file->text_name);
	return METRICS_UPDATE_GOES_ON;
}

/* Without a file its length is 0. One that is as large as the room is not
 * ours. */
static enum metrics_update
read_former(struct metrics_file *file)
{
	struct stat status;
	ssize_t length;

	file->length = 0;
	if (file->fd == -1)
		return METRICS_UPDATE_GOES_ON;
	if (fstat(file->fd, &status) == 0 && !S_ISREG(status.st_mode))
		return fail_update(file, file->text_name,
		    "it is not a regular file");
	length = read(file->fd, file->text, file->room);
	if (length == -1)
		return fail_errno(file, file->text_name);
	/* Empty files are damaged ones, as a crash of the host leaves them. */
	if (length == 0)
		file->text[length++] = '\n';
	file->length = (size_t)length;
	close(file->fd);
	file->fd = -1;
	return METRICS_UPDATE_GOES_ON;
}

static enum metrics_update
merge(struct metrics_file *file)
{
	struct metrics metrics;

	file->text = malloc(file->room);
	if (file->text == NULL)
		return fail_errno(file, NULL);
	if (read_former(file) == METRICS_UPDATE_FAILED)
		return METRICS_UPDATE_FAILED;
	metrics_init(&metrics);
	file->damaged = file->length == file->room;
	if (file->length > 0 && !file->damaged) {
		file->text[file->length] = '\0';
		file->damaged =
		    strlen(file->text) < file->length ||
		    metrics_text_read(&metrics, file->label, file->text);
	}
	metrics_add(&metrics, &file->written);
	remove_dead_runs(file, &metrics);
	if (file->run.since_ms != 0)
		enter_run(file, &metrics, &file->run);
	metrics_count_runs(&metrics, clock_epoch());
	file->length =
	    metrics_text_write(&metrics, file->label, file->text, file->room);
	return METRICS_UPDATE_GOES_ON;
}

/* The former text stays as the new one's name, and is removed by the next
 * update: who reads it now must not see it change. */
static enum metrics_update
remove_new(struct metrics_file *file)
{
	unlinkat(file->folder_fd, file->new_name, 0);
	return METRICS_UPDATE_GOES_ON;
}

static enum metrics_update
create_new(struct metrics_file *file)
{
	file->fd = openat(file->folder_fd, file->new_name,
	    O_WRONLY | O_CREAT | O_EXCL | OPEN_SAFELY, TEXT_MODE);
	if (file->fd == -1)
		return fail_errno(file, file->new_name);
	return METRICS_UPDATE_GOES_ON;
}

/* The umask may have taken away what others need to read it. */
static enum metrics_update
write_new(struct metrics_file *file)
{
	const struct iovec text = {file->text, file->length};
	enum metrics_update result = METRICS_UPDATE_GOES_ON;
	struct stat status;
	ssize_t wrote = -1;
	int fd = file->fd;

	if (fstat(fd, &status) == 0 && ((status.st_mode & 0777) == TEXT_MODE ||
					   fchmod(fd, TEXT_MODE) == 0))
		wrote = file_write(fd, &text, 1);
	if (wrote == -1)
		result = fail_errno(file, file->new_name);
	else if ((size_t)wrote < file->length)
		result = fail_update(file, file->new_name, strerror(ENOSPC));
	file->fd = -1;
	if (close(fd) == -1 && result == METRICS_UPDATE_GOES_ON)
		result = fail_errno(file, file->new_name);
	if (result == METRICS_UPDATE_FAILED)
		unlinkat(file->folder_fd, file->new_name, 0);
	return result;
}

/* rename(2) onto a file makes ext4 write the new one to the disk at once, which
 * takes longer than all the rest. An exchange does not. It is impossible if
 * there is nothing to be replaced, or on some file systems. */
static enum metrics_update
replace_former(struct metrics_file *file)
{
	int fd = file->folder_fd;

	if (syscall(SYS_renameat2, fd, file->new_name, fd, file->text_name,
		RENAME_EXCHANGE) == 0 ||
	    renameat(fd, file->new_name, fd, file->text_name) == 0)
		return file->damaged ? METRICS_UPDATED_ANEW
				     : METRICS_UPDATED_WELL;
	fail_errno(file, file->text_name);
	unlinkat(fd, file->new_name, 0);
	return METRICS_UPDATE_FAILED;
}

/* Each makes one call that may wait for a disk. Further calls on the same file,
 * and those after a failure, may follow in the same step. */
static enum metrics_update (*const steps[])(
    struct metrics_file *file) = {open_metrics_folder, open_lock, open_former,
    merge, remove_new, create_new, write_new, replace_former};

/* --- an update ---------------------------------------------------------- */

/* What has changed since it began is newer than what it did not write. */
static void
end_update(struct metrics_file *file, bool written)
{
	if (!written) {
		metrics_add(&file->written, &file->changes);
		file->changes = file->written;
	}
	file->step = 0;
	if (file->fd != -1)
		close(file->fd);
	file->fd = -1;
	free(file->text);
	file->text = NULL;
	if (file->run.since_ms == 0 || file->byte == 0)
		close_lock(file);
	else
		flock(file->lock_fd, LOCK_UN);
	if (file->folder_fd != -1)
		close(file->folder_fd);
	file->folder_fd = -1;
}

void
metrics_file_begin(struct metrics_file *file, const struct metrics_run *run)
{
	file->step = 1;
	file->written = file->changes;
	metrics_init(&file->changes);
	file->run = *run;
}

void
metrics_file_cancel(struct metrics_file *file)
{
	if (file->step != 0)
		end_update(file, false);
}

enum metrics_update
metrics_file_step(struct metrics_file *file)
{
	enum metrics_update result = steps[file->step - 1](file);

	if (result == METRICS_UPDATE_GOES_ON)
		file->step++;
	else
		end_update(file, result == METRICS_UPDATED_WELL ||
				     result == METRICS_UPDATED_ANEW);
	return result;
}

const char *
metrics_file_check_folder(const char *folder)
{
	int fd = open_path(folder);
	const char *why = NULL;

	if (fd == -1)
		return describe_errno();
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == -1)
		why = strerror(errno);
	close(fd);
	return why;
}

void
metrics_file_init(struct metrics_file *file, const char *folder,
    const char *key)
{
	char name[METRICS_NAME_SIZE];

	*file = (struct metrics_file){.folder = folder,
	    .lock_fd = -1,
	    .folder_fd = -1,
	    .fd = -1};
	metrics_init(&file->changes);
	metrics_name_file(key, name);
	snprintf(file->text_name, sizeof(file->text_name), "%s.prom", name);
	snprintf(file->new_name, sizeof(file->new_name), "%s.tmp", name);
	snprintf(file->lock_name, sizeof(file->lock_name), "%s.lock", name);
	file->label = metrics_name_label(key);
	file->room = metrics_text_room(file->label);
}

void
metrics_file_fini(struct metrics_file *file)
{
	metrics_file_cancel(file);
	close_lock(file);
	free(file->label);
}
