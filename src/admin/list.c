#include "admin/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "admin/lock_row.h"
#include "admin/look.h"
#include "admin/search.h"
#include "base/descriptors.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/table.h"
#include "job/signals.h"

struct list {
	struct client *client;
	struct search search;
	struct table table;
	char place[LOOK_PLACE_MAX];
	size_t count;	/* of locks that are shown */
	size_t waiting; /* for them */
};

/* No titles where there is no server. */
static void
begin_table(struct list *list)
{
	const struct opts *opts = list->client->opts;
	FILE *out = list->table.out;

	if (opts->json || opts->quiet || list->table.columns > 0)
		return;
	table_init(&list->table, opts->all ? LOCK_ROW_ALL : LOCK_ROW_HELD);
	list->table.out = out;
}

static void
on_list_lock(void *arg, const struct look *look)
{
	struct list *list = arg;
	struct client *client = list->client;
	const struct look_problem *problem = look_history_problem(look);
	const struct look_run *over = look_last_over(look);
	struct row row = {.table = &list->table};

	/* What is withheld has been reported by the search. */
	if (client->opts->all && !client->opts->json && problem != NULL &&
	    !problem->is_denied)
		client_report_problem(client, look, problem);
	if (client->opts->failed &&
	    (over == NULL || !look_run_has_failed(over)))
		return;
	if (client->opts->quiet) {
		client->is_held = true;
		list->search.enough = true; /* one is */
	} else if (client->opts->json) {
		lock_row_print_json(look, client);
	} else {
		begin_table(list);
		table_add(&list->table);
		lock_row_put(&row, look, client);
	}
	list->count++;
	list->waiting += look->waiting > 0 ? (size_t)look->waiting : 0;
	client_note_output(client);
}

static int
on_list_page(void *arg)
{
	struct list *list = arg;

	begin_table(list);
	table_print_due(&list->table);
	return client_check_output(list->client);
}

/* Prints those that are found as they come; unless text is NULL: then that is
 * what would be printed, sorted by name and to be freed. The exit code; the
 * reason is reported. */
static int
list_read(struct list *list, struct client *client, char **text)
{
	FILE *out = stdout;
	size_t length;
	int result;

	if (text != NULL)
		out = open_memstream(text, &length);
	if (out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	*list = (struct list){.client = client, .table.out = out};
	list->search = (struct search){.client = client,
	    .on_lock = on_list_lock,
	    .on_page = on_list_page,
	    .runs = 2,
	    .arg = list};
	look_describe_place(client, client->endpoint->label, list->place,
	    sizeof(list->place));
	if (text == NULL && client->opts->server_count > 1 &&
	    !client->opts->json && !client->opts->quiet)
		printf("%s:\n", list->place);
	result = search_run(&list->search);
	if (text != NULL)
		table_sort(&list->table);
	table_print(&list->table);
	if (text != NULL && fclose(out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return result;
}

int
list_show(struct client *client)
{
	struct list *list = mem_alloc(sizeof(*list));
	int result = list_read(list, client, NULL);

	if (result == EXITCODE_OK)
		result = client_check_output(client);
	/* Not to stdout: scripts read the table. */
	if (result == EXITCODE_OK && !client->opts->json &&
	    !client->opts->quiet)
		CLIENT_EMIT(client,
		    .type = list->count > 0 ? EVENT_LISTED : EVENT_NONE_LISTED,
		    .count = (int64_t)list->count, .server = list->place);
	free(list);
	return result;
}

/* --- --watch --------------------------------------------------------------
 *
 * A child reads the list and draws it, until a signal ends it like any process.
 * The parent keeps the terminal: it sets the modes, reads keys, passes signals
 * on, and makes the terminal what it was, however the child ends or stops. */

enum { WRITE_MS = 500, RETRY_MS = 2000, HEAD_MAX = 4096 };

/* DEC's modes: 7 wraps lines, 25 shows the cursor, 1049 is a second screen. */
#define BEGIN "\033[?1049h\033[?25l\033[?7l\033[H\033[J"
#define END "\033[m\033[?7h\033[?25h\033[H\033[J\033[?1049l"

struct view {
	struct client *client;
	struct signals signals;
	struct termios former;
	bool is_open; /* the terminal is in our modes */
	struct list list;
	int64_t known_at; /* when it was last read; 0: it was not */
	char *rows;	  /* with titles; empty: the list could not be read */
};

/* --- the parent: the terminal -------------------------------------------- */

/* A terminal that takes no more must not keep us. */
static bool
set_terminal(struct view *view, const struct termios *modes, const char *text)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	view->is_open = modes != &view->former;
	return tcsetattr(STDOUT_FILENO, TCSANOW, modes) == 0 &&
	       (descriptors_poll(&out, 1, WRITE_MS) != 1 ||
		   write(STDOUT_FILENO, text, strlen(text)) != -1);
}

/* Does what a stop signal does by default, or nothing if it is 0, and waits for
 * the foreground: in the background tcflow(3) has the kernel stop us. Meanwhile
 * a shell has the terminal, and signals end us by default. Without IXON, Ctrl-S
 * cannot stop the text that gives the terminal back. */
static bool
take_over(struct view *view, int stop)
{
	struct termios modes;
	sigset_t all;

	if (stop != 0 || tcgetpgrp(STDOUT_FILENO) != getpgrp()) {
		raise(stop);
		sigprocmask(SIG_SETMASK, &view->signals.inherited_mask, &all);
		if (tcflow(STDOUT_FILENO, TCOON) == -1)
			return false;
		sigprocmask(SIG_SETMASK, &all, NULL);
	}
	if (!view->is_open && tcgetattr(STDOUT_FILENO, &view->former) == -1)
		return false;
	modes = view->former;
	modes.c_iflag &= ~(tcflag_t)IXON;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	return set_terminal(view, &modes, BEGIN);
}

/* Keys are read by a descriptor of our own: stdout may be open for writing
 * only. SIGCONT alone comes after SIGSTOP: a shell has had the terminal. */
static int
keep_terminal(struct view *view, pid_t child)
{
	int fd = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct pollfd polled[] = {{view->signals.fd, POLLIN, 0},
	    {fd != -1 ? fd : STDOUT_FILENO, POLLIN, 0}};
	struct signalfd_siginfo info;
	int status;
	char key;

	for (;;) {
		if (!signals_next(&view->signals, &info)) {
			descriptors_poll(polled, 2, -1);
			if (polled[1].revents & (POLLHUP | POLLERR))
				view->client->output_error = EIO;
			else if (polled[1].revents == 0 ||
				 read(polled[1].fd, &key, 1) != 1 ||
				 (key != 'q' && key != 'Q'))
				continue;
			if (kill(child, SIGKILL) == 0)
				waitpid(child, &status, 0);
			set_terminal(view, &view->former, END);
			return client_check_output(view->client);
		} else if (info.ssi_signo != SIGCHLD) {
			if (info.ssi_signo == SIGCONT)
				take_over(view, 0);
			kill(child, (int)info.ssi_signo);
		} else if (waitpid(child, &status, WNOHANG | WUNTRACED) > 0) {
			set_terminal(view, &view->former, END);
			if (!WIFSTOPPED(status))
				break;
			take_over(view, WSTOPSIG(status));
			kill(child, SIGCONT);
		}
	}
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	if (WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status);
	view->client->output_error = EIO;
	return client_check_output(view->client);
}

/* --- the child: the list -------------------------------------------------- */

/* Of a cluster, what the other primaries have is a list, too. The exit code. */
static int
read_list(struct view *view)
{
	int result;

	free(view->rows);
	result = list_read(&view->list, view->client, &view->rows);
	if (result == EXITCODE_OK)
		view->client->error[0] = '\0'; /* there was another try */
	else if (view->list.count == 0)
		view->rows[0] = '\0';
	if (view->rows[0] != '\0')
		view->known_at = clock_now();
	return result;
}

static void
draw_line(size_t row, const char *text, size_t columns)
{
	char piece[ESCAPE_SIZE];

	printf("\033[%zu;1H%s", row, row == 1 ? "\033[7m" : "");
	while (*text != '\0' && *text != '\n') {
		size_t length = escape_next(&text, ESCAPE_TEXT, piece);
		size_t width = escape_width(piece, length);

		if (width > columns)
			break;
		columns -= width;
		fwrite(piece, 1, length, stdout);
	}
	fputs("\033[m\033[K", stdout);
}

/* The last column stays empty: after a character there, some terminals erase
 * it. Below the last row there is nothing to erase. */
static bool
draw(const struct view *view)
{
	const struct list *list = &view->list;
	const char *line = view->rows, *why = view->client->error;
	char head[HEAD_MAX], at[32], count[96] = "not known since";
	struct winsize size = {.ws_col = 0};
	size_t rows, columns, row = 1;

	tcflow(STDOUT_FILENO, TCOON); /* stops us in the background */
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	rows = size.ws_row > 0 ? size.ws_row : 24;
	columns = (size.ws_col > 0 ? size.ws_col : 80) - 1;
	if (*line != '\0')
		snprintf(count, sizeof(count), "%zu held, %zu waiting%s ",
		    list->count, list->waiting,
		    list->count + (rows > 1) < rows ? "" : ", not all shown");
	duration_describe_time(view->known_at - clock_now(), at, sizeof(at));
	snprintf(head, sizeof(head), "%s %s  %s", count, at,
	    *why != '\0' ? why : list->place);
	draw_line(row++, head, columns);
	for (; *line != '\0' && row <= rows; line += strcspn(line, "\n") + 1)
		draw_line(row++, line, columns);
	if (row <= rows)
		printf("\033[%zu;1H\033[J", row);
	return fflush(stdout) == 0;
}

/* Returns when it cannot draw. A connection that was refused remains so. */
static int
show_lists(struct view *view)
{
	static const struct events none = {.count = 0};
	struct client *client = view->client;
	int64_t ms = client->opts->watch_ms;
	sigset_t redraw;

	sigemptyset(&redraw);
	sigaddset(&redraw, SIGWINCH);
	sigaddset(&redraw, SIGCONT);
	signals_restore(&view->signals);
	sigprocmask(SIG_BLOCK, &redraw, NULL);
	signal(SIGCHLD, SIG_IGN); /* of those that look up addresses */
	client->events = &none;
	while (draw(view)) {
		struct timespec pause = {ms / 1000,
		    (long)(ms % 1000) * 1000000};

		if (sigtimedwait(&redraw, NULL, &pause) != -1)
			continue;
		ms = client->opts->watch_ms;
		if (read_list(view) != EXITCODE_OK) {
			enquiry_forget_nodes(&client->enquiry);
			way_drop(client->enquiry.server);
			ms = clock_min(ms, RETRY_MS);
		}
	}
	return EXITCODE_OK;
}

int
watch_show(struct client *client)
{
	struct view *view = mem_alloc(sizeof(*view));
	pid_t parent = getpid(), child;
	int result;

	view->client = client;
	result = read_list(view);
	if (view->known_at == 0)
		goto out;
	if (signals_init(&view->signals) == -1)
		log_die(EXITCODE_RESOURCE, "cannot read signals");
	if (!take_over(view, 0) || (child = fork()) == -1) {
		client->output_error = errno;
		if (view->is_open)
			set_terminal(view, &view->former, END);
		result = client_check_output(client);
	} else if (child > 0) {
		result = keep_terminal(view, child);
	} else {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		result = getppid() == parent ? show_lists(view) : 0;
	}
out:
	free(view->rows);
	free(view);
	return result;
}
