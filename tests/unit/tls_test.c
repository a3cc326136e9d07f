/* When the files of certificates are read again. Stands in for clock_now and
 * for stat(2), and for OpenSSL, which fails: so each reading is reported. */
#include "redis/tls/tls.h"

#include <errno.h>
#include <stdlib.h>

#include "redis/tls/tls_context.h"
#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define FAILURE "OpenSSL cannot be set up"

/* Of all files, and of the second one, if it has its own. */
static struct stat status, other;
static bool is_gone;
static int64_t now = 1000000;
static char said[TLS_ERROR_MAX];

int64_t __wrap_clock_now(void);
int64_t
__wrap_clock_now(void)
{
	return now;
}

int __wrap_stat64(const char *path, struct stat *of);
int
__wrap_stat64(const char *path, struct stat *of)
{
	*of = strcmp(path, "key") == 0 && other.st_mode != 0 ? other : status;
	errno = is_gone ? ENOENT : 0;
	return is_gone ? -1 : 0;
}

/* What stat(2) is called by another C library, or where time has 32 bits. */
#define ALSO(name)                                   \
	int name(const char *path, struct stat *of); \
	int name(const char *path, struct stat *of)  \
	{                                            \
		return __wrap_stat64(path, of);      \
	}
ALSO(__wrap_stat)
ALSO(__wrap___stat_time64)
ALSO(__wrap___stat64_time64)

static const SSL_METHOD *
method(void)
{
	return NULL;
}

static SSL_CTX *
no_ctx(const SSL_METHOD *of)
{
	(void)of;
	return NULL;
}

static void
on_failure(void *arg, const char *why)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", why);
}

static const struct tls_config config = {.ca_file = "ca",
    .cert_file = "cert",
    .key_file = "key"};

/* As after they were read. */
static struct tls_context *
begin(const struct tls_config *of)
{
	struct tls_context *context;

	is_gone = false;
	other = (struct stat){.st_mode = 0};
	status = (struct stat){.st_mode = S_IFREG,
	    .st_dev = 1,
	    .st_ino = 1,
	    .st_size = 1,
	    .st_ctim = {1, 1}};
	context = tls_context_new(of);
	context->lib.TLS_client_method = method;
	context->lib.SSL_CTX_new = no_ctx;
	context->ctx = (SSL_CTX *)context;
	tls_context_reread(context)->on_failure = on_failure;
	return context;
}

static void
is_said(struct tls_context *context, bool anew, const char *want,
    const char *what)
{
	*said = '\0';
	tls_context_reread(context)->failed = false;
	tls_context_refresh(context, anew);
	is_text(said, want, what);
}

static void
test_changes(void)
{
	const struct stat first = {.st_mode = S_IFREG,
	    .st_dev = 1,
	    .st_ino = 1,
	    .st_size = 1,
	    .st_ctim = {1, 1}};
	struct stat changed[] = {first, first, first, first, first};

	changed[0].st_dev++;
	changed[1].st_ino++;
	changed[2].st_size++;
	changed[3].st_ctim.tv_sec++;
	changed[4].st_ctim.tv_nsec++;
	for (size_t i = 0; i < LENGTH(changed); i++) {
		struct tls_context *context = begin(&config);

		is_said(context, true, "", "the files are the same");
		other = changed[i];
		is_said(context, true, FAILURE, "  the last one is not");
		free(context);
	}
}

/* Whether they are loaded in the first turn of the loop, not at once. */
static bool
waits(struct tls_context *context)
{
	struct loop loop = {.timers = NULL};

	tls_context_begin(context, &loop);
	return loop.timers != NULL;
}

static void
test_times(void)
{
	struct tls_context *context = begin(&config);

	ok(waits(context), "files that can be read at once");
	context->reread.read_at = now;
	status.st_size++;
	is_said(context, false, "", "just read");
	now += 100;
	is_said(context, false, FAILURE, "  a while ago");
	is_said(context, false, "", "  just now");
	is_said(context, true, FAILURE, "  for a reconnect");
	is_gone = true;
	is_said(context, true, "TLS file \"ca\": No such file or directory",
	    "one is gone");
	is_gone = false;
	other = status;
	other.st_mode = S_IFIFO;
	is_said(context, true, "TLS file \"key\": not a regular file any more",
	    "one is a pipe");
	free(context);
}

static void
test_pipes(void)
{
	const struct tls_config none = {.key_file = "key"};
	struct tls_context *context = begin(&none);

	ok(waits(context), "no files");
	status.st_size++;
	is_said(context, true, "", "  are not read again");
	free(context);
	context = begin(&config);
	free(context);
	status.st_mode = S_IFIFO;
	context = tls_context_new(&config);
	context->ctx = (SSL_CTX *)context;
	ok(!waits(context), "a pipe may block");
	ok(!tls_context_reread(context)->enabled, "  and is read once");
	free(context);
}

int
main(void)
{
	test_changes();
	test_times();
	test_pipes();
	return tap_done();
}
