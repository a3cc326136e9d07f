#include "admin/commands.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin/frame.h"
#include "admin/look.h"
#include "admin/roster.h"
#include "admin/screen.h"
#include "admin/search.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/signals.h"
#include "job/terminal.h"
#include "sink/event_text.h"

/* TROUBLE_MS: a server is silent for longer only if something is wrong. */
enum { SECOND_MS = 1000, TROUBLE_MS = 2000, WHY_MAX = 2048 };

/* In each round so many free locks are looked at, besides those that were shown
 * the last time: a server remembers the last runs of many more locks than are
 * held. */
enum { FREE_AT_ONCE = 48 };

enum stage {
	STAGE_CONNECTING, /* there is no screen yet */
	STAGE_READING,	  /* the server has replied, the list is not complete */
	STAGE_SHOWING,
};

/* Of the last round. */
enum outcome { OUTCOME_GOOD, OUTCOME_PARTIAL, OUTCOME_FAILED };

#define NOT_OURS "the terminal cannot be taken over"

struct watch {
	struct client *client;
	const struct events *outer; /* with the sinks on stderr */
	struct events events;
	struct signals signals;
	struct loop_fd caught;
	struct loop_timer tick;
	struct screen screen;
	struct search search;
	enum stage stage;
	bool has_ended;
	int result;

	struct roster rosters[2];
	struct roster *known, *found; /* of the last round, and of this one: */
	int64_t room;	     /* for locks on the screen, as the round began */
	size_t others;	     /* so many free locks were not shown */
	size_t turn;	     /* it is of these, from here on */
	bool has_no_history; /* access to it is denied */
	bool is_asking;	     /* in a round */
	bool heard;	     /* in this round */
	int64_t known_at;    /* the last round that was complete */
	enum outcome outcome;
	char why[WHY_MAX];    /* something fails */
	char notice[WHY_MAX]; /* something is not shown */
	char place[LOOK_PLACE_MAX];
};

/* From any callback. */
static void
end_view(struct watch *watch, int result)
{
	if (watch->has_ended)
		return;
	watch->has_ended = true;
	watch->result = result;
	enquiry_stop(&watch->client->enquiry);
}

static void
end_without_terminal(struct watch *watch, const char *why)
{
	if (watch->has_ended)
		return;
	screen_close(&watch->screen);
	watch->client->events = watch->outer;
	client_emit(watch->client,
	    (struct event){.type = EVENT_NO_OUTPUT, .why = why});
	end_view(watch, EXITCODE_RESOURCE);
}

/* --- drawing ------------------------------------------------------------ */

static void
draw_view(struct watch *watch)
{
	int64_t now = clock_now();
	bool silent = watch->outcome == OUTCOME_FAILED ||
		      (watch->is_asking &&
			  now >= watch->client->enquiry.heard_at + TROUBLE_MS);
	struct frame frame = {.place = watch->place,
	    .is_first = watch->stage == STAGE_READING,
	    .notice = watch->outcome == OUTCOME_PARTIAL ? watch->why
		      : *watch->notice != '\0'		? watch->notice
							: NULL,
	    .silent_ms = silent ? now - watch->known_at : -1,
	    .why = watch->why,
	    .prefix = strlen(watch->client->opts->prefix),
	    .at = silent ? watch->known_at : now,
	    .roster = watch->known};
	char *text;

	if (watch->stage == STAGE_CONNECTING || watch->has_ended)
		return;
	screen_measure(&frame.rows, &frame.columns);
	text = frame_draw(&frame);
	if (!screen_draw(&watch->screen, text))
		end_without_terminal(watch, NOT_OURS);
	free(text);
}

static void
on_tick(void *arg)
{
	struct watch *watch = arg;

	draw_view(watch);
	loop_timer_set(watch->client->enquiry.loop, &watch->tick,
	    (clock_now() / SECOND_MS + 1) * SECOND_MS);
}

static void
on_key(void *arg, char key)
{
	if (key == 'q' || key == 'Q')
		end_view(arg, EXITCODE_OK);
}

static void
on_gone(void *arg, int error)
{
	end_without_terminal(arg, strerror(error));
}

/* --- signals ------------------------------------------------------------ */

static void
on_signal(void *arg, short revents)
{
	struct watch *watch = arg;
	struct signalfd_siginfo info;

	(void)revents;
	while (!watch->has_ended && signals_next(&watch->signals, &info)) {
		int signo = (int)info.ssi_signo;
		enum signals_action action = signals_default_action(signo);
		bool is_open = watch->stage != STAGE_CONNECTING, ours = true;

		if (action == SIGNALS_END)
			end_view(watch, -signo);
		else if (action == SIGNALS_STOP && is_open)
			ours = screen_suspend(&watch->screen, signo);
		else if (action == SIGNALS_STOP)
			terminal_suspend(signo);
		else if (signo == SIGCONT && is_open)
			ours = screen_resume(&watch->screen);
		/* Helpers that look up addresses of servers are our children.
		 */
		while (signo == SIGCHLD && waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (!ours)
			end_without_terminal(watch, NOT_OURS);
		draw_view(watch);
	}
}

/* --- events ------------------------------------------------------------- */

/* The screen shows what stderr would get. Before there is one, that is where it
 * belongs; but a reason to end is none yet. */
static void
on_event(void *arg, const struct event *event)
{
	struct watch *watch = arg;
	bool notice = event->type == EVENT_NOT_SHOWN;

	if (watch->stage == STAGE_CONNECTING && event->type != EVENT_ENDING)
		events_emit(watch->outer, event);
	else if (event->type != EVENT_REPLIED)
		event_text_format(event, watch->client->opts,
		    notice ? watch->notice : watch->why, WHY_MAX);
}

/* --- a round ------------------------------------------------------------ */

static void
on_watch_lock(void *arg, struct look *look, const char *key)
{
	struct watch *watch = arg;

	roster_add(watch->found, look, key);
}

static bool
is_on_screen(const struct watch *watch, const char *key)
{
	const struct roster_lock *lock = roster_find(watch->known, key);

	return lock != NULL && lock - watch->known->locks < watch->room;
}

/* Of those on the screen, and of as many others as fit on it: --list does
 * without. */
static bool
wants_last_run(void *arg, const char *key)
{
	const struct watch *watch = arg;

	return watch->found->held < watch->room || is_on_screen(watch, key);
}

/* Those on the screen may be free now, unless this round has found them held.
 * Of the others some are looked at in each round, in turn. */
static bool
wants_free(void *arg, const char *key)
{
	struct watch *watch = arg;
	size_t other;

	if (roster_find(watch->found, key) != NULL)
		return false;
	if (is_on_screen(watch, key))
		return true;
	other = watch->others++;
	return other >= watch->turn && other < watch->turn + FREE_AT_ONCE;
}

static int
on_watch_page(void *arg)
{
	struct watch *watch = arg;

	watch->heard = true;
	if (watch->stage != STAGE_CONNECTING)
		return EXITCODE_OK;
	if (!screen_open(&watch->screen, watch->client->enquiry.loop)) {
		end_without_terminal(watch, NOT_OURS);
		return EXITCODE_RESOURCE;
	}
	watch->stage = STAGE_READING;
	watch->known_at = clock_now();
	draw_view(watch);
	return EXITCODE_OK;
}

static int
search_locks(struct watch *watch)
{
	size_t rows, columns;
	int result;

	watch->heard = false;
	watch->client->enquiry.heard_at = clock_now();
	watch->others = 0;
	roster_fini(watch->found);
	screen_measure(&rows, &columns);
	watch->room = (int64_t)frame_room(rows);
	watch->search.wants_history =
	    watch->has_no_history ? NULL : wants_last_run;
	watch->search.wants_free =
	    watch->has_no_history || watch->known->held >= watch->room ||
		    watch->client->opts->older_than_ms > 0
		? NULL
		: wants_free;
	watch->is_asking = true;
	result = search_run(&watch->search);
	watch->is_asking = false;
	return result;
}

/* Access rules that list the helper keys one by one may lack the history. */
static int
ask_without_history(struct watch *watch)
{
	char *why =
	    mem_printf("last runs are not shown: %s", watch->client->error);
	int result;

	watch->has_no_history = true;
	result = search_locks(watch);
	if (result == EXITCODE_OK)
		snprintf(watch->notice, sizeof(watch->notice), "%s", why);
	else
		watch->has_no_history = false; /* it was not that */
	free(why);
	return result;
}

static void
show_found(struct watch *watch)
{
	struct roster *former = watch->known;

	watch->known = watch->found;
	watch->found = former;
	roster_sort(watch->known);
	watch->turn += FREE_AT_ONCE;
	if (watch->turn >= watch->others)
		watch->turn = 0;
}

/* Of a cluster, what the other primaries have is shown. */
static void
begin_round(struct watch *watch)
{
	bool partly = watch->client->endpoint->cluster;
	int result = search_locks(watch);

	if (result != EXITCODE_OK && !watch->has_no_history &&
	    watch->client->failure == ENDING_REFUSED)
		result = ask_without_history(watch);
	if (watch->has_ended)
		return;
	if (!watch->heard && watch->stage == STAGE_CONNECTING) {
		watch->client->events = watch->outer;
		end_view(watch, client_report_failure(watch->client));
		return;
	}
	watch->outcome = result == EXITCODE_OK	  ? OUTCOME_GOOD
			 : partly && watch->heard ? OUTCOME_PARTIAL
						  : OUTCOME_FAILED;
	if (watch->outcome != OUTCOME_FAILED) {
		show_found(watch);
		watch->stage = STAGE_SHOWING;
		watch->known_at = clock_now();
	}
	if (result == EXITCODE_OK) {
		watch->why[0] = '\0';
	} else if (result == EXITCODE_REFUSED) {
		/* A connection that was refused remains so, even if the server
		 * has changed its mind. */
		enquiry_forget_nodes(&watch->client->enquiry);
		way_drop(watch->client->enquiry.server);
	}
	draw_view(watch);
}

/* ---------------------------------------------------------------------- */

static void
open_view(struct watch *watch, struct client *client)
{
	static const struct event_sink sink = {.on_event = on_event};

	watch->client = client;
	watch->outer = client->events;
	watch->events =
	    (struct events){.sinks = {&sink}, .states = {watch}, .count = 1};
	client->events = &watch->events;
	watch->search = (struct search){.client = client,
	    .on_lock = on_watch_lock,
	    .on_page = on_watch_page,
	    .arg = watch};
	watch->screen =
	    (struct screen){.on_key = on_key, .on_gone = on_gone, .arg = watch};
	watch->known = &watch->rosters[0];
	watch->found = &watch->rosters[1];
	watch->tick = (struct loop_timer){.on_due = on_tick, .arg = watch};
	look_describe_place(client, client->endpoint->label, watch->place,
	    sizeof(watch->place));
	if (signals_init(&watch->signals) == -1)
		log_die(EXITCODE_RESOURCE, "cannot read signals");
	watch->caught = (struct loop_fd){.fd = watch->signals.fd,
	    .events = POLLIN,
	    .on_ready = on_signal,
	    .arg = watch};
	loop_add(client->enquiry.loop, &watch->caught);
	on_tick(watch);
}

int
watch_show(struct client *client)
{
	struct watch *watch = mem_alloc(sizeof(*watch));
	int64_t pause_ms;
	int result;

	open_view(watch, client);
	while (!watch->has_ended) {
		begin_round(watch);
		pause_ms = client->opts->watch_ms;
		if (watch->outcome == OUTCOME_FAILED)
			pause_ms = clock_min(pause_ms, TROUBLE_MS);
		if (!watch->has_ended)
			enquiry_sleep(&client->enquiry, clock_now() + pause_ms);
	}
	screen_close(&watch->screen);
	loop_remove(client->enquiry.loop, &watch->caught);
	loop_timer_remove(client->enquiry.loop, &watch->tick);
	close(watch->signals.fd);
	roster_fini(watch->known);
	roster_fini(watch->found);
	client->events = watch->outer;
	result = watch->result;
	free(watch);
	return result;
}
