#include "sink/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/mem.h"

/* Nobody but our own group may lock the lock file, as all may who can read it.
 * What Prometheus reads is for all. */
enum { LOCK_MODE = 0640, TEXT_MODE = 0644 };

/* Of Linux 3.15; not in the headers of musl. */
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

#define OPEN_SAFELY (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Another run has the file locked for less than a millisecond, unless it is
 * stopped or the disk is slow. */
enum { BUSY_MS = 500, PAUSE_NS = 5000000 };

/* False: an update has failed. Without a name it is the folder that fails. */
static bool
fail(struct metrics_file *file, const char *name, const char *why)
{
	if (name == NULL)
		snprintf(file->why, sizeof(file->why), "%s", why);
	else
		snprintf(file->why, sizeof(file->why), "\"%s\": %s", name, why);
	return false;
}

static const char *
describe_errno(void)
{
	return errno == ELOOP ? "it is a link" : strerror(errno);
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

/* --- an update ---------------------------------------------------------- */

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

static void
close_lock(struct metrics_file *file)
{
	if (file->lock_fd != -1)
		close(file->lock_fd);
	file->lock_fd = -1;
	file->byte = 0;
}

/* Somebody may have removed it, and the folder. */
static bool
open_lock(struct metrics_file *file)
{
	struct stat ours, there;

	if (file->lock_fd != -1 && fstat(file->lock_fd, &ours) == 0 &&
	    fstatat(file->folder_fd, file->lock_name, &there,
		AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		return true;
	close_lock(file);
	file->lock_fd = openat(file->folder_fd, file->lock_name,
	    O_RDONLY | O_CREAT | OPEN_SAFELY, LOCK_MODE);
	return file->lock_fd != -1 ||
	       fail(file, file->lock_name, describe_errno());
}

static bool
take_lock(struct metrics_file *file)
{
	int64_t until = clock_now() + BUSY_MS;

	while (flock(file->lock_fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			return fail(file, file->lock_name, describe_errno());
		if (clock_now() >= until)
			return fail(file, NULL,
			    "another process has locked the file");
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	return true;
}

/* One that is as large as the room is not ours; empty ones are damaged, as a
 * crash of the host leaves them. */
static bool
read_former(struct metrics_file *file, struct metrics *metrics)
{
	struct stat status;
	ssize_t length = -1;
	int fd =
	    openat(file->folder_fd, file->text_name, O_RDONLY | OPEN_SAFELY);

	metrics_init(metrics);
	file->damaged = false;
	if (fd == -1)
		return errno == ENOENT ||
		       fail(file, file->text_name, describe_errno());
	if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
		fail(file, file->text_name, "it is not a regular file");
	else if ((length = read(fd, file->text, file->room)) == -1)
		fail(file, file->text_name, describe_errno());
	close(fd);
	if (length == -1)
		return false;
	file->damaged = length == 0 || (size_t)length == file->room;
	if (!file->damaged) {
		file->text[length] = '\0';
		file->damaged =
		    strlen(file->text) < (size_t)length ||
		    metrics_text_read(metrics, file->label, file->text);
	}
	return true;
}

/* The former text has that name until then, since who reads it now must not see
 * it change. The umask may have taken away what others need to read the new
 * one. */
static bool
write_new(struct metrics_file *file, size_t length)
{
	const struct iovec text = {file->text, length};
	struct stat status;
	ssize_t wrote = -1;
	int fd, error;

	unlinkat(file->folder_fd, file->new_name, 0);
	fd = openat(file->folder_fd, file->new_name,
	    O_WRONLY | O_CREAT | O_EXCL | OPEN_SAFELY, TEXT_MODE);
	if (fd == -1)
		return fail(file, file->new_name, describe_errno());
	if (fstat(fd, &status) == 0 && ((status.st_mode & 0777) == TEXT_MODE ||
					   fchmod(fd, TEXT_MODE) == 0))
		wrote = descriptors_write(fd, &text, 1);
	error = wrote == -1 ? errno : (size_t)wrote < length ? ENOSPC : 0;
	if (close(fd) == -1 && error == 0)
		error = errno;
	if (error == 0)
		return true;
	unlinkat(file->folder_fd, file->new_name, 0);
	return fail(file, file->new_name, strerror(error));
}

/* rename(2) onto a file makes ext4 write the new one to the disk at once, which
 * takes longer than all the rest. An exchange does not. It is impossible if
 * there is nothing to be replaced, or on some file systems. */
static bool
replace_former(struct metrics_file *file)
{
	int fd = file->folder_fd;

	if (syscall(SYS_renameat2, fd, file->new_name, fd, file->text_name,
		RENAME_EXCHANGE) == 0 ||
	    renameat(fd, file->new_name, fd, file->text_name) == 0)
		return true;
	fail(file, file->text_name, describe_errno());
	unlinkat(fd, file->new_name, 0);
	return false;
}

const char *
metrics_file_update(struct metrics_file *file, const struct metrics_run *run)
{
	struct metrics metrics;
	size_t length;
	bool good;

	file->folder_fd = open_path(file->folder);
	if (file->folder_fd == -1)
		fail(file, NULL, describe_errno());
	good = file->folder_fd != -1 && open_lock(file) && take_lock(file) &&
	       read_former(file, &metrics);
	if (good) {
		metrics_add(&metrics, &file->changes);
		remove_dead_runs(file, &metrics);
		if (run->since_ms != 0)
			enter_run(file, &metrics, run);
		metrics_count_runs(&metrics, clock_epoch());
		length = metrics_text_write(&metrics, file->label, file->text,
		    file->room);
		good = write_new(file, length) && replace_former(file);
	}
	if (good)
		metrics_init(&file->changes);
	if (run->since_ms == 0 || file->byte == 0)
		close_lock(file);
	else
		flock(file->lock_fd, LOCK_UN);
	if (file->folder_fd != -1)
		close(file->folder_fd);
	return good ? NULL : file->why;
}

/* --- the rest ------------------------------------------------------------ */

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

	*file = (struct metrics_file){.folder = mem_strdup(folder),
	    .label = metrics_text_label(key),
	    .lock_fd = -1};
	metrics_init(&file->changes);
	metrics_text_name(key, name);
	snprintf(file->text_name, sizeof(file->text_name), "%s.prom", name);
	snprintf(file->new_name, sizeof(file->new_name), "%s.tmp", name);
	snprintf(file->lock_name, sizeof(file->lock_name), "%s.lock", name);
	file->room = metrics_text_room(file->label);
	file->text = mem_realloc(NULL, file->room);
}

void
metrics_file_fini(struct metrics_file *file)
{
	close_lock(file);
	free(file->folder);
	free(file->label);
	free(file->text);
}
