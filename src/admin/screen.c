#include "admin/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/poll.h"
#include "job/terminal.h"

enum { DEFAULT_ROWS = 24, DEFAULT_COLUMNS = 80 };
/* A terminal may be slow, but must not keep keys and signals from us. */
enum { WRITE_MS = 500 };

/* ECMA-48, and of DEC's private modes: 7 wraps lines, 25 shows the cursor, 1049
 * is xterm's alternate screen. Where there is none, the screen is left empty.
 */
#define BEGIN "\033[?1049h\033[?25l\033[?7l\033[H\033[J"
#define END "\033[m\033[?7h\033[?25h\033[H\033[J\033[?1049l"

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): atexit has no argument */
static struct screen *open_screen;

void
screen_measure(size_t *rows, size_t *columns)
{
	struct winsize size = {.ws_col = 0};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row > 0 ? size.ws_row : DEFAULT_ROWS;
	*columns = size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
}

/* --- what is written ---------------------------------------------------- */

/* What the terminal does not take in time is dropped: the next frame paints all
 * of it again. Returns 0, or an error: there is no terminal. */
static int
write_text(const struct screen *screen, const char *text)
{
	struct pollfd out = {.fd = screen->terminal.fd, .events = POLLOUT};
	int64_t until = clock_now() + WRITE_MS, left_ms;

	while (*text != '\0' && (left_ms = until - clock_now()) > 0 &&
	       poll_wait(&out, 1, (int)left_ms) == 1) {
		ssize_t sent = write(out.fd, text, strlen(text));

		if (sent == -1 && errno != EAGAIN && errno != EINTR)
			return errno;
		text += sent > 0 ? sent : 0;
	}
	return 0;
}

/* --- what is typed ------------------------------------------------------ */

static void
on_screen_ready(void *arg, short revents)
{
	struct screen *screen = arg;
	char keys[64];
	ssize_t count;

	if (revents & (POLLHUP | POLLERR | POLLNVAL)) {
		loop_remove(screen->loop, &screen->terminal);
		screen->on_gone(screen->arg, EIO);
		return;
	}
	if (!(revents & POLLIN) || !screen->is_shown)
		return;
	count = read(screen->terminal.fd, keys, sizeof(keys));
	for (ssize_t i = 0; i < count && screen->is_shown; i++)
		screen->on_key(screen->arg, keys[i]);
}

/* --- taking it over and giving it back ---------------------------------- */

/* Only of the controlling terminal. */
static bool
is_in_background(void)
{
	pid_t foreground = tcgetpgrp(STDOUT_FILENO);

	return foreground != -1 && foreground != getpgrp();
}

/* There a write would mix with what the shell shows. SIGTTOU is what it does by
 * default. */
static bool
await_foreground(void)
{
	while (is_in_background())
		if (!terminal_suspend(SIGTTOU))
			return false;
	return true;
}

/* Without IXON, Ctrl-S cannot stop the output that gives the terminal back. */
static bool
set_modes(struct screen *screen)
{
	struct termios modes = screen->former;

	modes.c_iflag &= ~(tcflag_t)IXON;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	modes.c_cc[VMIN] = 0;
	modes.c_cc[VTIME] = 0;
	screen->is_begun = false;
	return tcsetattr(screen->terminal.fd, TCSANOW, &modes) == 0;
}

static void
give_back(struct screen *screen)
{
	if (!screen->is_shown)
		return;
	screen->is_shown = false;
	if (screen->is_begun)
		write_text(screen, END);
	tcsetattr(screen->terminal.fd, TCSANOW, &screen->former);
}

static bool
take_over(struct screen *screen)
{
	screen->is_shown =
	    await_foreground() &&
	    tcgetattr(screen->terminal.fd, &screen->former) == 0 &&
	    set_modes(screen);
	return screen->is_shown;
}

static void
on_exit_give_back(void)
{
	if (open_screen != NULL)
		give_back(open_screen);
}

/* By a description of our own, since O_NONBLOCK would reach all who share that
 * of stdout: a terminal that takes no more must not keep signals from us. It
 * may belong to another user, as after su(1). */
bool
screen_open(struct screen *screen, struct loop *loop)
{
	int fd =
	    open("/proc/self/fd/1", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	screen->is_own = fd != -1;
	screen->loop = loop;
	screen->terminal = (struct loop_fd){.fd = fd != -1 ? fd : STDOUT_FILENO,
	    .events = POLLIN,
	    .on_ready = on_screen_ready,
	    .arg = screen};
	if (!take_over(screen)) {
		screen_close(screen);
		return false;
	}
	if (open_screen == NULL)
		atexit(on_exit_give_back);
	open_screen = screen;
	loop_add(loop, &screen->terminal);
	return true;
}

void
screen_close(struct screen *screen)
{
	if (screen->loop == NULL)
		return;
	loop_remove(screen->loop, &screen->terminal);
	give_back(screen);
	if (screen->is_own)
		close(screen->terminal.fd);
	open_screen = NULL;
	screen->loop = NULL;
}

bool
screen_suspend(struct screen *screen, int signo)
{
	give_back(screen);
	terminal_suspend(signo);
	return take_over(screen);
}

bool
screen_resume(struct screen *screen)
{
	return await_foreground() && set_modes(screen);
}

bool
screen_draw(struct screen *screen, const char *text)
{
	char *whole;
	int error;

	if (is_in_background() && !screen_suspend(screen, SIGTTOU))
		return false;
	whole = mem_printf("%s%s", screen->is_begun ? "" : BEGIN, text);
	screen->is_begun = true;
	error = write_text(screen, whole);
	free(whole);
	if (error != 0)
		screen->on_gone(screen->arg, error);
	return true;
}
