/* The lock protocol between three clients and one server. README.md says what
 * is left out and how time is abstracted, `run` which macros make which run.
 * `queue.pml` plays the queue against its clock.
 *
 * Every step is one that some party can take now: a client is paused by not
 * being scheduled, while its guard, the network, the server and the clock go
 * on. FAULTS is how many there may be, -1 any number; LIVE is for runs that
 * look for cycles: there a lease ends early, or a waiter counts as dead, only
 * by a fault. */

/*
 *      .--------------- a grant's lease is over, the answer lost
 *      v                          |
 *    ASK ---------------------> GRANTED ----------> RUN <-> RENEW
 *     |^ ring, heartbeat,         |                  | job over
 *     v| reconnect                v                  v
 *    WAIT -------------------> LEAVE <---------------'
 *                               | |^ whom to ring
 *                               v v|
 *                             GONE RING
 *
 * ASK, RENEW, LEAVE and RING have their command on the way. GONE is also what
 * hasn't come yet, and what kill -9 makes of any of them; who has left no
 * trace may come again, with a new token. */
mtype:state = { GONE, ASK, GRANTED, EXPIRE, WAIT, RUN, RENEW, LEAVE, RING, FRONT, OUT }

/* What an abandoned connection still has to deliver; POP is the BLPOP that it
 * still has at the server. RENEW_OVER is a renewal whose lock was released
 * meanwhile. */
mtype:stray = { NOTHING, ACQUIRE_L, RENEW_L, RENEW_OVER, RELEASE_L, POP }

/* A queued waiter's alive-until: ahead; in a second at most, since it was rung;
 * the same though nobody has rung; past; past though nobody has rung. OFF is
 * not queued. */
mtype:life = { OFF, ALIVE, RUNG, UNRUNG, DEAD, ROBBED }

/* The server: whose tokens are in K (readers: more than one), the queue (its
 * head in q[1], 0 is nobody), and doorbells, lists of at most one element. */
bool hold[4];
bool old[4]; /* K has a former token, under which a try was not answered */
byte q[4];
mtype:life mark[4] = OFF;
bool bell[4];
#ifdef SETNX_EXPIRE
bool endless[4]; /* no TTL yet */
#endif

/* The network, beside what the clients' states tell: at most one straggler. */
mtype:stray late = NOTHING;
byte late_of;

/* The clients. The job belongs to the guard, which ends it in time whatever
 * becomes of the client. */
mtype:state pc[4] = GONE;
bool job[4];
byte whom[4]; /* to be rung by a command of i's own, as bits */

/* A late Acquire of i ran while it was leaving. */
bool strayed[4];

/* K was taken away from under i's job. */
bool gap[4];

#ifdef REPLACE
/* The order to stop: whose token it names, and whether that has gone. */
byte order;
bool outdated;
byte named; /* who still has the token that it names */
bool only_its_own_order_is_obeyed = true;
#endif
#ifdef NEWEST
/* The latest of the waiters, and who has a ticket already. */
byte newest;
bool ticket[4];
/* What is true, whatever the key says: the last to come, and the others. */
byte last;
bool overtaken[4];
bool the_newest_stays = true;
bool no_job_of_the_overtaken = true;
#endif
#ifdef PAUSER
bool pause_goes_first = true;
bool in_front; /* it has been, and is in the queue */
#define pauser(i) (i == PAUSER)
#else
#define pauser(i) false
#endif

/* Scratch, empty between two steps. */
byte x;
byte had; /* K's owners, as bits */
byte named_to_ring; /* by a script's answer, as bits */
mtype:state unread = GONE;

short faults = FAULTS;
#define fault_left (faults != 0)
#define count_fault faults = (faults > 0 -> faults - 1 : faults)
#define count_unless_gone(i) \
	faults = (faults > 0 && pc[i] != GONE -> faults - 1 : faults)

/* The properties, by the names that `run` shows. */
bool one_at_a_time = true;
bool no_renewal_after_release = true;
bool nothing_left_of_a_leaver = true;
bool the_living_keep_their_place = true;
bool no_lock_for_the_dead = true;
bool no_lease_over_a_gap = true;
#define must(property, truth) property = (truth); assert(property)

#define bit(i) (1 << (i - 1))
#define to_ring(i) (mark[i] == ALIVE -> bit(i) : 0)
#define waiting(i) (pc[i] == ASK || pc[i] == WAIT || pc[i] == FRONT)
#define late_from(i, what) (late == what && late_of == i)
#define traceless(i) (late_of != i && !hold[i] && !old[i] && mark[i] == OFF)
#ifdef ONCE /* for short trails */
bool came[4];
#define may_come(i) !came[i]
#else
#ifdef TOKEN_AGAIN
#define may_come(i) true
#else
#define may_come(i) traceless(i)
#endif
#endif
#ifdef JOBS_MAY_LAST
#define must_end(i) (pc[i] == GONE)
#else
#define must_end(i) true
#endif
#ifdef SETNX_EXPIRE
#define lease_can_end(i) (!job[i] && !endless[i])
#else
#ifdef NO_GUARD
#define lease_can_end(i) true
#else
#define lease_can_end(i) !job[i]
#endif
#endif
#ifndef WHO
#define WHO 1
#endif

#ifdef FIRST_READER
#define reader(i) (i >= FIRST_READER)
#else
#define reader(i) false
#endif

/* A writer has room where nobody is, a reader where no writer is. */
#define anyone(what) (what[1] || what[2] || what[3])
#define writer(what, i) (what[i] && !reader(i))
#define writers(what) (writer(what, 1) || writer(what, 2) || writer(what, 3))
#define room(i, what) (!anyone(what) || (reader(i) && !writers(what)))
#define held_room(i) (room(i, hold) && room(i, old))

/* It is i's turn when none but readers, which it may join, stand before it. */
#define nobody_or(i, place) (q[place] == 0 || q[place] == i)
#define turn(i) (nobody_or(i, 1) || (reader(i) && reader(q[1]) && \
	(nobody_or(i, 2) || (reader(q[2]) && \
	(nobody_or(i, 3) || reader(q[3]))))))

/* ---- the server's scripts ---- */

/* src: lock/script/release.lua */
inline leave_queue(i)
{
	if
	:: q[1] == i -> q[1] = q[2]; q[2] = q[3]; q[3] = 0
	:: q[2] == i -> q[2] = q[3]; q[3] = 0
	:: q[3] == i -> q[3] = 0
	:: else
	fi;
	mark[i] = OFF;
#ifdef PAUSER
	in_front = in_front && i != PAUSER
#endif
}

/* src: lock/script/shared/acquire_queue.lua enter */
inline enter_queue(i)
{
	if
	:: mark[i] != OFF
	:: mark[i] == OFF && q[1] == 0 -> q[1] = i
	:: mark[i] == OFF && q[1] && q[2] == 0 -> q[2] = i
	:: mark[i] == OFF && q[2] -> q[3] = i
	fi;
#ifdef RUNG_FOR_GOOD
	mark[i] = (mark[i] == RUNG -> RUNG : ALIVE)
#else
	mark[i] = ALIVE
#endif
}

/* world: a token gets the key; no order names it yet */
inline begin_ownership(i)
{
#ifdef REPLACE
	named = (named == i -> 0 : named)
#else
	skip
#endif
}

/* world: a token has left the key; orders that name it are void */
inline end_ownership(i)
{
#ifdef REPLACE
	outdated = outdated || order == i;
#endif
	hold[i] = false;
	old[i] = false
}

#ifdef REPLACE
/* The head alone orders, with its try.
 * src: lock/script/shared/acquire_queue.lua enter */
inline give_order(i)
{
	if
	:: q[1] == i && anyone(hold) ->
		order = (hold[1] -> 1 : (hold[2] -> 2 : 3));
		outdated = false;
		named = order;
		printf("server: %d orders %d to stop\n", i, order)
	:: else
	fi
}
#endif

#ifdef NEWEST
/* world: one comes for the first time, and overtakes all without the lock */
inline note_arrival(i)
{
	if
	:: !ticket[i] && !hold[i] && !old[i] ->
		last = i;
		overtaken[1] = overtaken[1] ||
		    (ticket[1] && !hold[1] && !old[1]);
		overtaken[2] = overtaken[2] ||
		    (ticket[2] && !hold[2] && !old[2]);
		overtaken[3] = overtaken[3] ||
		    (ticket[3] && !hold[3] && !old[3])
	:: else
	fi
}

/* Sets unread to OUT if a later one has overtaken i.
 * src: lock/script/shared/acquire_policy.lua find_newest */
inline find_newest(i)
{
	if
	:: hold[i] || old[i] -> ticket[i] = true
	:: else ->
		if
		:: ticket[i] && newest != 0 && newest != i -> unread = OUT
#ifndef NEWEST_SILENT
		:: !ticket[i] && newest != 0 && newest != i &&
		    mark[newest] != OFF ->
#ifndef NEWEST_NOT_NAMED
			named_to_ring = to_ring(newest);
			newest = i
#else
			skip
#endif
		:: (!ticket[i] && (newest == 0 || newest == i ||
		    mark[newest] == OFF)) || (ticket[i] && newest == 0) ->
			newest = i
#else
		:: !ticket[i] || newest == 0 -> newest = i
#endif
		:: ticket[i] && newest == i
		fi;
		ticket[i] = true
	fi
}
#endif

#ifdef PAUSER
/* src: lock/script/shared/acquire_policy.lua next_ticket */
inline front(i)
{
	printf("server: %d goes to the front\n", i);
	leave_queue(i);
	in_front = true;
#ifdef FRONT_AT_TAIL
	enter_queue(i)
#else
	q[3] = q[2];
	q[2] = q[1];
	q[1] = i;
	mark[i] = ALIVE
#endif
}
#endif

/* world: whoever calls is alive */
inline call(i)
{
	mark[i] = (mark[i] == OFF || mark[i] == RUNG -> mark[i] : ALIVE)
}

/* src: lock/script/shared/queue.lua remove_dead */
inline remove_if_dead(i)
{
	if
#ifndef NO_PURGE
	:: mark[i] == DEAD || mark[i] == ROBBED ->
		printf("server: %d is dead and leaves the queue\n", i);
		must(the_living_keep_their_place, mark[i] != ROBBED);
		leave_queue(i)
#endif
	:: else
	fi
}

/* src: lock/script/shared/queue.lua remove_dead */
inline remove_dead()
{
	remove_if_dead(1);
	remove_if_dead(2);
	remove_if_dead(3)
}

/* A reader's grant names the waiting readers that can go with it.
 * src: lock/script/acquire.lua follow_counted */
inline name_followers(i)
{
#ifndef RING_ONE
	if
	:: reader(i) && q[1] && reader(q[1]) ->
		named_to_ring = named_to_ring | to_ring(q[1]);
		if
		:: q[2] && reader(q[2]) ->
			named_to_ring = named_to_ring | to_ring(q[2])
		:: else
		fi
	:: else
	fi
#else
	skip
#endif
}

/* Whoever has room but not the turn rings the head.
 * src: lock/script/shared/acquire_queue.lua busy */
inline name_head(i)
{
	if
	:: held_room(i) && q[1] && q[1] != i ->
		named_to_ring = named_to_ring | to_ring(q[1])
	:: else
	fi
}

/* named_to_ring is part of the answer.
 * src: lock/script/acquire.lua find_own
 * src: lock/script/acquire.lua is_in_turn
 * src: lock/script/acquire.lua grant */
inline acquire(i, becomes)
{
#ifdef NEWEST
	note_arrival(i);
	find_newest(i);
#endif
	becomes = GRANTED;
	if
#ifdef NEWEST
#ifndef NEWEST_BY_TURN
	:: unread == OUT ->
		printf("server: %d is overtaken\n", i);
		must(the_newest_stays, last != i);
		becomes = LEAVE
#endif
#endif
	:: hold[i] || old[i] -> hold[i] = true; old[i] = false
	:: else ->
		/* Its own mark first, or it would purge itself. */
		call(i);
		remove_dead();
		if
		:: held_room(i) && turn(i) ->
#ifdef PAUSER
			must(pause_goes_first, i == PAUSER || !in_front ||
			    mark[PAUSER] != ALIVE);
#endif
			begin_ownership(i);
			hold[i] = true;
#ifdef SETNX_EXPIRE
			endless[i] = true;
#endif
			leave_queue(i);
			name_followers(i)
		:: else ->
			name_head(i);
			enter_queue(i);
#ifdef REPLACE
			give_order(i);
#endif
			becomes = (pauser(i) && q[1] != i -> FRONT : WAIT)
		fi
	fi;
#ifdef NEWEST
	unread = GONE;
#endif
#ifdef SETNX_EXPIRE
	becomes = (becomes == GRANTED -> EXPIRE : becomes);
#endif
	printf("server: acquire of %d: %e\n", i, becomes)
}

/* The client has gone on to another token.
 * src: lock/script/acquire.lua find_own
 * src: lock/claim.c claim_supersede_token */
inline acquire_late(i)
{
#ifdef SAME_TOKEN
	acquire(i, unread);
	unread = GONE
#else
	if
	:: pc[i] == GONE ->
		acquire(i, unread);
		unread = GONE
	:: pc[i] != GONE && (hold[i] || old[i])
	:: else ->
#ifdef NEWEST
		note_arrival(i);
		find_newest(i);
#endif
		call(i);
		remove_dead();
		if
#ifdef NEWEST
		:: unread == OUT -> unread = GONE
#endif
		:: unread != OUT && held_room(i) && turn(i) ->
			printf("server: a former token of %d gets K\n", i);
			begin_ownership(i);
			old[i] = true;
			leave_queue(i)
		:: else -> enter_queue(i)
		fi
	fi
#endif
}

/* src: lock/script/renew.lua */
inline renew(i)
{
#ifdef REPLANT
	hold[i] = hold[i] || !anyone(hold);
#endif
	printf("server: renewal of %d: %d\n", i, hold[i]);
	must(no_lease_over_a_gap, !hold[i] || !gap[i])
}

/* src: lock/script/shared/queue.lua ring */
inline ring(i)
{
	printf("server: rings %d\n", i);
	mark[i] = RUNG; /* a second ahead: gone or paused is dead soon */
	bell[i] = waiting(i) /* nobody else will look */
}

#define given_to_dead(i, bit) (hold[i] && !(had & bit) && pc[i] == GONE)

/* Cancel is the same script. It rings the head if that can go now, be it that
 * this run has freed K, or an earlier one whose answer was lost, or that it only
 * was in the way. `right`: the doorbell among its KEYS is the head's.
 * src: lock/script/release.lua is_news */
inline release(i, becomes, right)
{
	printf("server: release of %d\n", i);
#ifdef CANCEL_SILENT
	x = hold[i];
#endif
	end_ownership(i);
#ifdef NO_COMPARE
	hold[1] = false;
	hold[2] = false;
	hold[3] = false;
#endif
	had = hold[1] + 2 * hold[2] + 4 * hold[3];
#ifndef RELEASE_KEEPS_PLACE
	leave_queue(i);
#endif
#ifndef TOKEN_AGAIN
	late = (late_from(i, RENEW_L) -> RENEW_OVER : late);
#endif
	becomes = GONE;
#ifdef CANCEL_SILENT
	if
	:: x -> x = 0; ring_who_can_go(i, becomes, right)
	:: else
	fi
#else
#ifdef RING_IF_FREE
	if
	:: !anyone(hold) && !anyone(old) -> ring_who_can_go(i, becomes, right)
	:: else
	fi
#else
	ring_who_can_go(i, becomes, right)
#endif
#endif
	;
	must(no_lock_for_the_dead, !given_to_dead(1, 1) &&
	    !given_to_dead(2, 2) && !given_to_dead(3, 4));
	had = 0
}

#ifdef HAND_OVER
/* world: what no script does */
inline ring_who_can_go(i, becomes, right)
{
	remove_dead();
	if
	:: q[1] && held_room(q[1]) ->
		x = q[1];
		printf("server: hands over to %d\n", x);
		hold[x] = true;
		leave_queue(x);
		bell[x] = waiting(x);
		x = 0
	:: else
	fi
}
#else
/* src: lock/script/release.lua is_news */
inline ring_who_can_go(i, becomes, right)
{
	remove_dead();
	if
	:: q[1] && held_room(q[1]) && mark[q[1]] == ALIVE && right -> ring(q[1])
	:: q[1] && held_room(q[1]) && mark[q[1]] == ALIVE && !right ->
		printf("server: tells %d to ring %d\n", i, q[1]);
		named_to_ring = bit(q[1]);
#ifdef SECOND_BEFORE_RING
		mark[q[1]] = UNRUNG;
#endif
		becomes = RING
	:: else
	fi
}
#endif

/* Whoever has left the queue is not rung, and nobody twice.
 * src: lock/script/ring.lua */
inline ring_named(i, other)
{
	if
	:: (whom[i] & bit(other)) && mark[other] == ALIVE -> ring(other)
#ifdef SECOND_BEFORE_RING
	:: (whom[i] & bit(other)) && mark[other] == UNRUNG -> ring(other)
#endif
	:: else
	fi
}

/* ---- clients, network, clock ---- */

/* src: run/run.c run_step_acquire */
inline start_job(i)
{
	printf("client %d: the job starts\n", i);
#ifndef TAKEN
	must(one_at_a_time, room(i, job));
#endif
#ifdef NEWEST
	must(no_job_of_the_overtaken, !overtaken[i]);
#endif
	job[i] = true;
	gap[i] = false;
	bell[i] = false;
	pc[i] = RUN
}

/* src: lock/script/ring.lua */
inline ring_whom(i)
{
	ring_named(i, 1);
	ring_named(i, 2);
	ring_named(i, 3);
	whom[i] = 0
}

/* The answer has arrived.
 * src: lock/contact.c contact_ring */
inline note_whom(i)
{
	whom[i] = named_to_ring;
	named_to_ring = 0
}

/* world: or it reaches nobody */
inline ignore_answer()
{
	unread = GONE;
	named_to_ring = 0
}

/* What becomes of i once its release was executed.
 * src: lock/release.c release_note_answer */
inline released(i, becomes)
{
	pc[i] = becomes;
	becomes = GONE;
	note_whom(i);
	must(nothing_left_of_a_leaver, strayed[i] ||
	    (!hold[i] && mark[i] == OFF));
	if
	:: pc[i] == GONE -> strayed[i] = false; bell[i] = false
	:: else
	fi
}

/* The connection is given up, with what was on its way.
 * src: lock/contact.c contact_drop */
inline abandon(i)
{
	late_of = i;
	if
	:: pc[i] == ASK -> late = ACQUIRE_L
	:: pc[i] == WAIT -> late = POP
	:: pc[i] == RENEW -> late = RENEW_L
	:: pc[i] == LEAVE -> late = RELEASE_L
	:: else -> late = NOTHING; late_of = 0
	fi
}

/* world: it has arrived */
inline delivered(i)
{
	late = NOTHING;
	late_of = 0
}

active [3] proctype party()
{
	byte me = _pid + 1;

end:	do
	/* Commands arrive. Whether a release named the right doorbells is
	 * left open, so that nothing need be remembered.
	 * src: lock/acquire.c acquire_note_busy */
	:: d_step {
		pc[me] == ASK ->
		acquire(me, pc[me]);
		note_whom(me);
		ring_whom(me)
	}
	/* world: the ringer is paused, or cut off */
	:: d_step {
		pc[me] == ASK && fault_left ->
		count_fault;
		acquire(me, pc[me]);
		ignore_answer()
	}
	/* src: lock/lease.c lease_note_ours
	 * src: lock/lease.c lease_note_loss */
	:: d_step {
		pc[me] == RENEW ->
		renew(me);
		if
		:: hold[me] -> pc[me] = RUN
		:: else -> job[me] = false; pc[me] = LEAVE
		fi
	}
	/* src: lock/release.c release_send */
	:: d_step {
		pc[me] == LEAVE ->
		release(me, unread, true);
		released(me, unread)
	}
	:: d_step {
		pc[me] == LEAVE ->
		release(me, unread, false);
		released(me, unread)
	}
	/* src: lock/contact.c contact_ring */
	:: d_step { pc[me] == RING -> ring_whom(me); pc[me] = GONE }

	/* world: or they arrive late, and the answer reaches nobody */
	:: d_step {
		late_from(me, ACQUIRE_L) ->
		printf("late: ");
		delivered(me);
		strayed[me] = (pc[me] == LEAVE || pc[me] == RING);
		acquire_late(me);
		ignore_answer()
	}
	:: d_step {
		late_from(me, RENEW_L) || late_from(me, RENEW_OVER) ->
		printf("late: ");
		renew(me);
		must(no_renewal_after_release, !hold[me] || late == RENEW_L);
		delivered(me)
	}
	:: d_step {
		late_from(me, RELEASE_L) ->
		printf("late: ");
		delivered(me);
		release(me, unread, true);
		ignore_answer()
	}
	:: d_step {
		late_from(me, RELEASE_L) ->
		printf("late: ");
		delivered(me);
		release(me, unread, false);
		ignore_answer()
	}
	:: d_step {
		late_from(me, POP) && bell[me] ->
		printf("late: a BLPOP eats the bell of %d\n", me);
		delivered(me);
		bell[me] = false
	}

	/* Clients come.
	 * src: lock/acquire.c acquire_begin */
	:: d_step {
		pc[me] == GONE && !job[me] && may_come(me) ->
		printf("client %d: comes\n", me);
#ifdef ONCE
		came[me] = true;
#endif
#ifdef NEWEST
		ticket[me] = false;
		overtaken[me] = false;
#endif
		pc[me] = (pauser(me) -> FRONT : ASK)
	}
#ifdef LIVE
	/* world: or come no more */
	:: d_step { pc[me] == GONE && !job[me] && traceless(me) -> pc[me] = OUT }
#endif
#ifdef SETNX_EXPIRE
	/* world: what no client does */
	:: d_step {
		pc[me] == EXPIRE ->
		endless[me] = false;
		pc[me] = GRANTED
	}
#endif
#ifdef PAUSER
	/* src: admin/target.c target_ask */
	:: d_step { pc[me] == FRONT -> front(me); pc[me] = ASK }
#endif
#ifdef REPLACE
	/* src: lock/lease.c lease_note_order
	 * src: run/watch.c watch_limits */
	:: d_step {
#ifdef ORDER_BY_NAME
		pc[me] == RUN && job[me] && order == me ->
#else
		pc[me] == RUN && job[me] && order == me && !outdated ->
#endif
		printf("client %d: obeys the order to stop\n", me);
		must(only_its_own_order_is_obeyed, named == me);
		job[me] = false
	}
#endif
	:: d_step { pc[me] == GRANTED -> start_job(me) }
	/* src: lock/acquire.c bell_note_ring */
	:: d_step {
		pc[me] == WAIT && bell[me] ->
		printf("client %d: hears its bell\n", me);
		bell[me] = false;
#ifdef TRUST_BELL
		start_job(me)
#else
		pc[me] = ASK
#endif
	}
#ifndef NO_TIMERS
	/* src: lock/queue.c queue_wait_ms */
	:: d_step {
		pc[me] == WAIT ->
		printf("client %d: its heartbeat is due\n", me);
		pc[me] = ASK
	}
#endif

	/* The job ends, or its guard ends it: at the deadline, which a paused
	 * client doesn't hinder, or because the client has died. A release
	 * waits for the renewal that is out.
	 * src: job/supervisor.c kill_job
	 * src: lock/release.c release_await */
	:: d_step {
		job[me] && must_end(me) ->
		printf("job %d: ends\n", me);
		job[me] = false
	}
#ifndef LIVE
	/* src: lock/lease.c lease_send_renewal
	 * src: lock/lease.c lease_send_beside */
	:: d_step { pc[me] == RUN && job[me] -> pc[me] = RENEW }
#endif
	/* src: lock/release.c release_begin */
	:: d_step { pc[me] == RUN && !job[me] -> pc[me] = LEAVE }

	/* world: the clock. The server's lease never ends before the job is dead, as
	 * the client counts from before it asked, and checks once more right
	 * before exec. An alive-until passes when its owner is dead, paused or
	 * cut off, or wasn't rung. */
	:: d_step {
		hold[me] && lease_can_end(me) &&
		    (pc[me] == GONE || fault_left) ->
		printf("server: the lease of %d ends\n", me);
		count_unless_gone(me);
		end_ownership(me);
		pc[me] = (pc[me] == GRANTED -> ASK : pc[me])
	}
	/* world: what nobody believes in, nobody renews */
	:: d_step {
		old[me] ->
		printf("server: the lease of a former token of %d ends\n", me);
		old[me] = false
	}
#ifdef TAKEN
	:: d_step {
		hold[me] && job[me] && fault_left ->
		printf("somebody takes K away from %d\n", me);
		count_fault;
		hold[me] = false;
		gap[me] = true
	}
#endif
	:: d_step {
		(mark[me] == ALIVE || mark[me] == RUNG) &&
		    (pc[me] == GONE || fault_left) ->
		printf("server: %d counts as dead\n", me);
		count_unless_gone(me);
		mark[me] = DEAD
	}
	:: d_step {
		mark[me] == UNRUNG ->
		printf("server: %d counts as dead, and nobody rang\n", me);
		mark[me] = (waiting(me) -> ROBBED : DEAD)
	}

	/* world: kill -9; or a release that takes too long is given up. */
	:: atomic {
		pc[me] != GONE && pc[me] != OUT && fault_left ->
		printf("client %d: dies\n", me);
		count_fault;
		if
		:: abandon(me)
		:: true
		fi;
		pc[me] = GONE;
		whom[me] = 0;
		bell[me] = false;
		strayed[me] = false
	}

	/* The connection breaks, or no answer comes in time: all is sent anew
	 * on the next one, and what was sent before comes later or never.
	 * src: lock/acquire.c acquire_note_silence
	 * src: lock/acquire.c acquire_abandon */
	:: atomic {
		fault_left && (pc[me] == ASK || pc[me] == WAIT || pc[me] == RENEW ||
		    pc[me] == LEAVE || pc[me] == RING || pc[me] == GRANTED ||
		    pc[me] == FRONT) ->
		printf("client %d: is cut off, connects anew\n", me);
		count_fault;
		if
		:: abandon(me)
		:: true
		fi;
		if
		:: waiting(me) || pc[me] == GRANTED -> pc[me] = ASK
		:: pc[me] == RENEW -> pc[me] = RUN
		:: pc[me] == LEAVE
		:: pc[me] == RING -> pc[me] = GONE
		fi;
		whom[me] = 0
	}
	/* src: lock/release.c release_note_silence */
	:: d_step {
		pc[me] == LEAVE && fault_left ->
		count_fault;
		release(me, unread, true);
		ignore_answer();
		printf("client %d: no answer, releases again\n", me)
	}
	od
}

/* Told to go away: through a fresh connection while blocked, else behind the
 * answer that is still out.
 * src: lock/release.c release_withdraw
 * src: lock/release.c leave_blocked */
inline give_up(i)
{
	d_step {
		pc[i] == WAIT || pc[i] == GRANTED ->
		printf("client %d: gives up\n", i);
		pc[i] = LEAVE
	}
}

#ifdef CANCEL_ASIDE
/* world: what no release does */
inline give_up_aside(i)
{
	d_step {
		pc[i] == ASK && late == NOTHING ->
		printf("client %d: gives up, its acquire is out\n", i);
		abandon(i);
		pc[i] = LEAVE
	}
}
#endif

/* Apart from the clients, so that fairness obliges nobody to give up. */
active proctype whims()
{
end:	do
	:: give_up(1)
	:: give_up(2)
	:: give_up(3)
#ifdef CANCEL_ASIDE
	:: give_up_aside(1)
	:: give_up_aside(2)
	:: give_up_aside(3)
#endif
	/* world: keys end; an order not before its holder has looked */
#ifdef REPLACE
	:: d_step { order != 0 && (outdated || pc[order] != RUN) ->
		order = 0;
		outdated = false;
		named = 0
	}
#endif
#ifdef NEWEST
	:: d_step { newest != 0 && traceless(newest) && pc[newest] == GONE ->
		newest = 0;
		last = 0;
		overtaken[1] = false;
		overtaken[2] = false;
		overtaken[3] = false
	}
#endif
#if defined(JOBS_MAY_LAST) && !defined(SERVED)
	:: d_step { job[1] -> job[1] = false }
	:: d_step { job[2] -> job[2] = false }
	:: d_step { job[3] -> job[3] = false }
#endif
#ifdef LIVE
	/* Always true (pan wants no plain `true`): fairness is satisfied, and
	 * a standstill of all others is a run that can be judged. */
	:: q[0] == 0
#endif
	od
}

#ifdef LIVE
#define could_go(i) (waiting(i) && mark[i] != OFF && turn(i) && held_room(i))
#ifdef OVERTAKEN
#define overtaken_waits(i) (waiting(i) && ticket[i] && mark[i] != OFF && \
	newest != 0 && newest != i && !hold[i])
ltl overtaken { [] (overtaken_waits(WHO) -> <> !overtaken_waits(WHO)) }
#else
#if defined(JOBS_MAY_LAST) && !defined(SERVED)
ltl taken { [] (could_go(WHO) -> <> !could_go(WHO)) }
#else
ltl served { [] (waiting(WHO) -> <> !waiting(WHO)) }
#endif
#endif
#endif
