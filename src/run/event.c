#include "run/event.h"

#include "base/exitcode.h"

#define ROW(word_, level_, ...)                                                \
	{                                                                      \
		.word = word_, .level = LEVEL_##level_, .message = __VA_ARGS__ \
	}
/* The reasons to end that have a message. */
#define SKIP(word, outcome, message) \
	ROW(word, BUSY, message, EVENT_OUTCOME_##outcome, EXITCODE_BUSY)
#define FAILURE(word, status, message) \
	ROW(word, ERROR, message, EVENT_OUTCOME_FAILURE, status)
#define LOSS(word, message) \
	ROW(word, ERROR, message, EVENT_OUTCOME_LOST, EXITCODE_LOST)

/* clang-format off */
const struct event_row event_rows[EVENT_COUNT] = {
	[ENDING_NONE] = ROW("none", NONE, "", EVENT_OUTCOME_SUCCESS, EXITCODE_OK),
	[ENDING_JOB] = ROW("job_ended", NONE, "", EVENT_OUTCOME_SUCCESS,
	    ENDING_OWN_STATUS),
	[ENDING_SIGNAL] = ROW("signal", NONE, "", EVENT_OUTCOME_FAILURE,
	    ENDING_OWN_STATUS),
	[ENDING_NOT_DUE] = SKIP("not_due", SKIPPED, "{name} {why}"),
	[ENDING_BUSY] = SKIP("busy", BUSY, "{name} {holder}"),
	[ENDING_QUEUE_FULL] = SKIP("queue_full", BUSY,
	    "{name} {holder}[; {count} <is|are> waiting already]"),
	[ENDING_OVERTAKEN] = SKIP("overtaken", BUSY,
	    "{name} was overtaken by {by}"),
	[ENDING_WAIT_OVER] = SKIP("wait_over", BUSY,
	    "{name} {holder}; gave up after {age}"),
	[ENDING_NO_SERVER] = SKIP("unavailable", SKIPPED, "[{name}: ]{why}"),
	[ENDING_UNAVAILABLE] = FAILURE("unavailable", EXITCODE_UNAVAILABLE,
	    "[{name}: ]{why}"),
	[ENDING_SERVER_ERROR] = FAILURE("server_error", EXITCODE_UNAVAILABLE,
	    "[{name}: ]{why}"),
	[ENDING_REFUSED] = FAILURE("refused", EXITCODE_REFUSED,
	    "[{name}: ]{why}"),
	[ENDING_NOT_A_LOCK] = FAILURE("not_a_lock", EXITCODE_NOT_A_LOCK,
	    "{name} is not a lock: {why}"),
	[ENDING_OTHER_KIND] = FAILURE("other_kind", EXITCODE_USAGE,
	    "{name} is held {why} by the outer run, which would wait for "
	    "itself"),
	[ENDING_MISCONFIGURED] = FAILURE("misconfigured", EXITCODE_USAGE,
	    "{name}: {why}"),
	[ENDING_NO_COMMAND] = FAILURE("no_command", ENDING_OWN_STATUS,
	    "cannot run {command}: {why}"),
	[ENDING_NOT_RUN] = FAILURE("not_run", ENDING_OWN_STATUS,
	    "{name}: cannot run {command}: {why}"),
	[ENDING_NO_LOCK] = FAILURE("no_lock", EXITCODE_RESOURCE,
	    "{name}: cannot prepare the lock: {why}"),
	[ENDING_NO_TOKEN] = FAILURE("no_token", EXITCODE_RESOURCE,
	    "{name}: cannot write the token to stdout: {why}; releasing the "
	    "lock"),
	[ENDING_NO_JOB] = FAILURE("no_job", EXITCODE_RESOURCE,
	    "{name}: cannot prepare the job: {why}"),
	[ENDING_UNGUARDED] = FAILURE("unguarded", EXITCODE_RESOURCE,
	    "{name}: the job cannot be guarded: {why}"),
	[ENDING_LOOP_FAILED] = FAILURE("loop_failed", EXITCODE_INTERNAL,
	    "cannot wait for events: {why}"),
	[ENDING_GUARD_DIED] = FAILURE("guard_died", EXITCODE_RESOURCE,
	    "{name}: the guard was killed, and the job with it"),
	[ENDING_OVERRUN] = FAILURE("overrun", EXITCODE_OVERRUN,
	    "{name}: the job has run for {age}"),
	[ENDING_REPLACED] = ROW("replaced", ERROR,
	    "{name} was replaced by {by}", EVENT_OUTCOME_REPLACED,
	    EXITCODE_REPLACED),
	[ENDING_UNKILLABLE] = FAILURE("unkillable", EXITCODE_RESOURCE,
	    "{name}: {why}; the lock stays until its ttl ends"),
	[ENDING_LOST] = LOSS("lost", "{name} was lost: {why}"),
	[ENDING_NOT_RENEWED] = LOSS("not_renewed",
	    "{name} is being lost: its lease ends without a renewal[ ({why})]"),
	[ENDING_LEASE_OVER] = LOSS("lease_over",
	    "{name} was lost: its lease ended"),
	[ENDING_JOB_LATE] = LOSS("job_late",
	    "{name} was lost: its lease ended before the job"),
	[ENDING_TAKEN] = LOSS("taken",
	    "{name} was lost: another client removed it while the job ran"),
	[ENDING_HOLD_OVER] = LOSS("hold_over",
	    "{name}: the hold with that token has ended[; the lock is held by "
	    "{who}]"),
	[EVENT_ENDING] = ROW("ending", NONE, ""),
	[EVENT_DELAYED] = ROW("delayed", INFO,
	    "{name}: the first try comes in {seconds} s",
	    .ms = "delay_seconds"),
	[EVENT_BEGUN] = ROW("begun", LOG, "{name}: acquiring the lock"),
	[EVENT_TWO_SERVERS] = ROW("two_servers", WARNING,
	    "with 2 servers no lock can be acquired while one of them is "
	    "unreachable; use 3"),
	[EVENT_EVEN_SERVERS] = ROW("even_servers", WARNING,
	    "{count} servers tolerate no more failures than one server fewer"),
	[EVENT_LIKE_GLOB] = ROW("like_glob", WARNING,
	    "{name}: --hold uses this as a plain name and expands no globs"),
	[EVENT_UNUSABLE_SERVER] = ROW("unusable_server", WARNING,
	    "{name}: {why}"),
	[EVENT_WAITING] = ROW("waiting", BUSY,
	    "{name} {holder}; waiting[ for {waited}][, {left} left][, position "
	    "{position} in the queue]"),
	[EVENT_WAITS_PAUSE] = ROW("waits_pause", BUSY, "{name} {holder}"),
	[EVENT_NO_REPLY] = ROW("no_reply", WARNING,
	    "[{name}: ]{why}; trying again"),
	[EVENT_WAITED] = ROW("waited", BUSY, "{name}: acquired after {age}"),
	[EVENT_NOT_REREAD] = ROW("not_reread", WARNING,
	    "{why}; using what was read before"),
	[EVENT_NO_QUEUE] = ROW("no_queue", WARNING,
	    "{name}: the queue cannot be used: {why}"),
	[EVENT_NO_HISTORY] = ROW("no_history", WARNING,
	    "{name}: the run is not recorded: {why}"),
	[EVENT_UNPROVEN] = ROW("unproven", WARNING,
	    "{name}: not recorded as a success, since it may have been lost: "
	    "{why}"),
	[EVENT_NEST_HIDDEN] = ROW("nest_hidden", WARNING,
	    "{name}: the outer run cannot see this one: {why}"),
	[EVENT_NEST_UNCOUNTED] = ROW("nest_uncounted", WARNING,
	    "{name}: nested runs cannot be counted: {why}"),
	[EVENT_NEST_UNKNOWN] = ROW("nest_unknown", BUSY,
	    "{name} is held by an outer run of this one; RLOCKRUN_HELD is "
	    "missing here, pass it on"),
	[EVENT_LOST_EARLY] = ROW("lost_early", WARNING,
	    "{name} was lost while others were waited for; starting over"),
	[EVENT_ACQUIRED] = ROW("acquired", INFO,
	    "{name}: acquired on {server}, fence {fence}, lease {ms} ms",
	    .ms = "ttl_seconds"),
	[EVENT_JOINED] = ROW("joined", INFO,
	    "{name}: joined the run that holds it on {server}, fence {fence}, "
	    "lease {ms} ms", .ms = "ttl_seconds"),
	[EVENT_PERMITS_DIFFER] = ROW("permits_differ", WARNING,
	    "{name}: {permits} permit<|s> here, but another holder was started "
	    "with {count}"),
	[EVENT_SUCCESS_AHEAD] = ROW("success_ahead", WARNING,
	    "{name}: the last success lies {age} in the future by the clock of "
	    "the server; --once-per ignores it", .ms = "ahead_seconds"),
	[EVENT_UNLOCKED] = ROW("unlocked", WARNING,
	    "{name}: {why}; running without the lock"),
	[EVENT_JOB_STARTED] = ROW("job_started", LOG,
	    "{name}: starting the job"),
	[EVENT_RENEWAL_FAILED] = ROW("renewal_failed", WARNING,
	    "{name}: cannot renew the lock, which lasts for another {seconds} "
	    "s: {why}", .ms = "left_seconds"),
	[EVENT_RENEWED_AGAIN] = ROW("renewed_again", WARNING,
	    "{name}: renewed again"),
	[EVENT_PAUSED] = ROW("paused", WARNING,
	    "{name}: rlockrun was paused for at least {seconds} s",
	    .ms = "pause_seconds"),
	[EVENT_HELD_LONG] = ROW("held_long", WARNING,
	    "{name} <has|have> been held for {age}"),
	[EVENT_GUARD_STUCK] = ROW("guard_stuck", WARNING,
	    "{name}: the guard did not act in time; killing it and the job"),
	[EVENT_REPLACING] = ROW("replacing", WARNING,
	    "{name}: {by} asks for the lock; stopping the job"),
	[EVENT_JOB_STOPPING] = ROW("job_stopping", LOG,
	    "{name}: stopping the job"),
	[EVENT_JOB_ENDED] = ROW("job_ended", LOG,
	    "{name}: the job ended with {status}"),
	[EVENT_RELEASED] = ROW("released", INFO, "{name}: released"),
	[EVENT_KEPT] = ROW("kept", INFO,
	    "{name}: kept until {until}", .ms = "keep_seconds"),
	[EVENT_LEFT] = ROW("left", INFO, "{name}: still held by other runs"),
	[EVENT_HELD] = ROW("held", INFO,
	    "{name}: held until {until}", .ms = "hold_seconds"),
	[EVENT_UNCONFIRMED] = ROW("unconfirmed", WARNING,
	    "{name}: cannot confirm the release, the lock may last for its "
	    "ttl: {why}"),
	[EVENT_UNREPLICATED] = ROW("unreplicated", WARNING,
	    "{name}: {why}; a failover may forget it"),
	[EVENT_ENDED] = ROW("ended", LOG,
	    "{name}: ended with {status}, reason {reason}"),
	[EVENT_REPLIED] = ROW("replied", LOG,
	    "[{name}: ]the server replies again"),
	[EVENT_NOT_SHOWN] = ROW("not_shown", WARNING, "{name}: {why}"),
	[EVENT_SLOT_MOVING] = ROW("slot_moving", WARNING,
	    "{name}: its slot is moving to another node"),
	[EVENT_LISTED] = ROW("", BUSY,
	    "{count} <lock|locks> found on {server}"),
	[EVENT_NONE_LISTED] = ROW("", BUSY, "no locks found on {server}"),
	[EVENT_FORCED] = ROW("forced", WARNING,
	    "{name}: released, it was held by {who}"),
	[EVENT_FORCE_AGAIN] = ROW("force_again", WARNING,
	    "{name}: {count} <other still holds|others still hold> it; release "
	    "it again"),
	[EVENT_FORCE_FREE] = ROW("force_free", WARNING,
	    "{name} is already free[; {why}]"),
	[EVENT_FORCE_LATE] = ROW("force_late", WARNING,
	    "{name}: it has another holder by now; nothing was changed"),
	[EVENT_FORCE_OTHER_TOKEN] = ROW("force_other_token", WARNING,
	    "{name} is held by {who}, not with that token; nothing was "
	    "changed"),
	[EVENT_FORCE_DECLINED] = ROW("force_declined", WARNING,
	    "{name}: nothing was changed"),
	[EVENT_NOT_EXTENDED] = ROW("not_extended", WARNING,
	    "{name} is held by {who}, which is not a --hold; nothing was "
	    "changed"),
	[EVENT_NOT_WOKEN] = ROW("not_woken", WARNING,
	    "{name}: cannot notify the next waiter: {why}"),
	[EVENT_PAUSE_WAITS] = ROW("pause_waits", BUSY,
	    "{name} {holder}; waiting for its end"),
	[EVENT_PAUSE_SET] = ROW("pause_set", LOG,
	    "{name}: paused until {until}", .ms = "pause_seconds"),
	[EVENT_NOT_PAUSED] = ROW("not_paused", WARNING,
	    "{name}[: {why}][ {holder}]; not paused"),
	[EVENT_PAUSES_SET] = ROW("pauses_set", BUSY,
	    "{count} <lock|locks> paused on {server}[; {why}]"),
	[EVENT_RESUMED] = ROW("resumed", LOG, "{name}: resumed"),
	[EVENT_NONE_RESUMED] = ROW("none_resumed", WARNING,
	    "no paused lock matches {name}"),
	[EVENT_NO_OUTPUT] = ROW("no_output", WARNING,
	    "cannot write to stdout: {why}"),
};
/* clang-format on */

const struct event_row *
event_row(const struct event *event)
{
	return event->type == EVENT_ENDING ? &event_rows[event->ending]
					   : &event_rows[event->type];
}

/* A server that is restarted is back in a moment. */
enum level
event_level(const struct event *event)
{
	enum level level = event_row(event)->level;

	if (level == LEVEL_NONE || !event->minor)
		return level;
	return event->type == EVENT_NO_REPLY ? LEVEL_BUSY : LEVEL_INFO;
}

int
event_shell_status(int status)
{
	return status < 0 ? EXITCODE_SIGNAL - status : status;
}

enum event_outcome
event_outcome(const struct event *event)
{
	enum event_outcome outcome = event_rows[event->ending].outcome;

	return outcome == EVENT_OUTCOME_SUCCESS && event->status != 0
		   ? EVENT_OUTCOME_FAILURE
		   : outcome;
}
