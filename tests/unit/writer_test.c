#include "sink/writer.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

/* What was written, and by whom. */
struct page {
	char text[64];
	size_t length;
	pthread_t by;
	sigset_t blocked;
	int hangs; /* until this pipe ends, or -1 */
};

static void
write_page(void *arg, const void *data, size_t size)
{
	struct page *page = arg;
	char none;

	pthread_sigmask(SIG_SETMASK, NULL, &page->blocked);
	page->by = pthread_self();
	while (page->hangs != -1 && read(page->hangs, &none, 1) > 0)
		continue;
	if (size < sizeof(page->text) - page->length)
		memcpy(page->text + page->length, data, size);
	page->length += size;
}

static struct writer_source
source_of(struct page *page)
{
	return (struct writer_source){.write = write_page, .arg = page};
}

static void
put(struct writer_source *source, const char *text)
{
	char passing[8];

	strcpy(passing, text);
	ok(writer_put(source, passing, strlen(passing)), "%s is taken", text);
	memset(passing, '?', sizeof(passing));
}

static void
check_thread(void)
{
	struct page page = {.hangs = -1}, other = {.hangs = -1};
	struct writer_source source = source_of(&page);
	struct writer_source another = source_of(&other);
	struct writer writer = {.has_thread = false};
	sigset_t mine;

	is_int(writer_add(&writer, &source), 0, "writer_add");
	is_int(writer_add(&writer, &another), 0, "another one");
	put(&source, "one ");
	usleep(1000);
	is_int((int64_t)page.length, 0, "without a thread it waits");
	writer_start(&writer);
	put(&source, "two ");
	put(&another, "other");
	writer_start(&writer);
	put(&source, "three");
	is_int((int64_t)writer_finish(&source), 0, "all is written");
	is_int((int64_t)writer_finish(&another), 0, "of the other one, too");
	is_text(page.text, "one two three", "copies, in order");
	is_text(other.text, "other", "to each its own");
	ok(!writer_put(&source, "four", 4), "then it is too late");
	ok(!pthread_equal(page.by, pthread_self()), "a thread wrote");
	ok(pthread_equal(page.by, other.by), "one for both");
	ok(sigismember(&page.blocked, SIGTERM) == 1 &&
		sigismember(&page.blocked, SIGCHLD) == 1 &&
		sigismember(&page.blocked, SIGRTMIN) == 1,
	    "which takes no signals");
	is_int(sigismember(&page.blocked, SIGSEGV), 0, "but its own faults");
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	is_int(sigismember(&mine, SIGTERM), 0, "those are ours again");
}

static void
check_without_thread(void)
{
	struct page page = {.hangs = -1};
	struct writer_source source = source_of(&page);
	struct writer writer = {.has_thread = false};

	is_int(writer_add(&writer, &source), 0, "writer_add");
	put(&source, "one ");
	put(&source, "two");
	is_int((int64_t)writer_finish(&source), 0, "all is written");
	is_text(page.text, "one two", "at the end");
	ok(pthread_equal(page.by, pthread_self()), "by the caller");
}

/* The first one hangs. */
static void
check_hanging_disk(void)
{
	struct page page = {.hangs = -1};
	struct writer_source source = source_of(&page);
	struct writer writer = {.has_thread = false};
	const char line[600] = "a line";
	int ends[2], taken = 0;

	is_int(pipe(ends), 0, "pipe");
	page.hangs = ends[0];
	is_int(writer_add(&writer, &source), 0, "writer_add");
	writer_start(&writer);
	while (writer_put(&source, line, sizeof(line)))
		taken++;
	is_int(taken, WRITER_WAITING_MAX, "so many wait, or are written");
	is_int((int64_t)writer_finish(&source), taken,
	    "they are given up after a while");
	close(ends[1]);
	pthread_join(writer.thread, NULL);
	is_int((int64_t)page.length, sizeof(line),
	    "after that only the one that was begun is written");
	close(ends[0]);
}

int
main(void)
{
	check_thread();
	check_without_thread();
	check_hanging_disk();
	return tap_done();
}
