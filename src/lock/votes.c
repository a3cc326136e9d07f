#include "lock/votes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "lock/contact.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/way.h"

enum { PATIENCE_MIN_MS = 50, PATIENCE_MAX_MS = 500 };

/* --- when the votes decide ---------------------------------------------- */

size_t
votes_majority(size_t size)
{
	return size / 2 + 1;
}

int64_t
votes_patience_ms(int64_t ttl_ms)
{
	int64_t ms = ttl_ms / 20;

	if (ms < PATIENCE_MIN_MS)
		return PATIENCE_MIN_MS;
	return clock_min(ms, PATIENCE_MAX_MS);
}

bool
votes_never_agree(const struct votes *votes)
{
	return votes->size - votes->permanent < votes_majority(votes->size);
}

/* A majority grants the lock, or it cannot any more. Then enough votes are
 * waited for to say whether the lock is held by others, or servers have failed.
 */
enum votes_decision
votes_decide(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);

	if (votes->yes >= majority)
		return VOTES_YES;
	if (votes->yes + votes->out >= majority)
		return VOTES_WAIT;
	if (votes->out > 0 && votes->yes + votes->no < majority)
		return VOTES_WAIT;
	/* Even most servers may lack the lock of an outer run that holds it, as
	 * they have forgotten it, or did not vote for it: it is yet to be
	 * planted there. So only all of them say that the outer run is over. */
	if (votes->gone > 0 && votes->gone < votes->size)
		return votes->out > 0 ? VOTES_WAIT : VOTES_FAILED;
	if (votes->no > 0 && votes->yes + votes->no >= majority &&
	    !votes_never_agree(votes))
		return VOTES_NO;
	return VOTES_FAILED;
}

/* A majority has freed it, as replicas know, and the other releases are on
 * their way, or have had their time. */
enum votes_decision
votes_decide_release(const struct votes_releases *releases)
{
	size_t majority = votes_majority(releases->size);
	bool is_lost = releases->lost >= majority;
	bool is_freed = releases->freed > 0 &&
			releases->freed + releases->denied >= majority;

	if (releases->replicated >= majority && releases->unsent == 0)
		return VOTES_YES;
	if (releases->open > 0 && !(releases->over && (is_lost || is_freed)))
		return VOTES_WAIT;
	if (is_lost)
		return VOTES_NO;
	return is_freed ? VOTES_YES : VOTES_FAILED;
}

/* --- which server it is -------------------------------------------------- */

/* The server takes the difference of two clocks that are cut to whole seconds:
 * it may be up for a second less. A server that is busy with itself can be
 * asked again. */
static void
on_info(void *arg, const struct reply *reply)
{
	struct vote *vote = arg;
	const char *info = value_text(reply->value);
	const char *error = value_error(reply->value);
	int64_t seconds = info_number(info, "uptime_in_seconds");

	info_text(info, "run_id", vote->run_id, sizeof(vote->run_id));
	vote->obstacle[0] = '\0';
	vote->known = vote->run_id[0] != '\0' && seconds >= 0 &&
		      seconds <= DURATION_MAX_MS / 1000;
	if (vote->known) {
		vote->started_at =
		    clock_now() - (seconds > 0 ? seconds - 1 : 0) * 1000;
		snprintf(vote->label, sizeof(vote->label), "%s", reply->label);
	} else if (reply->value != NULL &&
		   (error == NULL ||
		       reply_judge_error(error) != VERDICT_RETRY)) {
		snprintf(vote->obstacle, sizeof(vote->obstacle),
		    "cannot be identified by INFO (+info): %s",
		    error != NULL ? error : "no run_id and no uptime in it");
	}
}

void
vote_introduce(struct vote *vote, const struct lock *lock)
{
	static const char *const words[] = {"INFO", "server", NULL};
	const struct lock_config *config = lock->config;
	int64_t now = clock_now();
	const struct command command = {.words = words,
	    .deadline = now + 2 * config->try_ms + config->replicas_ms,
	    .counts_until = now + config->replicas_ms + config->vote_ms,
	    .on_reply = on_info,
	    .arg = vote,
	    .more = true};

	vote->known = vote->known && way_is_up(lock->link->way);
	if (!vote->known)
		way_send(lock->link->way, &command);
}

/* --- how a server stands -------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
say(struct vote *vote, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(vote->why, sizeof(vote->why), format, arguments);
	va_end(arguments);
}

/* One server behind two addresses would be a majority of itself. In a cluster
 * another node may have answered than the one that was identified. A server
 * whose connection has ended may have restarted, and forgotten the grant. */
static enum vote_kind
judge_grant(struct vote *vote, const struct lock *lock)
{
	const char *label = way_label(lock->link->way);
	int64_t up_ms = clock_now() - vote->started_at;

	if (vote->obstacle[0] != '\0') {
		say(vote, "not counted %.120s: %.180s", label, vote->obstacle);
		return VOTE_UNUSABLE;
	}
	if (!vote->known ||
	    strncmp(vote->label, label, sizeof(vote->label) - 1) != 0)
		say(vote, "not counted %.120s: it is not identified yet",
		    label);
	else if (up_ms < lock->config->min_uptime_ms)
		say(vote,
		    "not counted %.120s: up for %.1f s only, so it abstains "
		    "(--min-uptime)",
		    label, (double)up_ms / 1000);
	else if (!way_is_up(lock->link->way))
		say(vote, "not counted %.120s: its connection has ended since",
		    label);
	else if (clock_now() >= lock->lease.valid_until)
		say(vote, "not counted %.120s: its lease has ended", label);
	else {
		say(vote, "%s agrees", label);
		return VOTE_YES;
	}
	return VOTE_FAILED;
}

enum vote_kind
vote_judge(struct vote *vote, const struct lock *lock, bool over)
{
	const char *label = way_label(lock->link->way);

	if (lock_phase(lock) == LOCK_HELD)
		return judge_grant(vote, lock);
	if (lock_phase(lock) == LOCK_ACQUIRING && !over) {
		say(vote, "%s has not answered", label);
		return VOTE_OUT;
	}
	if (lock_phase(lock) == LOCK_ACQUIRING)
		say(vote, "no answer from %.120s: not within its time", label);
	/* One that is left out of this round stands as before. */
	if (lock->failure == 0)
		return VOTE_SILENT;
	switch (lock->failure) {
	case LOCK_BUSY:
	case LOCK_NO_OUTER:
	case LOCK_OTHER_KIND:
		say(vote, "%s denies it", label);
		return VOTE_NO;
	case LOCK_UNAVAILABLE:
		say(vote, "%s", lock->why.text);
		if (lock->vote.is_permanent)
			return VOTE_UNREACHABLE;
		return lock->pace.silent_since == 0 ? VOTE_FAILED : VOTE_SILENT;
	default:
		say(vote, "%s", lock->why.text);
		return VOTE_UNUSABLE;
	}
}

void
vote_explain(struct vote *vote, const struct lock *lock)
{
	const char *label = way_label(lock->link->way);
	bool is_out = lock->state == AT_TRY || lock->state == AT_RENEW ||
		      lock->state == AT_FREE || lock->vote.is_unheard;
	bool is_ours = lock_phase(lock) == LOCK_HELD ||
		       lock->release.outcome >= LOCK_FREED;
	bool denies = lock_phase(lock) == LOCK_LOST ||
		      (lock_phase(lock) == LOCK_RELEASED &&
			  lock->release.outcome != LOCK_UNCONFIRMED);

	if (lock->why.answered && is_out)
		say(vote, "%s has not answered", label);
	else if (lock->why.answered && is_ours)
		say(vote, "%s agrees", label);
	else if (lock->why.answered && denies)
		say(vote, "%s denies it", label);
	else
		say(vote, "%s", lock->why.text);
}

/* --- planting ------------------------------------------------------------ */

/* A contender that does not get it may have had it for a moment, so it is asked
 * again. A nested run is to be seen there: otherwise the release of the outer
 * one would free the lock under it. What was denied may be permitted by now. */
void
vote_plant(struct lock *lock, const struct lock_news *news)
{
	lock->vote.lacks = news->from;
	if (lock->claim.outer != NULL)
		lock->claim.tier = claim_top_tier(lock->config);
	if (lock->vote.was_away)
		contact_retry(lock);
	lock->pace.sent_at = clock_now();
	lock->lease.valid_until = lock->vote.renewed_at = 0;
	lock->debt = DEBT_MAYBE;
}

enum lock_event
vote_send_plant(struct lock *lock)
{
	lock->vote.is_out = contact_ask(lock, request_try, lock_on_reply,
				clock_now() + lock->pace.patience_ms) == 0;
	return lock->vote.is_out ? ON_NOTHING : ON_LATER;
}

void
vote_note_planted(struct lock *lock, const struct lock_news *news)
{
	lock->failure = 0;
	lock->debt = DEBT_OURS;
	lock->vote.was_away = false;
	lock->lease.acquired_at = news->heard->reply.sent_at;
	contact_note_reply(lock);
	contact_note_grant(lock, &news->heard->answer);
	lease_schedule(lock, clock_now());
}

/* A grant to a user, or in a db, that is not ours is undone. The next
 * connection may be let in. */
void
vote_not_planted(struct lock *lock, const struct lock_news *news)
{
	const struct lock_reply *heard = news->heard;
	bool is_shut = heard->reply.kind == REPLY_NO_ACCESS;

	lock->debt =
	    heard->answer.outcome == ANSWER_NONE ? DEBT_MAYBE : DEBT_NOTHING;
	if (heard->answer.outcome == ANSWER_GRANTED && is_shut)
		contact_post_release(lock, false);
	contact_doubt(lock, heard);
}
