/* A password in a file: what is one, when it is read again, and that nothing of
 * it is left behind. Stands in for clock_now, for statvfs(3) and for
 * explicit_bzero(3): see tests/tests.mk. */
#include "redis/password_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/secret.h"
#include "tap.h"

enum { MOST = 4096 };

static char folder[] = "/tmp/password-XXXXXX", path[40];
static int64_t now = 1000000;
static unsigned long volume_flags;
static int wiped; /* how often, of what might be a password */

int64_t __wrap_clock_now(void);
int64_t
__wrap_clock_now(void)
{
	return now;
}

int __wrap_statvfs64(const char *at, struct statvfs *volume);
int
__wrap_statvfs64(const char *at, struct statvfs *volume)
{
	volume->f_flag = volume_flags;
	return access(at, F_OK);
}

int __wrap_statvfs(const char *at, struct statvfs *volume);
int
__wrap_statvfs(const char *at, struct statvfs *volume)
{
	return __wrap_statvfs64(at, volume);
}

void __wrap_explicit_bzero(void *bytes, size_t size);
void
__wrap_explicit_bzero(void *bytes, size_t size)
{
	wiped += size > MOST;
	memset(bytes, 0, size);
}

void __wrap___explicit_bzero_chk(void *bytes, size_t size, size_t room);
void
__wrap___explicit_bzero_chk(void *bytes, size_t size, size_t room)
{
	(void)room;
	__wrap_explicit_bzero(bytes, size);
}

static void
write_file(const char *text, size_t length, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd == -1 || write(fd, text, length) != (ssize_t)length ||
	    fchmod(fd, mode) == -1)
		abort();
	close(fd);
}

/* --- what is one -------------------------------------------------------- */

/* So many letters, and what follows them. NULL: it is one. */
static const struct {
	size_t letters;
	const char *rest;
	size_t length;
	mode_t mode;
	const char *reason;
} files[] = {
    {1, "", 0, 0600, NULL},
    {2, "\n", 1, 0600, NULL},
    {2, "\r\n", 2, 0640, NULL},
    {0, "", 0, 0600, "empty"},
    {0, "\n", 1, 0600, "empty"},
    {MOST, "", 0, 0600, NULL},
    {MOST, "\r\n", 2, 0600, NULL},
    {MOST + 1, "", 0, 0600, "longer than 4096 bytes"},
    {MOST + 4, "", 0, 0600, "longer than 4096 bytes"},
    {1, "\nb", 2, 0600, "more than one line"},
    {1, "\n\n", 2, 0600, "more than one line"},
    {1, "\0b", 2, 0600, "contains a NUL byte"},
    {1, "", 0, 0604, "others can read or write it (chmod o-rwx)"},
    {1, "", 0, 0602, "others can read or write it (chmod o-rwx)"},
};

static void
test_files(void)
{
	static char text[MOST + 10];

	for (size_t i = 0; i < LENGTH(files); i++) {
		size_t letters = files[i].letters;
		struct password_file file;

		memset(text, 'x', letters);
		memcpy(text + letters, files[i].rest, files[i].length);
		write_file(text, letters + files[i].length, files[i].mode);
		wiped = 0;
		is_text(password_file_init(&file, path), files[i].reason,
		    "a password");
		is_int(wiped, (files[i].mode & S_IRWXO) == 0,
		    "  its copy is wiped");
		ok(!file.exposed, "  others cannot read it");
		text[letters] = '\0';
		is_text(file.text, files[i].reason == NULL ? text : NULL,
		    "  its text");
		password_file_fini(&file);
		is_text(file.text, NULL, "  is freed");
	}
}

/* A pipe is waited for, and gives it in parts. It is not read again. */
static void
test_pipe(void)
{
	struct password_file file;
	char *text;
	pid_t pid;

	unlink(path);
	if (mkfifo(path, 0600) == -1)
		abort();
	pid = fork();
	if (pid == 0) {
		int fd = open(path, O_WRONLY);

		for (const char *c = "pwd\n"; *c != '\0'; c++)
			if (write(fd, c, 1) == 1)
				usleep(10000);
		_exit(0);
	}
	is_text(password_file_init(&file, path), NULL, "of a pipe");
	is_text(file.text, "pwd", "  all that it gives");
	waitpid(pid, NULL, 0);
	text = password_file_get(&file, true);
	is_text(text, "pwd", "  is read once");
	secret_free(text);
	password_file_fini(&file);
	is_text(password_file_init(&file, folder),
	    "neither a regular file nor a pipe", "a folder");
	unlink(path);
	is_text(password_file_init(&file, path), "No such file or directory",
	    "no file");
}

static const struct {
	uid_t uid;
	mode_t mode;
	unsigned long flags;
	const char *at;
	bool is_mounted;
} volumes[] = {
    {0, 0644, ST_RDONLY | ST_NOSUID, "/", true},
    {1, 0644, ST_RDONLY, "/", false},
    {0, 0646, ST_RDONLY, "/", false},
    {0, 0644, ST_NOSUID, "/", false},
    {0, 0644, ST_RDONLY, "/nowhere", false},
};

static void
test_volumes(void)
{
	for (size_t i = 0; i < LENGTH(volumes); i++) {
		const struct stat status = {.st_uid = volumes[i].uid,
		    .st_mode = volumes[i].mode};

		volume_flags = volumes[i].flags;
		is_int(password_file_is_mounted(volumes[i].at, &status),
		    volumes[i].is_mounted, "mounted for us");
	}
}

/* --- read again --------------------------------------------------------- */

static struct {
	int calls;
	char why[200];
} failed;

static void
on_failure(void *arg, const char *why)
{
	(void)arg;
	failed.calls++;
	snprintf(failed.why, sizeof(failed.why), "%s", why);
}

static void
is_password(struct password_file *file, bool anew, const char *want,
    const char *what)
{
	char *text = password_file_get(file, anew);

	is_text(text, want, what);
	secret_free(text);
}

static void
test_reread(void)
{
	struct password_file file;
	char why[100];

	snprintf(why, sizeof(why), "password file \"%s\": empty", path);
	write_file("a", 1, 0600);
	password_file_init(&file, path);
	write_file("b", 1, 0600);
	now += 99;
	is_password(&file, false, "a", "just read: not again");
	now++;
	is_password(&file, false, "b", "  100 ms later");
	write_file("c", 1, 0600);
	is_password(&file, false, "b", "  that begin anew");
	is_password(&file, true, "c", "  or for a reconnect");
	write_file("", 0, 0600);
	is_password(&file, true, "c", "it fails, nobody is told: kept");
	write_file("d", 1, 0600);
	is_password(&file, true, "d", "  and replaced");
	file.reread.on_failure = on_failure;
	write_file("", 0, 0600);
	is_password(&file, true, "d", "it fails");
	is_text(failed.why, why, "  which is said");
	is_password(&file, true, "d", "  again");
	is_int(failed.calls, 1, "  which is not");
	write_file("e", 1, 0600);
	is_password(&file, true, "e", "it does not");
	is_int(failed.calls, 1, "  which is no failure");
	unlink(path);
	if (mkfifo(path, 0600) == -1)
		abort();
	is_password(&file, true, "e", "a pipe in its place is not waited for");
	is_int(failed.calls, 2, "  which is said");
	ok(strstr(failed.why, ": not a regular file any more") != NULL,
	    "  as %s", failed.why);
	password_file_fini(&file);
}

int
main(void)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/p", folder);
	test_files();
	test_pipe();
	test_volumes();
	test_reread();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
