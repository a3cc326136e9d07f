/* The terminal on stdout, as a screen that is drawn again and again: on its
 * alternate screen if it has one, with keys that arrive one by one. However
 * this process exits, the terminal is as it was. */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/loop.h"

/* The owner sets the callbacks and keeps the storage until screen_close. */
struct screen {
	void (*on_key)(void *arg, char key);
	void (*on_gone)(void *arg, int error); /* there is no terminal now */
	void *arg;

	struct loop *loop;
	struct loop_fd terminal;
	bool is_own; /* opened by us, and does not block */
	bool is_shown;
	bool is_begun; /* a frame was sent */
	struct termios former;
};

/* Takes the terminal over; once we are in its foreground: like others that set
 * its modes, this process is stopped until then. False if that is not possible.
 */
bool screen_open(struct screen *screen, struct loop *loop);
/* Gives it back. Does nothing if it is not open. */
void screen_close(struct screen *screen);

/* Does what a stop signal does by default: gives the terminal back meanwhile.
 * False if it cannot be taken over again. */
bool screen_suspend(struct screen *screen, int signo);
/* After SIGCONT: the shell has had the terminal, if it was SIGSTOP that stopped
 * us. False as above. */
bool screen_resume(struct screen *screen);

/* Of the terminal: rows and columns. */
void screen_measure(size_t *rows, size_t *columns);

/* What a slow terminal does not take in half a second is dropped. False as
 * above, if another process group has the terminal. */
bool screen_draw(struct screen *screen, const char *text);

#endif
