/* The queue and its clock: when waiters come, and for how long dead ones hold
 * up the living. `lock.pml` plays the same scripts without a clock, and what may
 * happen to commands on their way. README.md says what is left out.
 *
 * All have entered before, at any phase of their heartbeats. A step takes no
 * time: the clock ticks when every living waiter has done what is due. Tickets
 * are the waiters' numbers, so the queue is a set. FAULTS and DEATHS say how
 * many there may be. */

#ifndef WAITERS
#define WAITERS 4
#endif
#define NOBODY WAITERS
#define OTHERS (WAITERS + 1) /* a holder that never waited */

/* In ticks of 0.4 s, the second rounded up: whoever comes every 0.8 s comes once
 * before its second is over, and three heartbeats are longer than that. */
#ifndef NEXT
#define NEXT 2 /* src: lock/queue.c heartbeat_ms */
#endif
#define FAR 12
#ifndef NEXT_POSITIONS
#define NEXT_POSITIONS 3
#endif
#define COME_AGAIN 3 /* positions that come when a time is over */
#define SECOND 3
#define RETRY 2
#define LEASE 14 /* longer than any heartbeat: all are told its end */
#define beat(position) (position < NEXT_POSITIONS -> NEXT : FAR)

/*   WAITS --> RUNS --> LEFT; each of them --> DEAD */
mtype:state = { WAITS, RUNS, LEFT, DEAD }
mtype:state pc[WAITERS] = WAITS;
byte due[WAITERS]; /* ticks until the next try */

/* The server: who holds K and the ticks left of its lease; who is in the queue,
 * for how many ticks it counts as alive, and its doorbell. */
byte owner = OTHERS;
bool renewed = true;
byte lease = LEASE;
bool queued[WAITERS];
byte life[WAITERS];
bool bell[WAITERS];

/* What the properties know: who was last told a position behind those that come
 * again; who has lost a try, and its place; for how many ticks K may still be free
 * while a living waiter stands in the queue, and why. */
bool far[WAITERS];
bool missed[WAITERS];
bool hurt[WAITERS];
byte patience;
bool because_of_dead;

byte faults = FAULTS;
byte deaths = DEATHS;

/* Scratch, empty between two steps. */
byte x, head, position, left;
bool to_ring;

bool no_notification_is_lost = true;
bool no_dead_holds_up = true;
bool nothing_after_three_heartbeats = true;
bool first_come_first_served = true;
bool own_lock_is_known = true;
bool nothing_left_of_a_leaver = true;
#define must(property, truth) property = (truth); assert(property)

#define is_free (owner == NOBODY)
#define waits(i) (pc[i] == WAITS)
#define stands(i) (queued[i] && waits(i))
#define comes(i) (pc[i] == WAITS && (due[i] == 0 || bell[i]))
#if WAITERS == 4
#define any(what) (what(0) || what(1) || what(2) || what(3))
#else
#define any(what) (what(0) || what(1) || what(2) || what(3) || what(4))
#endif
#define too_long (is_free && any(stands) && patience == 0)
#define each(i) for (i : 0 .. WAITERS - 1)

/* world: something has happened. If K is free, it may be so from now on: for
 * what is `added`, a second for each dead in front of the first living waiter, a
 * heartbeat if all who come again have died or gone since that one was last told
 * its position, and a try if it has lost one. */
inline promise(added)
{
	left = 0;
	each(x) {
		if
		:: is_free && stands(x) ->
			left = left + added + (far[x] -> FAR : 0) +
			    (missed[x] -> RETRY : 0);
			because_of_dead = because_of_dead || far[x];
			patience = (patience > left -> patience : left);
			break
		:: is_free && queued[x] && pc[x] == DEAD ->
			left = left + (life[x] > 0 -> SECOND : 0);
			because_of_dead = true
		:: else
		fi
	}
	x = 0;
	left = 0
}

/* world: K is taken, or free from now on */
inline no_promise()
{
	patience = 0;
	because_of_dead = false
}

/* world: a fault costs one try more */
inline fault(added)
{
	faults--;
	promise(added)
}

/* world: what nobody asks for any more is forgotten */
inline forget(i)
{
	due[i] = 0;
	bell[i] = false;
	far[i] = false;
	missed[i] = false;
	hurt[i] = false
}

/* ---- the server's scripts ---- */

/* Afterwards `head` is that of the queue. Whoever calls is alive.
 * src: lock/script/shared/queue.lua remove_dead */
inline remove_dead(me)
{
	head = NOBODY;
	each(x) {
		if
#ifndef NO_REMOVAL
		:: queued[x] && life[x] == 0 && x != me ->
			printf("server: removes %d\n", x);
			must(first_come_first_served, !stands(x) || hurt[x]);
			queued[x] = false
#endif
		:: else
		fi;
		head = (queued[x] && head == NOBODY -> x : head)
	}
	x = 0
}

/* src: lock/script/shared/queue.lua time_to_come */
inline time_to_come(i)
{
#ifdef RING_ANYWAY
	to_ring = true;
#else
	to_ring = life[i] > SECOND;
#endif
	left = (to_ring -> SECOND : life[i])
}

/* A ring only ever shortens.
 * src: lock/script/shared/queue.lua ring */
inline give_second(i)
{
	must(nothing_after_three_heartbeats, pc[i] == WAITS || life[i] >= SECOND);
#ifndef RING_GIVES_NO_SECOND
	life[i] = SECOND
#else
	skip
#endif
}

/* It arrives; or whoever was to send it has died; or a BLPOP that a former
 * connection has left behind eats it.
 * src: lock/script/shared/queue.lua ring
 * src: lock/contact.c contact_ring */
inline ring(i)
{
	if
	:: d_step {
		true ->
		printf("server: rings %d\n", i);
		give_second(i);
		bell[i] = (pc[i] == WAITS)
	}
	:: d_step {
		faults > 0 ->
		printf("fault: nobody rings %d\n", i);
		fault(NEXT)
	}
	:: d_step {
		faults > 0 && pc[i] == WAITS ->
		printf("fault: the ring of %d is lost\n", i);
		give_second(i);
		hurt[i] = hurt[i] || far[i];
		fault(NEXT)
	}
	fi
}

/* The answer says how long to wait: for the end of the lease, or of the head's
 * second. Who rings the head comes again then, and so do the first three.
 * src: lock/script/shared/acquire_queue.lua enter
 * src: lock/script/shared/acquire_queue.lua busy
 * src: lock/queue.c queue_wait_ms */
inline answer_busy(i)
{
	must(own_lock_is_known, owner != i);
	to_ring = false;
	left = lease;
	if
	:: is_free -> time_to_come(head)
	:: else
	fi;
	position = 0;
	for (x : 0 .. i) {
		position = position + (x != i && queued[x])
	}
	x = 0;
	due[i] = beat(position);
#ifndef COME_NOT_AGAIN
	due[i] = ((position < COME_AGAIN || to_ring) && left < due[i] ->
	    left : due[i]);
#endif
	bell[i] = false;
	missed[i] = false;
	hurt[i] = false;
	far[i] = position >= COME_AGAIN;
	life[i] = 3 * beat(position);
	/* One that was removed comes back to its place, and the second of the head
	 * that it found there has begun. */
	if
	:: !queued[i] && is_free ->
		queued[i] = true;
		promise((to_ring -> SECOND : life[head]))
	:: else -> queued[i] = true
	fi;
	printf("server: %d stays, position %d, comes in %d ticks\n", i, position,
	    due[i])
}

#ifdef TURN_FIRST
#define known_as_ours(i) false
#else
#define known_as_ours(i) (owner == i)
#endif
#ifdef HEAD_IS_FORGOTTEN
#define in_turn(i) true
#else
#define in_turn(i) (head == NOBODY || head == i)
#endif

/* Removes the dead unless K is ours; granted if it is, or may be. to_ring says
 * whether the waiter is to ring the head.
 * src: lock/script/acquire.lua find_own
 * src: lock/script/acquire.lua is_in_turn
 * src: lock/script/acquire.lua grant */
inline acquire(i)
{
	if
	:: !known_as_ours(i) -> remove_dead(i)
	:: else
	fi;
	if
	:: known_as_ours(i) || (in_turn(i) && (is_free || owner == i)) ->
		printf("server: grants to %d\n", i);
		for (x : 0 .. i) {
			must(first_come_first_served, x == i || owner == i ||
			    !stands(x) || hurt[x])
		}
		x = 0;
		to_ring = false;
		owner = i;
		lease = LEASE;
		renewed = true;
		queued[i] = false;
		life[i] = 0;
		no_promise()
	:: else -> answer_busy(i)
	fi
}

/* A waiter that gives up calls it, too.
 * src: lock/script/release.lua is_news */
inline release(i)
{
	printf("server: release of %d\n", i);
#ifdef CANCEL_SILENT
	to_ring = owner == i;
#else
	to_ring = true;
#endif
	if
	:: owner == i -> owner = NOBODY; lease = 0; renewed = false; no_promise()
	:: else
	fi;
	if
	:: i < WAITERS ->
		pc[i] = LEFT;
#ifndef RELEASE_KEEPS_PLACE
		queued[i] = false;
		life[i] = 0;
#endif
		forget(i)
	:: else
	fi;
	remove_dead(i);
	promise(0);
	to_ring = to_ring && is_free && head != NOBODY;
	if
	:: to_ring -> time_to_come(head)
	:: else
	fi
}

/* world: scratch */
inline clear()
{
	head = 0;
	position = 0;
	left = 0;
	to_ring = false
}

/* src: lock/contact.c contact_ring */
inline ring_if_told()
{
	if
	:: to_ring -> ring(head)
	:: !to_ring
	fi;
	clear()
}

/* src: lock/acquire.c acquire_abandon */
inline try_again(i)
{
	due[i] = RETRY;
	missed[i] = true;
	bell[i] = false;
	fault(RETRY);
	clear()
}

/* ---- the parties ---- */

proctype waiter(byte me)
{
end:	do
	/* src: lock/acquire.c bell_note_ring
	 * src: lock/acquire.c acquire_note_busy */
	:: atomic {
		d_step {
			comes(me) ->
			acquire(me);
			if
			:: owner == me -> pc[me] = RUNS; forget(me)
			:: else
			fi
		};
		ring_if_told()
	}
	/* src: lock/acquire.c acquire_note_silence */
	:: d_step {
		comes(me) && faults > 0 ->
		printf("fault: a try of %d is lost\n", me);
		hurt[me] = hurt[me] || life[me] <= RETRY;
		try_again(me)
	}
	:: d_step {
		comes(me) && faults > 0 ->
		printf("fault: the answer to %d is lost\n", me);
		acquire(me);
		renewed = renewed && owner != me;
		try_again(me)
	}
	/* src: lock/release.c release_begin */
	:: atomic { d_step { pc[me] == RUNS -> release(me) }; ring_if_told() }
	/* src: lock/release.c release_withdraw */
	:: atomic {
		d_step {
			pc[me] == WAITS ->
			printf("waiter %d gives up\n", me);
			release(me);
			must(nothing_left_of_a_leaver,
			    !queued[me] && owner != me)
		};
		ring_if_told()
	}
	/* world: kill -9 */
	:: d_step {
		(pc[me] == WAITS || pc[me] == RUNS) && deaths > 0 ->
		printf("waiter %d dies\n", me);
		deaths--;
		renewed = renewed && owner != me;
		pc[me] = DEAD;
		forget(me);
		promise(NEXT)
	}
	od
}

proctype others()
{
end:	do
	/* src: lock/release.c release_begin */
	:: atomic {
		d_step { owner == OTHERS && renewed -> release(OTHERS) };
		ring_if_told()
	}
	/* world: kill -9 */
	:: d_step { owner == OTHERS && renewed -> renewed = false }
	/* world: the clock */
	:: d_step {
		!any(comes) && any(waits) ->
		printf("clock: ticks\n");
		must(no_notification_is_lost, !too_long || because_of_dead);
		must(no_dead_holds_up, !too_long);
		patience = (patience > 0 -> patience - 1 : 0);
		each(x) {
			life[x] = (life[x] > 0 -> life[x] - 1 : 0);
			due[x] = (due[x] > 0 -> due[x] - 1 : 0)
		}
		x = 0;
		if
		:: !is_free && !renewed ->
			lease--;
			if
			:: lease == 0 ->
				printf("clock: the lease has ended\n");
				owner = NOBODY;
				promise(0)
			:: else
			fi
		:: else
		fi
	}
	od
}

/* world: any phase of the heartbeats */
init
{
	atomic {
		each(x) {
			due[x] = 1;
			do
			:: due[x] < beat(x) -> due[x]++
			:: break
			od;
			queued[x] = true;
			life[x] = due[x] + 2 * beat(x);
			far[x] = x >= COME_AGAIN;
			run waiter(x)
		}
		x = 0;
		run others()
	}
}
