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

/* An update that is being made. */
struct update {
	struct metrics_file *file;
	int folder_fd;
	const char *why; /* it fails */
};

struct path {
	char text[METRICS_NAME_SIZE + sizeof(".prom")];
};

/* Without a path it is the folder that fails. */
static int
fail(struct update *update, const char *path, const char *why)
{
	struct metrics_file *file = update->file;

	if (path == NULL)
		snprintf(file->why, sizeof(file->why), "%s", why);
	else
		snprintf(file->why, sizeof(file->why), "\"%s\": %s", path, why);
	update->why = file->why;
	return -1;
}

static int
fail_errno(struct update *update, const char *path)
{
	return fail(update, path,
	    errno == ELOOP ? "it is a link" : strerror(errno));
}

static struct path
path_of(const struct metrics_file *file, const char *ending)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "%s%s", file->name, ending);
	return path;
}

/* --- the folder and the lock file ------------------------------------- */

/* A link there may lead anywhere by the time it is used. */
static int
open_folder(struct update *update)
{
	struct stat folder;

	update->folder_fd = open(update->file->folder,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (update->folder_fd != -1)
		return 0;
	/* open(2) says ENOTDIR of a link. */
	if (errno == ENOTDIR && lstat(update->file->folder, &folder) == 0 &&
	    S_ISLNK(folder.st_mode))
		return fail(update, NULL, "it is a link");
	return fail_errno(update, NULL);
}

/* Somebody may have removed it, and the folder. */
static bool
is_current(const struct update *update, const char *path)
{
	struct stat ours, there;

	return fstat(update->file->lock_fd, &ours) == 0 &&
	       fstatat(update->folder_fd, path, &there, AT_SYMLINK_NOFOLLOW) ==
		   0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

static void
close_lock(struct metrics_file *file)
{
	if (file->lock_fd != -1)
		close(file->lock_fd);
	file->lock_fd = -1;
	file->slot = 0;
}

static int
open_lock(struct update *update)
{
	struct metrics_file *file = update->file;
	struct path path = path_of(file, ".lock");

	if (file->lock_fd != -1 && is_current(update, path.text))
		return 0;
	close_lock(file);
	file->lock_fd = openat(update->folder_fd, path.text,
	    O_RDONLY | O_CREAT | OPEN_SAFELY, LOCK_MODE);
	return file->lock_fd == -1 ? fail_errno(update, path.text) : 0;
}

/* --- the runs --------------------------------------------------------- */

static int
set_slot(const struct metrics_file *file, int slot, int command, short *type)
{
	struct flock range = {.l_type = *type,
	    .l_whence = SEEK_SET,
	    .l_start = slot,
	    .l_len = 1};
	int rc = fcntl(file->lock_fd, command, &range);

	*type = range.l_type;
	return rc;
}

static bool
is_alive(const struct metrics_file *file, int slot)
{
	short type = F_WRLCK;

	return set_slot(file, slot, F_OFD_GETLK, &type) == -1 ||
	       type != F_UNLCK;
}

/* Leaves those of other processes that are still there. */
static void
remove_dead_runs(const struct metrics_file *file, struct metrics *metrics)
{
	size_t count = 0;

	for (size_t i = 0; i < metrics->run_count; i++)
		if (metrics->runs[i].slot != file->slot &&
		    is_alive(file, metrics->runs[i].slot))
			metrics->runs[count++] = metrics->runs[i];
	metrics->run_count = count;
}

/* Runs that were recorded in a file that is lost still have theirs. */
static int
find_free_slot(const struct metrics_file *file, const struct metrics *metrics)
{
	bool used[METRICS_RUNS_MAX + 1] = {false};
	int slot = 1;

	for (size_t i = 0; i < metrics->run_count; i++)
		used[metrics->runs[i].slot] = true;
	while (slot <= METRICS_RUNS_MAX && (used[slot] || is_alive(file, slot)))
		slot++;
	return slot <= METRICS_RUNS_MAX ? slot : 0;
}

/* If there are too many, this one is not recorded. */
static void
add_run(struct metrics_file *file, struct metrics *metrics,
    const struct metrics_run *run)
{
	short type = F_RDLCK;

	if (file->slot == 0) {
		int slot = find_free_slot(file, metrics);
		if (slot == 0 || set_slot(file, slot, F_OFD_SETLK, &type) == -1)
			return;
		file->slot = slot;
	}
	metrics->runs[metrics->run_count] = *run;
	metrics->runs[metrics->run_count++].slot = file->slot;
}

/* --- the text --------------------------------------------------------- */

/* Returns how many bytes there are, 0 if there is no file. One that is as large
 * as the room is not ours. */
static ssize_t
read_all(struct update *update, const char *path)
{
	struct metrics_file *file = update->file;
	struct stat status;
	ssize_t length = -1;
	int fd = openat(update->folder_fd, path, O_RDONLY | OPEN_SAFELY);

	if (fd == -1)
		return errno == ENOENT ? 0 : fail_errno(update, path);
	if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
		fail(update, path, "it is not a regular file");
	else if ((length = read(fd, file->text, file->room)) == -1)
		fail_errno(update, path);
	close(fd);
	/* Empty files are damaged ones, as a crash of the host leaves them. */
	if (length == 0)
		file->text[length++] = '\n';
	return length;
}

/* Whether it is damaged; -1 if it cannot be read. */
static int
read_former(struct update *update, struct metrics *metrics)
{
	struct metrics_file *file = update->file;
	ssize_t length = read_all(update, path_of(file, ".prom").text);

	metrics_init(metrics);
	if (length <= 0)
		return (int)length;
	if ((size_t)length == file->room)
		return 1;
	file->text[length] = '\0';
	return strlen(file->text) < (size_t)length ||
	       metrics_text_read(metrics, file->label, file->text);
}

/* The umask may have taken away what others need to read it. */
static int
write_new(struct update *update, int fd, const char *path, size_t length)
{
	const struct iovec text = {update->file->text, length};
	struct stat status;
	ssize_t wrote = -1;

	if (fstat(fd, &status) == 0 && ((status.st_mode & 0777) == TEXT_MODE ||
					   fchmod(fd, TEXT_MODE) == 0))
		wrote = file_write(fd, &text, 1);
	if (wrote == -1)
		fail_errno(update, path);
	else if ((size_t)wrote < length)
		fail(update, path, strerror(ENOSPC));
	if (close(fd) == -1 && update->why == NULL)
		fail_errno(update, path);
	return update->why == NULL ? 0 : -1;
}

/* rename(2) onto a file makes ext4 write the new one to the disk at once, which
 * takes longer than all the rest. An exchange does not. It is impossible if
 * there is nothing to be replaced, or on some file systems. */
static int
exchange(const struct update *update, const char *new, const char *text)
{
	int fd = update->folder_fd;

	if (syscall(SYS_renameat2, fd, new, fd, text, RENAME_EXCHANGE) == 0)
		return 0;
	return renameat(fd, new, fd, text);
}

/* The former text stays as the new one's name, and is removed by the next
 * update: who reads it now must not see it change. */
static int
replace(struct update *update, size_t length)
{
	struct path new = path_of(update->file, ".tmp");
	struct path text = path_of(update->file, ".prom");
	int fd;

	unlinkat(update->folder_fd, new.text, 0);
	fd = openat(update->folder_fd, new.text,
	    O_WRONLY | O_CREAT | O_EXCL | OPEN_SAFELY, TEXT_MODE);
	if (fd == -1)
		return fail_errno(update, new.text);
	if (write_new(update, fd, new.text, length) == 0) {
		if (exchange(update, new.text, text.text) == 0)
			return 0;
		fail_errno(update, text.text);
	}
	unlinkat(update->folder_fd, new.text, 0);
	return -1;
}

/* --- an update -------------------------------------------------------- */

static enum metrics_update
merge(struct update *update, const struct metrics *changes,
    const struct metrics_run *run)
{
	struct metrics_file *file = update->file;
	struct metrics metrics;
	int damaged = read_former(update, &metrics);
	size_t length;

	if (damaged == -1)
		return METRICS_UPDATE_FAILED;
	metrics_add(&metrics, changes);
	remove_dead_runs(file, &metrics);
	if (run != NULL)
		add_run(file, &metrics, run);
	metrics_count_runs(&metrics, clock_epoch());
	length =
	    metrics_text_write(&metrics, file->label, file->text, file->room);
	if (replace(update, length) == -1)
		return METRICS_UPDATE_FAILED;
	return damaged ? METRICS_UPDATED_ANEW : METRICS_UPDATED_WELL;
}

static enum metrics_update
try_merge(struct update *update, const struct metrics *changes,
    const struct metrics_run *run)
{
	struct metrics_file *file = update->file;
	enum metrics_update result = METRICS_UPDATE_FAILED;
	char *text;

	if (flock(file->lock_fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno == EWOULDBLOCK)
			return METRICS_UPDATE_BUSY;
		fail_errno(update, path_of(file, ".lock").text);
		return METRICS_UPDATE_FAILED;
	}
	file->text = text = malloc(file->room);
	if (text == NULL)
		fail_errno(update, NULL);
	else
		result = merge(update, changes, run);
	free(text);
	return result;
}

enum metrics_update
metrics_file_update(struct metrics_file *file, const struct metrics *changes,
    const struct metrics_run *run, const char **why)
{
	struct update update = {.file = file, .folder_fd = -1};
	enum metrics_update result = METRICS_UPDATE_FAILED;

	if (open_folder(&update) == 0 && open_lock(&update) == 0)
		result = try_merge(&update, changes, run);
	*why = update.why;
	if (run == NULL || file->slot == 0)
		close_lock(file);
	else
		flock(file->lock_fd, LOCK_UN);
	if (update.folder_fd != -1)
		close(update.folder_fd);
	return result;
}

void
metrics_file_init(struct metrics_file *file, const char *folder,
    const char *key)
{
	*file = (struct metrics_file){.folder = folder, .lock_fd = -1};
	metrics_name_file(key, file->name);
	file->label = metrics_name_label(key);
	file->room = metrics_text_room(file->label);
}

void
metrics_file_fini(struct metrics_file *file)
{
	close_lock(file);
	free(file->label);
}
