#include "job/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/mem.h"

static bool
is_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return false;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return false;
	}
	return true;
}

/* 0, or errno. */
static int
try_path(const char *path)
{
	if (!is_file(path))
		return errno;
	return access(path, X_OK) == 0 ? 0 : errno;
}

/* An empty part of PATH is the current directory. */
static char *
join(const char *directory, size_t length, const char *name)
{
	if (length == 0)
		return mem_printf("./%s", name);
	return mem_printf("%.*s/%s", (int)length, directory, name);
}

/* As execvp(3): the first that can be executed; one that can't be is told only
 * when no other is found. NULL with errno. */
static char *
find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (path == NULL)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(path, ":");
		char *candidate = join(path, length, name);
		int tried = try_path(candidate);
		if (tried == 0)
			return candidate;
		if (tried == EACCES)
			error = EACCES;
		free(candidate);
		if (path[length] == '\0')
			break;
		path += length + 1;
	}
	errno = error;
	return NULL;
}

static char *
find(const char *name)
{
	int error;

	if (*name == '\0') {
		errno = ENOENT;
		return NULL;
	}
	if (strchr(name, '/') == NULL)
		return find_in_path(name);
	error = try_path(name);
	errno = error;
	return error == 0 ? mem_strdup(name) : NULL;
}

static int
not_found_or_not_run(int error)
{
	return error == ENOENT || error == ENOTDIR ? EXITCODE_NOT_FOUND
						   : EXITCODE_CANNOT_RUN;
}

static bool
is_ours(const char *entry)
{
	static const char *const names[] = {"RLOCKRUN_KEY=", "RLOCKRUN_TOKEN=",
	    "RLOCKRUN_FENCE=", "RLOCKRUN_TTL_MS=", "RLOCKRUN_HELD="};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void
build_env(struct child *child)
{
	const struct child_config *config = child->config;
	size_t count = 0;
	char **to;

	while (environ[count] != NULL)
		count++;
	child->env = to =
	    mem_alloc((count + 3 + CHILD_LATE_MAX) * sizeof(*child->env));
	*to++ = mem_printf("RLOCKRUN_KEY=%s", config->key);
	*to++ = mem_printf("RLOCKRUN_TTL_MS=%lld", config->ttl_ms);
	for (char **from = environ; *from != NULL; from++)
		if (!is_ours(*from))
			*to++ = *from;
	*to = NULL;
	child->env_count = (size_t)(to - child->env);
}

int
child_init(struct child *child, const struct child_config *config)
{
	*child = (struct child){.config = config};
	child->path = find(config->argv[0]);
	if (child->path == NULL)
		return not_found_or_not_run(errno);
	build_env(child);
	return 0;
}

void
child_fini(struct child *child)
{
	if (child->env != NULL) {
		free(child->env[0]);
		free(child->env[1]);
	}
	free(child->env);
	free(child->path);
}

void
child_add_env(struct child *child, char *entries, size_t length)
{
	char **to = child->env + child->env_count;

	for (size_t at = 0; at < length; at += strlen(entries + at) + 1)
		if (to < child->env + child->env_count + CHILD_LATE_MAX)
			*to++ = entries + at;
	*to = NULL;
}

/* The path has a slash in it: execvpe searches nothing, but hands a file that
 * the kernel takes for no program to the shell, as every shell does. */
int
child_exec(const struct child *child)
{
	if (child->config->own_group)
		setpgid(0, 0);
	signals_restore(child->config->signals);
	execvpe(child->path, child->config->argv, child->env);
	return errno;
}

/* A script is there although its interpreter is not. */
int
child_exec_exit_code(const struct child *child, int error)
{
	if (is_file(child->path))
		return EXITCODE_CANNOT_RUN;
	return not_found_or_not_run(error);
}
