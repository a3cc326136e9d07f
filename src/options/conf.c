#include "options/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

enum { FILE_SIZE_MAX = 1024 * 1024 };

/* By which a user is shown whom this namespace does not know: the default of
 * /proc/sys/kernel/overflowuid. */
enum { OVERFLOW_UID = 65534 };

/* Of /dev/null: devices.txt in the documentation of Linux. */
enum { NULL_MAJOR = 1, NULL_MINOR = 3 };

/* --- who else may write to it, or read it ------------------------------ */

/* Whether the root of the namespace around this one has a number here, as in
 * the first of all. user_namespaces(7): a line has the first number here, the
 * first one outside, and how many there are. */
static bool
knows_outer_root(void)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	char line[128], *rest;
	bool known = file == NULL;

	while (!known && fgets(line, sizeof(line), file) != NULL) {
		const char *outside;

		strtok_r(line, " \n", &rest);
		outside = strtok_r(NULL, " \n", &rest);
		known = outside == NULL || strcmp(outside, "0") == 0;
	}
	if (file != NULL)
		fclose(file);
	return known;
}

/* In a user namespace, as of a container without root, the owner of the host's
 * file is one of those whom it does not know. Nobody else can be, if nobody
 * else can write to /etc. A link could lead elsewhere. */
static bool
is_of_outer_root(const char *path, const struct stat *status)
{
	struct stat named, folder;

	if (strcmp(path, CONF_OF_THE_HOST) != 0 || knows_outer_root())
		return false;
	return status->st_uid == OVERFLOW_UID && lstat(path, &named) == 0 &&
	       named.st_dev == status->st_dev &&
	       named.st_ino == status->st_ino && stat("/etc", &folder) == 0 &&
	       (folder.st_uid == 0 || folder.st_uid == geteuid() ||
		   folder.st_uid == OVERFLOW_UID) &&
	       (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Many systems give each user a group of the same name and umask 002. As sshd
 * does, such a group counts as its user, if it has no other members. */
static bool
is_private_group(const struct stat *status)
{
	const struct passwd *user = getpwuid(status->st_uid);
	const struct group *group = getgrgid(status->st_gid);
	bool is_shared = false;

	if (user == NULL || group == NULL ||
	    strcmp(user->pw_name, group->gr_name) != 0)
		return false;
	for (char **member = group->gr_mem; *member != NULL; member++)
		if (strcmp(*member, user->pw_name) != 0)
			return false;
	/* It may be the first group of others, which does not list these. */
	setpwent();
	while (!is_shared && (user = getpwent()) != NULL)
		is_shared = user->pw_gid == status->st_gid &&
			    user->pw_uid != status->st_uid;
	endpwent();
	return !is_shared;
}

/* The group is looked up only if that decides: it may take a server. */
static bool
can_others(const struct stat *status, mode_t group, mode_t others)
{
	return (status->st_mode & others) != 0 ||
	       ((status->st_mode & group) != 0 && !is_private_group(status));
}

bool
conf_is_readable(const struct conf *conf)
{
	return can_others(&conf->status, S_IRGRP, S_IROTH);
}

/* --- the file --------------------------------------------------------- */

static const char *
find_mistake(const struct conf *conf, bool optional)
{
	const struct stat *status = &conf->status;

	if (S_ISDIR(status->st_mode))
		return "a directory";
	if (!S_ISREG(status->st_mode) &&
	    (optional || !S_ISFIFO(status->st_mode)))
		return optional ? "not a regular file"
				: "neither a regular file nor a pipe";
	if (status->st_size > FILE_SIZE_MAX)
		return "larger than 1 MB";
	if (status->st_uid != 0 && status->st_uid != geteuid() &&
	    !is_of_outer_root(conf->place.file, status))
		return "belongs to another user";
	if (can_others(status, S_IWGRP, S_IWOTH))
		return "others can write to it (chmod go-w)";
	return NULL;
}

/* A file that is replaced by renaming is always whole. One that is written in
 * place could lose its last lines here, and the run its server. */
static const char *
read_conf(struct conf *conf, int fd, bool optional)
{
	const struct stat *status = &conf->status;
	size_t size = FILE_SIZE_MAX;
	const char *reason;
	ssize_t part;

	if (fstat(fd, &conf->status) == -1)
		return strerror(errno);
	/* An empty file, which everybody may write to. */
	if (S_ISCHR(status->st_mode) &&
	    status->st_rdev == makedev(NULL_MAJOR, NULL_MINOR)) {
		conf->text = mem_strdup("");
		return NULL;
	}
	reason = find_mistake(conf, optional);
	if (reason != NULL)
		return reason;
	if (S_ISREG(status->st_mode))
		size = (size_t)status->st_size;
	/* One byte more shows what is longer than it should be. */
	conf->text = mem_alloc(size + 2);
	do { /* a pipe gives it in parts */
		part = read(fd, conf->text + conf->length,
		    size + 1 - conf->length);
		if (part < 0)
			return strerror(errno);
		conf->length += (size_t)part;
	} while (part > 0 && conf->length <= size);
	if (S_ISREG(status->st_mode) && conf->length != size)
		return "changed while it was read";
	/* A nested run finds it read by the outer one; or what was to fill it
	 * has failed. The default server would be the wrong one. */
	if (S_ISFIFO(status->st_mode) && conf->length == 0)
		return "an empty pipe";
	return conf->length > FILE_SIZE_MAX ? "larger than 1 MB" : NULL;
}

void
conf_begin(struct conf *conf)
{
	size_t mark = strlen(BYTE_ORDER_MARK);
	bool marked = conf->length >= mark &&
		      memcmp(conf->text, BYTE_ORDER_MARK, mark) == 0;

	conf->rest = marked ? conf->text + mark : conf->text;
	conf->origin = ORIGIN_GENERAL;
	conf->place.section_name = "";
}

/* O_NOFOLLOW distinguishes a link to nothing from no file, at no cost for those
 * who have none. There is none in the folder of another user, which HOME may
 * still name. A pipe is waited for if it was named: with O_NONBLOCK, one that
 * nobody has opened yet would look like an empty file. */
const char *
conf_open(struct conf *conf, const char *path, bool optional)
{
	int flags =
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | (optional ? O_NONBLOCK : 0);
	int fd = open(path, optional ? flags | O_NOFOLLOW : flags);
	bool is_link = fd == -1 && optional && errno == ELOOP;
	struct stat status;
	const char *reason;

	*conf = (struct conf){.place.file = path};
	if (is_link)
		fd = open(path, flags);
	else if (fd == -1 && optional &&
		 (errno == ENOENT || errno == ENOTDIR ||
		     (errno == EACCES && lstat(path, &status) == -1)))
		return NULL;
	if (fd == -1)
		return is_link && errno == ENOENT
			   ? "a link to a file that does not exist"
			   : strerror(errno);
	reason = read_conf(conf, fd, optional);
	close(fd);
	if (reason == NULL)
		conf_begin(conf);
	return reason;
}

void
conf_close(struct conf *conf)
{
	if (conf->text != NULL)
		explicit_bzero(conf->text, conf->length);
	free(conf->text);
	conf->text = NULL;
}

/* --- items ------------------------------------------------------------ */

static enum conf_item
conf_fail(struct conf *conf, const char *mistake)
{
	conf->mistake = mistake;
	return CONF_MISTAKE;
}

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* Without the blanks around it. */
static char *
trim(char *text)
{
	char *end;

	while (is_blank(*text))
		text++;
	end = text + strlen(text);
	while (end > text && is_blank(end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* A comment begins a line or a value, or follows a blank: a URL or the name of
 * a lock may contain a '#'. */
static void
cut_comment(char *line)
{
	for (char *mark = line; (mark = strchr(mark, '#')) != NULL; mark++) {
		if (mark == line || is_blank(mark[-1])) {
			*mark = '\0';
			return;
		}
	}
}

static const char *
line_mistake(const char *text, const char *end)
{
	for (; text < end; text++) {
		if (*text == '\0')
			return "contains a NUL byte";
		if ((*text > 0 && *text < ' ' && *text != '\t') ||
		    *text == 0x7f)
			return "contains a control character";
	}
	return NULL;
}

/* Editors of Windows end lines with CR and LF. */
static char *
next_line(struct conf *conf)
{
	char *line = conf->rest, *last = conf->text + conf->length;
	char *end = memchr(line, '\n', (size_t)(last - line));

	conf->place.line++;
	conf->rest = end != NULL ? end + 1 : last;
	if (end == NULL)
		end = last;
	else if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	conf->mistake = line_mistake(line, end);
	return line;
}

/* The name of a section follows "[profile" or "[lock", and a blank. */
static enum conf_item
read_heading(struct conf *conf, char *line)
{
	size_t length;
	char *name;

	cut_comment(line);
	line = trim(line);
	length = strlen(line);
	if (line[length - 1] != ']')
		return conf_fail(conf, "a section without its ']'");
	line[length - 1] = '\0';
	line = trim(line + 1);
	name = strpbrk(line, " \t");
	if (name != NULL)
		*name++ = '\0';
	conf->origin = strcmp(line, "lock") == 0 ? ORIGIN_LOCK : ORIGIN_PROFILE;
	if (name == NULL ||
	    (conf->origin == ORIGIN_PROFILE && strcmp(line, "profile") != 0))
		return conf_fail(conf,
		    "a section is [profile NAME] or [lock GLOB]");
	conf->place.section++;
	conf->place.section_name = trim(name);
	return CONF_HEADING;
}

static enum conf_item
read_setting(struct conf *conf, char *line)
{
	char *sign = strchr(line, '='), *text, *end;

	if (sign == NULL)
		return conf_fail(conf, "neither name = value nor a section");
	*sign = '\0';
	conf->name = trim(line);
	if (*conf->name == '\0')
		return conf_fail(conf, "no name before the '='");
	text = sign + 1;
	if (text[strspn(text, " \t")] != '"') {
		cut_comment(text);
		conf->value = trim(text);
		return CONF_VALUE;
	}
	conf->value = trim(text) + 1;
	end = strchr(conf->value, '"');
	if (end == NULL)
		return conf_fail(conf, "a quote without its end");
	*end++ = '\0';
	cut_comment(end);
	return *trim(end) == '\0'
		   ? CONF_VALUE
		   : conf_fail(conf, "text after a quoted value");
}

enum conf_item
conf_next(struct conf *conf)
{
	while (conf->rest < conf->text + conf->length) {
		char *line = next_line(conf);

		if (conf->mistake != NULL)
			return CONF_MISTAKE;
		while (is_blank(*line))
			line++;
		if (*line == '[')
			return read_heading(conf, line);
		if (*line != '\0' && *line != '#')
			return read_setting(conf, line);
	}
	return CONF_END;
}

enum conf_form
conf_form_of(const char *value)
{
	const char *end = value + strlen(value);
	bool comment = false;

	if (line_mistake(value, end) != NULL)
		return CONF_IMPOSSIBLE;
	for (const char *mark = value; !comment && mark < end; mark++)
		comment = *mark == '#' && (mark == value || is_blank(mark[-1]));
	if (!comment && *value != '"' && !is_blank(*value) &&
	    (value == end || !is_blank(end[-1])))
		return CONF_PLAIN;
	return strchr(value, '"') == NULL ? CONF_QUOTED : CONF_IMPOSSIBLE;
}
