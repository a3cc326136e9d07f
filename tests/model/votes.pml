/* Two clients and a lock on three servers, each with a mind of its own.
 * README.md says what is left out, `run` which macros make which run.
 *
 * Time has no numbers. A client counts its questions, those for a grant and for
 * a renewal: asked[c]. The lease that question q asks for ends when lapsed[c]
 * reaches q, on the client as on any server that has executed it. It may do so
 * at any time, but not while the job runs under it: the guard kills in time. A
 * server expires what has lapsed, at once, later or never. */
#ifndef TRIES
#define TRIES 2 /* fresh tokens of each client */
#endif
#ifndef QUESTIONS
#define QUESTIONS 3 /* of the first client */
#endif
#ifndef OTHER_QUESTIONS
#define OTHER_QUESTIONS 1
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef FAULTS
#define FAULTS 0 /* broken connections, dead clients */
#endif
#define SERVERS 3
#ifdef MINORITY
#define MAJORITY (SERVERS / 2)
#else
#define MAJORITY (SERVERS / 2 + 1)
#endif

mtype:state = { AWAY, ASKING, HELD, RENEWING, LOST }
mtype:kind = { NOTHING, GRANT, RENEW, PLANT, RELEASE }
/* src: lock/member.h enum member_vote */
mtype:vote = { NONE, OUT, YES, YES_YOUNG, NO, ABSENT }
/* src: lock/member.h enum member_presence */
mtype:presence = { UNKNOWN, HAS, NEVER_HAD, GONE }

/* The servers: the token, the last question it was executed for. A young one
 * has lost its data; it is old again when all that was asked before has
 * lapsed. */
byte token[SERVERS];
byte lease[SERVERS];
bool young[SERVERS];
byte before1[SERVERS], before2[SERVERS];

/* The clients: the number of the try makes the token. */
mtype:state state[3] = AWAY;
bool job[3];
byte tries[3];
byte asked[3];
byte proven[3];
byte lapsed[3];

/* What each client has out at each server, and what it knows of it. `behind`
 * is on the same connection: a renewal, or a release of the same token. */
#define LINKS 6
mtype:kind out[LINKS] = NOTHING;
byte out_token[LINKS];
byte question[LINKS];
mtype:kind behind[LINKS] = NOTHING;
byte behind_token[LINKS];
byte behind_question[LINKS];
mtype:vote vote[LINKS] = NONE;
mtype:presence presence[LINKS] = UNKNOWN;
bool was_away[LINKS];
#ifdef IDENTITY_KEPT
bool seen_old[LINKS];
#endif
bool agreed[3]; /* to the last renewal, by a majority */

/* A command of an abandoned connection that may yet be executed. */
mtype:kind late = NOTHING;
byte late_token, late_question, late_server;

byte restarts = RESTARTS;
byte faults = FAULTS;
byte i, n, m; /* scratch, 0 between two steps */
bool yes;

bool one_majority = true;
bool no_lease_from_the_past = true;
#define must(property, truth) property = (truth); assert(property)

#define link(c, s) ((c - 1) * SERVERS + (s))
#ifdef TOKEN_AGAIN
#define current(c) (c)
#define owner(t) (t)
#else
#define current(c) ((c - 1) * TRIES + tries[c])
#define owner(t) ((t - 1) / TRIES + 1)
#endif
#define is_current(t) (t == current(owner(t)))
#define had(l) (presence[l] == HAS || presence[l] == GONE)
#define lacks(l) (presence[l] == NEVER_HAD || presence[l] == GONE)
#define owes(l) (out[l] != NOTHING)
#define owes_grant(l) (out[l] == GRANT || out[l] == PLANT)
#define votes(c, v) ((vote[link(c, 0)] == v) + (vote[link(c, 1)] == v) + \
	(vote[link(c, 2)] == v))
#define believes(c) (lapsed[c] < proven[c])

/* ---- servers ---- */

/* src: lock/script/acquire.lua grant_at_once
 * src: lock/script/renew.lua
 * src: lock/script/release.lua free */
inline execute(s, what, t, q)
{
	printf("server %d: %e of token %d, question %d\n", s, what, t, q);
	yes = (token[s] == t);
	if
	:: (what == GRANT || what == PLANT) && token[s] == 0 ->
		yes = true;
		token[s] = t;
		lease[s] = q
	:: (what == GRANT || what == PLANT || what == RENEW) && yes ->
		lease[s] = (lease[s] < q -> q : lease[s])
#ifdef NO_COMPARE
	:: what == RELEASE ->
#else
	:: what == RELEASE && yes ->
#endif
		token[s] = 0;
		lease[s] = 0
	:: else
	fi
}

/* world: nothing is out any more */
inline forget(l)
{
	out[l] = NOTHING;
	out_token[l] = 0;
	question[l] = 0;
	behind[l] = NOTHING;
	behind_token[l] = 0;
	behind_question[l] = 0
}

/* world: the next command on the connection */
inline move_up(l)
{
	out[l] = behind[l];
	out_token[l] = behind_token[l];
	question[l] = behind_question[l];
	behind[l] = NOTHING;
	behind_token[l] = 0;
	behind_question[l] = 0
}

/* The reply to the current question never comes.
 * src: lock/member.c notice_gap */
inline lose_link(l)
{
	forget(l);
	vote[l] = (vote[l] == OUT || vote[l] == YES_YOUNG -> ABSENT : vote[l]);
	was_away[l] = had(l)
}

/* src: lock/member.c note_presence */
inline note_presence(l)
{
	if
	:: yes ->
		presence[l] = HAS;
		was_away[l] = false
	:: else ->
		presence[l] = (had(l) -> GONE : NEVER_HAD);
		was_away[l] = was_away[l] && presence[l] == GONE
	fi
}

/* src: lock/member.c does_count */
#ifdef YOUNG_VOTES
#define does_count(l, s) true
#else
#ifdef IDENTITY_KEPT
#define does_count(l, s) (!young[s] || seen_old[l])
#else
#define does_count(l, s) !young[s]
#endif
#endif

/* src: lock/member.c vote_by_value */
inline vote_by_value(l, s)
{
	if
	:: yes && (out[l] == RENEW || does_count(l, s)) -> vote[l] = YES
	:: yes && !(out[l] == RENEW || does_count(l, s)) ->
		vote[l] = YES_YOUNG
	:: !yes && out[l] == RENEW && !had(l) -> vote[l] = ABSENT
	:: else -> vote[l] = NO
	fi
#ifdef IDENTITY_KEPT
	;
	seen_old[l] = seen_old[l] || !young[s]
#endif
}

/* A server executes what has arrived, and replies. The client reads the reply
 * at any later time: until then it does not act by it.
 * src: lock/member.c on_ballot */
inline server_executes(c, s, l)
{
	d_step {
		out[l] != NOTHING ->
		execute(s, out[l], out_token[l], question[l]);
		if
		:: out_token[l] == current(c) && out[l] != RELEASE &&
		    (state[c] == ASKING || state[c] == HELD ||
		    state[c] == RENEWING) ->
			note_presence(l)
		:: else
		fi;
		if
		:: vote[l] == OUT && behind[l] != RENEW &&
		    (out[l] == GRANT || out[l] == RENEW) ->
			vote_by_value(l, s)
		:: else
		fi;
		yes = false;
		move_up(l)
	}
}

/* world: nobody reads the replies */
inline leave_member(l)
{
	vote[l] = NONE;
	presence[l] = UNKNOWN;
	was_away[l] = false
}

/* world: or its reply is lost, and perhaps it comes later */
inline link_breaks(c, s)
{
	atomic {
		faults > 0 && (out[link(c, s)] != NOTHING ||
		    had(link(c, s))) ->
		printf("fault: %d loses its connection to %d\n", c, s);
		faults--;
		if
		:: out[link(c, s)] != NOTHING && late == NOTHING ->
			late = out[link(c, s)];
			late_token = out_token[link(c, s)];
			late_question = question[link(c, s)];
			late_server = s
		:: true
		fi;
		lose_link(link(c, s))
	}
}

/* A restart ends the connection.
 * src: lock/member.c member_doubt_grant
 * src: lock/quorum.c on_vote */
inline lose_vote(c, l)
{
#ifndef STALE_VOTES
	vote[l] = (vote[l] == YES && state[c] == ASKING -> ABSENT : vote[l])
#else
	skip
#endif
}

/* world: a server comes back without data */
inline server_restarts(s)
{
	d_step {
		restarts > 0 ->
		printf("fault: server %d restarts\n", s);
		restarts--;
		token[s] = 0;
		lease[s] = 0;
		young[s] = true;
		before1[s] = asked[1];
		before2[s] = asked[2];
		lose_link(link(1, s));
		lose_link(link(2, s));
		lose_vote(1, link(1, s));
		lose_vote(2, link(2, s));
		if
		:: late_server == s && late != NOTHING ->
			late = NOTHING;
			late_token = 0;
			late_question = 0;
			late_server = 0
		:: else
		fi
	}
}

/* By its uptime when the reply is read.
 * src: lock/member.c does_count */
inline grow_old(l)
{
	vote[l] = (vote[l] == YES_YOUNG -> YES : vote[l])
}

/* world: the clock */
inline server_ages(s)
{
	d_step {
#ifdef UPTIME_SHORT
		young[s] ->
#else
		young[s] && lapsed[1] >= before1[s] &&
		    lapsed[2] >= before2[s] ->
#endif
		printf("clock: server %d is old\n", s);
		young[s] = false;
		before1[s] = 0;
		before2[s] = 0;
		grow_old(link(1, s));
		grow_old(link(2, s))
	}
}

/* world: the clock; or the release of a withdrawn token is executed
 * src: lock/script/release.lua free */
inline token_expires(s)
{
	d_step {
		token[s] != 0 && (!is_current(token[s]) ||
		    state[owner(token[s])] == AWAY ||
#ifdef LOST_FREES
		    state[owner(token[s])] == LOST ||
#endif
		    lapsed[owner(token[s])] >= lease[s]) ->
		printf("server %d: token %d expires\n", s, token[s]);
		token[s] = 0;
		lease[s] = 0
	}
}

/* ---- clients ---- */

/* src: lock/member.c ask_for_vote
 * src: lock/member.c send_ballot */
inline ask_member(c, l, what)
{
	if
	:: what == GRANT ->
		presence[l] = UNKNOWN;
		was_away[l] = false
	:: else
	fi;
	if
	:: owes(l) && what == GRANT -> vote[l] = ABSENT
#ifdef LATE_VOTE_COUNTS
	:: what == RENEW && vote[l] == YES
#endif
	/* A third one: this token was never tried here, so it is no vote. */
	:: behind[l] == RELEASE && what == RENEW -> vote[l] = ABSENT
	:: (owes_grant(l) || out[l] == RELEASE) && what == RENEW &&
	    behind[l] != RELEASE ->
		vote[l] = OUT;
		behind[l] = RENEW;
		behind_token[l] = current(c);
		behind_question[l] = asked[c]
	:: else ->
		vote[l] = OUT;
		forget(l);
		out[l] = what;
		out_token[l] = current(c);
		question[l] = asked[c]
	fi
}

/* src: lock/quorum.c ask_members */
inline ask_members(c, what)
{
	asked[c]++;
	printf("client %d: %e, question %d, token %d\n", c, what, asked[c],
	    current(c));
	ask_member(c, link(c, 0), what);
	ask_member(c, link(c, 1), what);
	ask_member(c, link(c, 2), what)
}

/* src: lock/lock.c lock_post_release
 * src: lock/release.c send_release */
inline release_member(c, l)
{
	vote[l] = NONE;
	presence[l] = UNKNOWN;
	was_away[l] = false;
#ifdef RELEASES
	if
	:: owes(l) && out[l] != RELEASE ->
		behind[l] = RELEASE;
		behind_token[l] = out_token[l];
		behind_question[l] = 0
	:: owes(l) && out[l] == RELEASE
	:: else ->
		out[l] = RELEASE;
		out_token[l] = current(c)
	fi
#endif
}

/* src: lock/acquire.c withdraw_grants
 * src: lock/claim.c claim_change_token
 * src: lock/release.c begin_release */
inline release_members(c)
{
	printf("client %d: releases token %d\n", c, current(c));
	release_member(c, link(c, 0));
	release_member(c, link(c, 1));
	release_member(c, link(c, 2));
	state[c] = AWAY;
	agreed[c] = false;
	proven[c] = 0
}

/* Planting is as soon as the last renewal is decided; here also later.
 * src: lock/lease.c plant_again
 * src: lock/quorum.c quorum_send
 * src: lock/member.c member_send */
inline plant_again(c, l)
{
	d_step {
		state[c] == HELD && lacks(l) && !owes(l) &&
		    (agreed[c] || was_away[l]) ->
		printf("client %d: plants token %d\n", c, current(c));
		out[l] = PLANT;
		out_token[l] = current(c);
		question[l] = asked[c];
		presence[l] = (had(l) -> HAS : UNKNOWN)
	}
}

/* src: lock/quorum.c deliver_votes */
inline forget_votes(c)
{
#ifndef LATE_VOTE_COUNTS
	vote[link(c, 0)] = NONE;
	vote[link(c, 1)] = NONE;
	vote[link(c, 2)] = NONE
#else
	skip
#endif
}

/* src: lock/votes.c decide_grant */
#define is_granted(c) (votes(c, YES) >= MAJORITY)
#define cannot_be_granted(c) (votes(c, YES) + votes(c, OUT) < MAJORITY)
/* src: lock/votes.c decide_renewal */
#ifdef RENEWAL_BY_ANY
#define is_renewed(c) (votes(c, YES) > 0)
#else
#define is_renewed(c) (votes(c, YES) >= MAJORITY)
#endif
#define is_lost(c) (votes(c, NO) >= MAJORITY)
#define is_unknown(c) (!is_renewed(c) && !is_lost(c) && \
	votes(c, YES) + votes(c, OUT) < MAJORITY && \
	votes(c, NO) + votes(c, OUT) < MAJORITY)

/* One renews, the other comes in between. */
#define may_ask(c) (asked[c] < (c == 1 -> QUESTIONS : OTHER_QUESTIONS))

proctype client(byte me; byte other)
{
end:	do
	/* src: lock/acquire.c send_try */
	:: d_step {
		state[me] == AWAY && !job[me] && may_ask(me) &&
		    tries[me] < TRIES ->
		tries[me]++;
		state[me] = ASKING;
		ask_members(me, GRANT)
	}
	/* src: lock/acquire.c on_granted
	 * src: lock/lease.c lease_begin
	 * src: job/supervisor.c start_job */
	:: d_step {
		state[me] == ASKING && is_granted(me) &&
#ifdef LEASE_FROM_REPLY
		    true ->
		lapsed[me] = (lapsed[me] < asked[me] -> lapsed[me] :
		    asked[me] - 1);
#else
#ifdef GRANT_TOO_LATE
		    true ->
#else
		    lapsed[me] < asked[me] ->
#endif
#endif
		printf("client %d: is granted the lock\n", me);
		proven[me] = asked[me];
		must(no_lease_from_the_past, believes(me));
		state[me] = HELD;
		job[me] = true;
		forget_votes(me);
		must(one_majority, !job[other])
	}
	/* Too late, or a majority is out of reach.
	 * src: lock/acquire.c on_tried */
	:: d_step {
		state[me] == ASKING && (cannot_be_granted(me) ||
		    lapsed[me] >= asked[me]) ->
		release_members(me)
	}
	/* Votes are not awaited for longer; -w, a signal.
	 * src: lock/quorum.c on_time
	 * src: lock/release.c release_at_once */
	:: d_step { state[me] == ASKING -> release_members(me) }

	/* src: lock/lease.c lease_renew */
	:: d_step {
		state[me] == HELD && job[me] && may_ask(me) ->
		state[me] = RENEWING;
		ask_members(me, RENEW)
	}
	/* src: lock/lease.c on_renewed
	 * src: lock/lease.c prove */
	:: d_step {
		state[me] == RENEWING && is_renewed(me) ->
		printf("client %d: has renewed\n", me);
		proven[me] = asked[me];
		must(no_lease_from_the_past, !job[me] || believes(me));
		agreed[me] = true;
		forget_votes(me);
		state[me] = HELD
	}
	/* The job has a second yet.
	 * src: lock/lease.c lose_lock */
	:: d_step {
		state[me] == RENEWING && is_lost(me) ->
		printf("client %d: has lost the lock\n", me);
		forget_votes(me);
		state[me] = LOST
	}
	:: d_step {
		state[me] == RENEWING && is_unknown(me) ->
		printf("client %d: does not know\n", me);
		agreed[me] = false;
		forget_votes(me);
		state[me] = HELD
	}
	/* src: lock/member.c member_time_out */
	:: d_step {
		state[me] == RENEWING ->
		printf("client %d: has waited for votes long enough\n", me);
		agreed[me] = false;
		forget_votes(me);
		state[me] = HELD
	}
	/* src: lock/release.c release_start */
	:: d_step {
		(state[me] == HELD || state[me] == RENEWING) && !job[me] ->
		release_members(me)
	}
	/* src: lock/release.c release_lost */
	:: d_step {
		state[me] == LOST && !job[me] ->
		release_members(me)
	}

	/* world: the job ends, or its guard ends it */
	:: d_step { job[me] ->
		printf("job %d: ends\n", me);
		job[me] = false
	}
	/* world: the clock */
	:: d_step {
		lapsed[me] < asked[me] &&
		    !(job[me] && lapsed[me] + 1 >= proven[me]) ->
		lapsed[me]++;
		printf("clock: question %d of %d lapses\n", lapsed[me], me)
	}
	/* world: kill -9 */
	:: d_step {
		faults > 0 && state[me] != AWAY ->
		printf("fault: client %d dies\n", me);
		faults--;
		job[me] = false;
		/* What is out is executed all the same. */
		leave_member(link(me, 0));
		leave_member(link(me, 1));
		leave_member(link(me, 2));
		state[me] = AWAY;
		agreed[me] = false;
		proven[me] = 0
	}
	:: plant_again(me, link(me, 0))
	:: plant_again(me, link(me, 1))
	:: plant_again(me, link(me, 2))
	:: server_executes(me, 0, link(me, 0))
	:: server_executes(me, 1, link(me, 1))
	:: server_executes(me, 2, link(me, 2))
	:: link_breaks(me, 0)
	:: link_breaks(me, 1)
	:: link_breaks(me, 2)
	od
}

active proctype world()
{
	atomic {
		run client(1, 2);
		run client(2, 1)
	}
end:	do
	/* They are alike: the last ones restart. */
	:: server_restarts(2)
#if RESTARTS > 1
	:: server_restarts(1)
#endif
	:: server_ages(0)
	:: server_ages(1)
	:: server_ages(2)
	:: token_expires(0)
	:: token_expires(1)
	:: token_expires(2)
	/* world: what an abandoned connection still delivers */
	:: d_step {
		late != NOTHING ->
		printf("late: ");
		execute(late_server, late, late_token, late_question);
		yes = false;
		late = NOTHING;
		late_token = 0;
		late_question = 0;
		late_server = 0
	}
	od
}
