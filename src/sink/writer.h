/* Writes to files in a thread, so that a slow disk delays neither a renewal nor
 * a release. What is to be written waits in a pair of sockets:
 *
 *   writer_put     copies it into one
 *   writer_start   once the guard was forked: the thread reads from the other
 *   writer_finish  the thread is joined, unless that takes too long
 *
 * The thread has all signals blocked, neither allocates memory nor takes a lock
 * of the C library: a child that is forked meanwhile finds none taken. */
#ifndef WRITER_H
#define WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WRITER_WAITING_MAX = 256, /* of a source; fewer if they are large */
	WRITER_SIZE_MAX = 4096,	  /* bytes of each */
	WRITER_FINISH_MS = 2000,
};

/* One for all sources; at first zero. */
struct writer {
	bool is_open, has_finished;
	bool has_thread; /* even after the end, if it could not be joined */
	int to, from;	 /* the sockets */
	pthread_t thread;
};

/* The owner sets write, which the thread calls with what was put, aligned for
 * all types, and arg. */
struct writer_source {
	void (*write)(void *arg, const void *data, size_t size);
	void *arg;
	struct writer *writer;
	size_t put;
	_Atomic size_t written;
};

/* 0, or -1 with errno. */
int writer_add(struct writer *writer, struct writer_source *source);

/* Never blocks. False if too much waits, or it is too late. */
bool writer_put(struct writer_source *source, const void *data, size_t size);

/* Does nothing if there is a thread. If none can be made, the next call tries
 * again. */
void writer_start(struct writer *writer);

/* Writes what waits, in the caller's thread, until then. */
void writer_work(struct writer *writer, int64_t until);

/* Waits until all is written, for a bounded time that is the same for all
 * sources. Returns how much of this one was dropped. If there is any, the
 * thread may still be writing it: what it uses must stay. */
size_t writer_finish(struct writer_source *source);

#endif
