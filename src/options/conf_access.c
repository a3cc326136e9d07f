#include "options/conf_access.h"

#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

enum { OVERFLOW_UID = 65534 }; /* where /proc does not show it */

/* --- a user namespace ------------------------------------------------- */

/* By which every user is shown whom this namespace does not know. */
static uid_t
overflow_uid(void)
{
	FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
	char text[16] = "";
	int64_t uid = OVERFLOW_UID;

	if (file == NULL)
		return OVERFLOW_UID;
	if (fgets(text, sizeof(text), file) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		if (num_int(text, 0, UINT32_MAX, &uid) == -1)
			uid = OVERFLOW_UID;
	}
	fclose(file);
	return (uid_t)uid;
}

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

static bool
is_own(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* In a user namespace, as of a container without root, the owner of the host's
 * file is one of those whom it does not know. Nobody else can be, if nobody
 * else can write to /etc. A link could lead elsewhere. */
static bool
is_of_outer_root(const char *path, const struct stat *status)
{
	struct stat named, folder;
	uid_t overflow;

	if (strcmp(path, CONF_OF_THE_HOST) != 0 || knows_outer_root())
		return false;
	overflow = overflow_uid();
	return status->st_uid == overflow && lstat(path, &named) == 0 &&
	       named.st_dev == status->st_dev &&
	       named.st_ino == status->st_ino && stat("/etc", &folder) == 0 &&
	       (is_own(folder.st_uid) || folder.st_uid == overflow) &&
	       (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* --- the group -------------------------------------------------------- */

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

/* ---------------------------------------------------------------------- */

const char *
conf_access_mistake(const char *path, const struct stat *status)
{
	if (!is_own(status->st_uid) && !is_of_outer_root(path, status))
		return "belongs to another user";
	if (can_others(status, S_IWGRP, S_IWOTH))
		return "others can write to it (chmod go-w)";
	return NULL;
}

bool
conf_access_is_readable(const struct stat *status)
{
	return can_others(status, S_IRGRP, S_IROTH);
}
