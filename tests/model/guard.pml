/* rlockrun, its guard, and a job of a command and two more processes, which
 * fork, end and leave orphans as they like. README.md says what is left out,
 * `run` which macros make which run.
 *
 * A step is what one party can do now. The clock ticks only when nobody who can
 * act has something to do at once: being late needs a fault. `src:` before a
 * step names the function that it stands for; `world:` is the kernel, the job,
 * the clock or a fault.
 *
 *   kill_at = valid_until - 2: the guard begins, at the latest
 *   kill_at + 1: rlockrun replaces a guard that has not begun
 *   valid_until: all are dead */
#define NEVER 15
#define TTL 3
#define AHEAD 2
#ifdef IMPATIENT
#define UNKILLABLE 0
#else
#define UNKILLABLE 3
#endif
#define LAST 7 /* the clock stops there */

/* Parents, and the processes: the command, two more, and the hook runner. */
#define INIT 0
#define C 1
#define D 2
#define E 3
#define R 4
#define GUARD 5
#define SELF 6

/* A process. BORN, ARMED: after vfork(2), before and after PR_SET_PDEATHSIG. A
 * DYING one was sent KILL. */
mtype:process = { NONE, BORN, ARMED, ALIVE, DYING, ZOMBIE }
mtype:process state[5] = NONE;
byte parent[5] = INIT;
byte stuck; /* in the kernel, for as long as it likes */

/* rlockrun and its guard as processes. */
mtype:party = { UP, STOPPED, TRACED, DEAD, REAPED }
mtype:party self = UP;
mtype:party guard = UP;

/* src: job/supervisor.h enum job_state */
mtype:job = { FAILED, LATE, GONE, KILLED, CLEARED, UNGUARDED, KILLING, RUNNING,
	PENDING }

/* The clock, the page that both share, and the lease that is proven. */
byte now;
byte page = NEVER;
byte valid_until = TTL;

/* The socket: orders down, facts up. Each report replaces those before it. */
bool order_start, order_check;
bool sock = true;     /* rlockrun's end is open */
bool report;
bool no_room; /* of reports: rlockrun has to read first */
mtype:job sent = PENDING;
bool sent_ended;

/* src: job/supervisor.c struct supervisor */
mtype:job job = PENDING;
bool ended;      /* the command was reaped */
bool unreported;
bool leaving;
bool woken;
byte armed = NEVER;

/* src: job/guard.h struct guard */
mtype:job known = PENDING;
bool known_ended;

/* src: run/run.h struct limits */
mtype:watch = { GRANTED, WATCHING, STOPPING, OVER, RELEASED, ABANDONED, DONE }
mtype:watch watch = GRANTED;
byte stop_by = NEVER;
byte since;

/* A second fault where only one party was left. */
bool excused;

#define must(property, truth) property = (truth); assert(property)
bool dead_by_the_lease = true;
bool dead_by_the_deadline = true;
bool no_release_under_the_job = true;
bool no_start_after_the_lease = true;
bool command_dies_with_the_guard = true;
bool job_dies_with_rlockrun = true;
bool what_is_left_lives_on = true;
bool runner_is_spared = true;
bool abandoned_for_a_reason = true;

/* ---- what is true of processes ---- */

#define is_job(x) (x >= C && x <= E)
#define above(p) parent[parent[p]]
#define top(p) (!is_job(parent[p]) -> parent[p] : \
	(!is_job(above(p)) -> above(p) : parent[above(p)]))
#define alive(p) (state[p] != NONE && state[p] != ZOMBIE)
#define any_alive (alive(C) || alive(D) || alive(E))
#define child_of(p, x) (state[p] != NONE && parent[p] == x)
#define childless(x) (!child_of(C, x) && !child_of(D, x) && \
	!child_of(E, x) && !child_of(R, x))
#define self_lives (self == UP || self == STOPPED)
#define guard_lives (guard == UP || guard == STOPPED || guard == TRACED)
#define in_vfork (state[C] == BORN || state[C] == ARMED)
#define self_acts (self == UP)
#define guard_acts (guard == UP && !in_vfork)

#ifdef RLOCKRUN_NO_SUBREAPER
#define heir_of_guard INIT
#else
#define heir_of_guard (self_lives -> SELF : INIT)
#endif
#ifdef GUARD_NO_SUBREAPER
#define heir(p) (top(p) == GUARD -> heir_of_guard : top(p))
#else
#define heir(p) top(p)
#endif

#define gone(s) (s == FAILED || s == LATE || s == GONE || s == KILLED || \
	s == CLEARED)

/* ---- the kernel ---- */

/* world: init reaps at once */
inline adopt(p, by)
{
	parent[p] = by;
	if
	:: by == INIT && state[p] == ZOMBIE -> state[p] = NONE
	:: else
	fi
}

/* world: a process of the job ends, its children are orphans */
inline end_process(p)
{
	printf("job: %d ends\n", p);
	x = heir(p);
	state[p] = ZOMBIE;
	if :: parent[C] == p -> adopt(C, x) :: else fi;
	if :: parent[D] == p -> adopt(D, x) :: else fi;
	if :: parent[E] == p -> adopt(E, x) :: else fi;
	adopt(p, parent[p]);
	x = 0
}

/* world: exit or SIGKILL; the command's PR_SET_PDEATHSIG */
inline end_guard()
{
	printf("guard: ends\n");
	guard = (self_lives -> DEAD : REAPED);
	unreported = false;
	x = heir_of_guard;
	if :: parent[C] == GUARD && state[C] != NONE -> adopt(C, x);
#ifndef NO_DEATH_SIGNAL
		state[C] = (state[C] == ARMED || state[C] == ALIVE ->
			DYING : state[C])
#endif
	:: else fi;
	if :: parent[D] == GUARD && state[D] != NONE -> adopt(D, x) :: else fi;
	if :: parent[E] == GUARD && state[E] != NONE -> adopt(E, x) :: else fi;
	x = 0
}

/* world: exit or SIGKILL; the guard's PR_SET_PDEATHSIG is SIGCONT */
inline end_self(how)
{
	printf("rlockrun: ends\n");
	watch = how;
	self = DEAD;
	sock = false;
	/* Nobody looks at these again. */
	report = false;
	sent_ended = false;
	known_ended = false;
	sent = PENDING;
	known = PENDING;
	no_room = false;
	stop_by = NEVER;
	since = NEVER;
#ifndef NO_CONTINUE_AT_DEATH
	guard = (guard == STOPPED -> UP : guard);
#endif
	guard = (guard == DEAD -> REAPED : guard);
	if :: parent[C] == SELF -> adopt(C, INIT) :: else fi;
	if :: parent[D] == SELF -> adopt(D, INIT) :: else fi;
	if :: parent[E] == SELF -> adopt(E, INIT) :: else fi;
	/* world: it outlives rlockrun, and is in nobody's way any more */
	state[R] = NONE;
	parent[R] = INIT
}

/* ---- the guard's process ---- */

/* src: job/supervisor.c exit_with */
inline leave(as)
{
	printf("guard: leaves: %e\n", as);
	job = as;
	unreported = true;
	leaving = true
}

/* src: job/supervisor.c kill_job */
inline kill_job()
{
	printf("guard: begins to kill\n");
	if
	:: job == PENDING -> leave(LATE)
	:: else ->
		if
		:: state[C] == ALIVE && parent[C] == GUARD -> state[C] = DYING
		:: else
		fi;
		job = KILLING;
		unreported = true
	fi
}

/* src: job/supervisor.c start_job */
inline start_job()
{
	printf("guard: is to start the job\n");
	armed = page;
	if
#ifndef LATE_START
	:: now >= page -> leave(LATE)
#endif
	:: else ->
		state[C] = BORN;
		parent[C] = GUARD;
		job = RUNNING;
		woken = true
	fi
}

/* src: job/supervisor.c obey */
inline obey()
{
	printf("guard: reads an order\n");
	if
	:: order_start ->
		order_start = false;
		start_job()
	:: else ->
		order_check = false;
		woken = true
	fi
}

/* src: job/supervisor.c supervise
 * src: job/supervisor.c arm */
inline look_at_page()
{
	printf("guard: looks at the deadline %d\n", page);
	woken = false;
	armed = page;
	if
	:: now >= page -> kill_job()
	:: else
	fi
}

/* src: job/supervisor.c reap
 * src: job/supervisor.c on_command_end */
inline guard_reap(p)
{
	printf("guard: reaps %d\n", p);
	state[p] = NONE;
	parent[p] = INIT;
	if
	:: p == C -> ended = true; unreported = true
	:: else
	fi;
	woken = true
}

/* src: job/supervisor.c report */
inline send_report()
{
	printf("guard: reports %e, %d\n", job, ended);
	unreported = false;
	report = sock;
	sent = job;
	sent_ended = ended
}

/* src: job/descendants.c kill_children */
inline guard_kill(p)
{
	printf("guard: kills %d\n", p);
	state[p] = DYING
}

#define guarding (!leaving && (job == PENDING || job == RUNNING))
#ifdef DEAF_TO_ORDERS
#define any_order order_start
#else
#define any_order (order_start || order_check)
#endif
#define can_obey (guarding && any_order)
#ifdef END_HIDDEN
#define can_see_end false
#else
#define can_see_end (guarding && !any_order && !sock)
#endif
#define can_look (guarding && (woken || armed <= now))
#define can_guard_reap(p) (!leaving && state[p] == ZOMBIE && \
	parent[p] == GUARD && (job == RUNNING || job == KILLING))
#define can_be_gone (guarding && job == RUNNING && childless(GUARD))
#ifdef KILL_COMMAND_ONLY
#define can_guard_kill(p) (false && p)
#else
#define can_guard_kill(p) (!leaving && job == KILLING && \
	parent[p] == GUARD && (state[p] == BORN || state[p] == ALIVE))
#endif
#define signalled(p, x) (!child_of(p, x) || state[p] == DYING || \
	state[p] == ZOMBIE)
#ifdef PROOF_BY_LIST
#define can_prove (!leaving && job == KILLING && \
	signalled(C, GUARD) && signalled(D, GUARD) && signalled(E, GUARD))
#else
#define can_prove (!leaving && job == KILLING && childless(GUARD))
#endif
#define can_report (unreported && !no_room)
#define can_exit (leaving && !unreported)
#define guard_due (guard_acts && (can_obey || can_see_end || can_look || \
	can_guard_reap(C) || can_guard_reap(D) || can_guard_reap(E) || \
	can_be_gone || can_guard_kill(C) || can_guard_kill(D) || \
	can_guard_kill(E) || can_prove || can_report || can_exit))

/* ---- rlockrun ---- */

#ifdef WAIT_ALL
#define wait_all true
#else
#define wait_all false
#endif

#ifdef KILL_AT_LEASE
#define kill_at valid_until
#else
#define kill_at (valid_until - AHEAD)
#endif
#ifdef PAGE_NEVER_SET
#define sets_page false
#else
#define sets_page true
#endif
#define stop_at (stop_by < kill_at -> stop_by : kill_at)

/* src: job/guard.c guard_set_deadline */
inline set_deadline(at)
{
	printf("rlockrun: moves the deadline to %d\n", at);
	order_check = order_check || (at < page && guard_lives);
	page = at
}

/* src: job/guard.c guard_start_job
 * src: run/run.c run_step_acquire */
inline order_job()
{
	printf("rlockrun: orders the job\n");
	page = (sets_page -> kill_at : NEVER);
	watch = WATCHING;
	if
	:: known == UNGUARDED -> watch = OVER
	:: known != UNGUARDED && guard_lives -> order_start = true
	:: else -> known = FAILED
	fi
}

/* src: job/guard.c on_report */
inline take_report()
{
	printf("rlockrun: reads %e, %d\n", sent, sent_ended);
	report = false;
	no_room = false;
	known_ended = sent_ended;
	known = (known == UNGUARDED && !gone(sent) -> UNGUARDED : sent)
}

/* src: job/guard.c on_report */
inline see_guard_end()
{
	printf("rlockrun: reads the end of the guard\n");
	sock = false;
	known = (gone(known) -> known : UNGUARDED)
}

/* src: run/watch.c begin_stop */
inline begin_stop(at)
{
	printf("rlockrun: begins to stop the job by %d\n", at);
	watch = STOPPING;
	since = now;
	stop_by = at
}

/* src: job/descendants.c kill_children */
inline self_kill(p)
{
	printf("rlockrun: kills %d\n", p);
	state[p] = DYING;
	must(runner_is_spared, state[R] != DYING)
}

/* src: job/guard.c guard_on_sigchld */
inline self_reap(p)
{
	printf("rlockrun: reaps %d\n", p);
	state[p] = NONE;
	parent[p] = INIT
}

/* src: job/guard.c guard_kill */
inline kill_guard()
{
	printf("rlockrun: kills the guard\n");
	end_guard();
	known = UNGUARDED
}

/* src: run/run.c run_release */
inline release()
{
	printf("rlockrun: releases\n");
	must(no_release_under_the_job, !alive(C) &&
	    (!any_alive || (since == NEVER && !wait_all)));
	watch = RELEASED
}

/* src: job/guard.c guard_dismiss */
inline dismiss()
{
	printf("rlockrun: dismisses the guard\n");
	if
	:: guard_lives -> end_guard()
	:: else
	fi;
	end_self(DONE);
	/* What is left is nobody's. */
	state[C] = NONE;
	state[D] = NONE;
	state[E] = NONE;
	parent[C] = INIT;
	parent[D] = INIT;
	parent[E] = INIT;
	valid_until = TTL;
	page = NEVER;
	armed = NEVER;
	now = LAST;
	stuck = 0;
	excused = false;
	job = PENDING;
	ended = false;
	leaving = false;
	woken = false;
	order_start = false;
	order_check = false
}

/* src: run/watch.c abandon */
inline abandon()
{
	printf("rlockrun: abandons\n");
#ifndef TRUST_GUARD
	must(abandoned_for_a_reason, stuck || state[R] != NONE || excused ||
	    unreported);
#endif
	end_self(ABANDONED)
}

#define can_take_report (sock && report)
#define can_see_guard_end (sock && !report && !guard_lives)
#define can_self_reap(p) (state[p] == ZOMBIE && parent[p] == SELF)
#define is_over (known_ended && (!wait_all || known == GONE))
/* The loop reads before the watch steps. */
#define up_to_date (!can_take_report && !can_see_guard_end && guard != DEAD)
#define must_finish (up_to_date && watch == WATCHING && \
	((is_over && known != LATE) || known == KILLED || known == LATE || \
	known == FAILED))
#define in_between (up_to_date && watch == WATCHING && !must_finish)
#define can_end_left (up_to_date && watch == WATCHING && known_ended && \
	!gone(known))
#define must_stop_unguarded (in_between && known == UNGUARDED)
#define watches_lease (in_between && known != UNGUARDED)
#define must_stop (watches_lease && now >= kill_at)
#define must_move (sets_page && watches_lease && !must_stop && page != kill_at)

/* src: job/descendants.c note_earlier
 * src: job/descendants.c is_earlier_child */
#ifdef RUNNER_NOT_EARLIER
#define is_earlier(p) false
#else
#define is_earlier(p) (p == R)
#endif
#define unguarded_stop (up_to_date && watch == STOPPING && known == UNGUARDED)
#define can_self_kill(p) (unguarded_stop && parent[p] == SELF && \
	!is_earlier(p) && (state[p] == BORN || state[p] == ARMED || state[p] == ALIVE))
#define no_children (childless(SELF) && guard == REAPED)
#ifdef EARLIER_IGNORED
#define can_clear (unguarded_stop && guard == REAPED && \
	signalled(C, SELF) && signalled(D, SELF) && signalled(E, SELF))
#else
#define can_clear (unguarded_stop && no_children)
#endif
#ifdef KILLING_IS_GONE
#define can_be_over (up_to_date && watch == STOPPING && (gone(known) || known == KILLING))
#else
#ifdef UNGUARDED_IS_GONE
#define can_be_over (up_to_date && watch == STOPPING && (gone(known) || known == UNGUARDED))
#else
#define can_be_over (up_to_date && watch == STOPPING && gone(known))
#endif
#endif
#define stops (up_to_date && watch == STOPPING && !gone(known))
#define must_hasten (sets_page && stops && page != stop_at)
#define must_abandon (stops && !can_clear && !can_self_kill(C) && \
	!can_self_kill(D) && !can_self_kill(E) && !can_self_kill(R) && \
	now >= UNKILLABLE + (stop_at > since -> stop_at : since))
#ifdef TRUST_GUARD
#define must_replace false
#else
#define must_replace (stops && known != UNGUARDED && now >= stop_at + 1 && \
	(known != KILLING || guard == STOPPED || guard == TRACED))
#endif
#define self_due (self_acts && (watch == GRANTED || can_take_report || \
	can_see_guard_end || can_self_reap(C) || can_self_reap(D) || \
	can_self_reap(E) || can_self_reap(R) || guard == DEAD || guard == STOPPED || \
	must_finish || must_stop_unguarded || must_stop || \
	must_move || can_self_kill(C) || can_self_kill(D) || \
	can_self_kill(E) || can_self_kill(R) || can_clear || can_be_over || must_hasten || \
	must_abandon || must_replace || watch == OVER || watch == RELEASED))

#define has_released (watch == RELEASED || watch == DONE)
#define kernel_due (in_vfork || (state[C] == DYING && stuck != C) || \
	(state[D] == DYING && stuck != D) || (state[E] == DYING && stuck != E) || \
	state[R] == DYING)
#define nobody_acts (!self_acts && !guard_acts)

/* world: what holds whenever time passes */
inline check_tick()
{
	printf("clock: %d\n", now);
	must(dead_by_the_lease, !any_alive || has_released || stuck ||
	    now < valid_until || (excused && nobody_acts));
	must(dead_by_the_deadline, !any_alive || has_released || stuck ||
	    now <= page || (guard == TRACED && now < page + AHEAD) ||
	    (excused && nobody_acts));
	must(command_dies_with_the_guard, guard_lives || stuck ||
	    !alive(C));
	must(job_dies_with_rlockrun, self != DEAD || has_released ||
	    !any_alive || stuck || excused)
}

byte x, y; /* scratch, 0 between two steps */

/* world: fork(2) */
inline job_forks(p, q)
{
	d_step {
		state[p] == ALIVE && state[q] == NONE && q != C ->
		printf("job: %d forks %d\n", p, q);
		state[q] = ALIVE;
		parent[q] = p
	}
}

/* world: a process ends by itself, or is reaped by its parent in the job */
inline job_ends(p)
{
	d_step { state[p] == ALIVE -> end_process(p) }
}

active proctype system()
{
	/* A stop begins at since; NEVER: none has begun. */
	since = NEVER;
	parent[C] = INIT;
#ifdef RUNNER_BELOW
	/* rlockrun, as a subreaper or as the first process, inherits it.
	 * src: sink/hooks.c hooks_start
	 * src: sink/hook_runner.c hook_runner_main */
	parent[R] = SELF;
	state[R] = ALIVE;
#endif

end:	do
	/* The guard's steps. */
	:: d_step { guard_acts && can_obey -> obey() }
	:: d_step { guard_acts && can_see_end ->
		/* What is left behind must not be taken for rlockrun's end. */
		must(what_is_left_lives_on, watch != RELEASED || !any_alive);
		kill_job()
	}
	:: d_step { guard_acts && can_look -> look_at_page() }
	:: d_step { guard_acts && can_guard_reap(C) -> guard_reap(C) }
	:: d_step { guard_acts && can_guard_reap(D) -> guard_reap(D) }
	:: d_step { guard_acts && can_guard_reap(E) -> guard_reap(E) }
	:: d_step { guard_acts && can_be_gone -> leave(GONE) }
	:: d_step { guard_acts && can_guard_kill(C) -> guard_kill(C) }
	:: d_step { guard_acts && can_guard_kill(D) -> guard_kill(D) }
	:: d_step { guard_acts && can_guard_kill(E) -> guard_kill(E) }
	:: d_step { guard_acts && can_prove -> leave(KILLED) }
	:: d_step { guard_acts && can_report -> send_report() }
	:: d_step { guard_acts && can_exit -> end_guard() }

	/* The command between vfork(2) and exec.
	 * src: job/supervisor.c start_job */
	:: d_step { state[C] == BORN ->
		printf("job: 1 gets a death signal\n");
		state[C] = ARMED
	 }
	/* src: job/supervisor.c start_job */
	:: d_step {
		state[C] == ARMED ->
#ifndef PARENT_UNCHECKED
		if
		:: parent[C] == GUARD ->
			printf("job: 1 runs\n");
			must(no_start_after_the_lease, now < valid_until);
			state[C] = ALIVE
		:: else -> end_process(C)
		fi
#else
		state[C] = ALIVE
#endif
	}

	/* rlockrun's steps. */
	:: d_step { self_acts && watch == GRANTED -> order_job() }
	:: d_step { self_acts && can_take_report -> take_report() }
	:: d_step { self_acts && can_see_guard_end -> see_guard_end() }
	:: d_step { self_acts && can_self_reap(C) -> self_reap(C) }
	:: d_step { self_acts && can_self_reap(D) -> self_reap(D) }
	:: d_step { self_acts && can_self_reap(E) -> self_reap(E) }
	:: d_step { self_acts && can_self_reap(R) -> self_reap(R) }
	/* src: job/guard.c on_guard_change */
	:: d_step { self_acts && guard == DEAD ->
		printf("rlockrun: reaps the guard\n");
		guard = REAPED
	}
	/* src: job/guard.c on_guard_change */
	:: d_step { self_acts && guard == STOPPED ->
		printf("rlockrun: continues the guard\n");
		guard = UP
	}
	/* src: run/watch.c watch_step_job */
	:: d_step { self_acts && must_finish -> watch = OVER }
	/* It was asked to end, and so are those that the command has left. */
	:: d_step { self_acts && can_end_left -> begin_stop(now) }
	:: d_step { self_acts && can_end_left -> begin_stop(now + 1) }
	:: d_step { self_acts && must_stop_unguarded -> begin_stop(now) }
	/* src: run/watch.c on_lease_ending */
	:: d_step { self_acts && must_stop -> begin_stop(kill_at) }
	/* A lost lock is one that is not renewed any more.
	 * src: run/watch.c watch_lease
	 * src: run/watch.c watch_limits */
	:: d_step { self_acts && watches_lease -> begin_stop(now) }
	:: d_step { self_acts && watches_lease -> begin_stop(now + 1) }
	:: d_step { self_acts && must_move -> set_deadline(kill_at) }
	/* src: lock/lease.c lease_prove */
	:: d_step {
		self_acts && now + TTL > valid_until &&
		    now < valid_until && now < 3 &&
		    (watch == WATCHING || watch == STOPPING) ->
		valid_until = now + TTL
	}
	/* src: job/guard.c guard_kill_job */
	:: d_step { self_acts && can_self_kill(C) -> self_kill(C) }
	:: d_step { self_acts && can_self_kill(D) -> self_kill(D) }
	:: d_step { self_acts && can_self_kill(E) -> self_kill(E) }
	:: d_step { self_acts && can_self_kill(R) -> self_kill(R) }
	/* src: job/guard.c guard_kill_job */
	:: d_step { self_acts && can_clear ->
		printf("rlockrun: has no child left\n");
		known = CLEARED
	 }
	/* src: run/watch.c watch_step_stop */
	:: d_step { self_acts && can_be_over -> watch = OVER }
	:: d_step { self_acts && must_hasten ->
		y = stop_at;
		set_deadline(y);
		y = 0
	}
	/* src: run/watch.c watch_guard */
	:: d_step { self_acts && must_abandon ->
#ifdef ABANDON_RELEASES
		release()
#else
		abandon()
#endif
	}
	:: d_step { self_acts && must_replace && !must_abandon -> kill_guard() }
	:: d_step { self_acts && watch == OVER -> release() }
#ifdef DISMISS_CLOSES_FIRST
	/* world: what no dismissal does */
	:: d_step { self_acts && watch == RELEASED && sock -> sock = false }
	:: d_step { self_acts && watch == RELEASED && !sock -> dismiss() }
#else
	:: d_step { self_acts && watch == RELEASED -> dismiss() }
#endif

	/* world: the kernel and the job */
	:: d_step { state[C] == DYING && stuck != C -> end_process(C) }
	:: d_step { state[D] == DYING && stuck != D -> end_process(D) }
	:: d_step { state[E] == DYING && stuck != E -> end_process(E) }
	:: job_forks(C, D)
#ifdef THREE
	:: job_forks(C, E)
	:: job_forks(D, E)
	:: job_forks(E, D)
#endif
	:: job_ends(C)
	:: job_ends(D)
	:: job_ends(E)
	/* The hook runner ends, of a kill -9 or because its job is done.
	 * src: sink/hook_runner.c end_runner */
	:: d_step { state[R] == ALIVE || state[R] == DYING -> end_process(R) }

	/* world: the clock */
	:: d_step {
		now < LAST && !self_due && !guard_due && !kernel_due ->
		now++;
		check_tick()
	}

	/* world: faults. The second party's are excused while only one is
	 * left; a stopped guard is continued, and is none. */
	:: d_step {
		self_lives && watch != DONE && watch != ABANDONED ->
		excused = excused || !guard_lives || guard == TRACED;
		y = watch;
		printf("fault: ");
		end_self(y);
		watch = (y == RELEASED -> DONE : ABANDONED);
		y = 0
	}
	:: d_step { self == UP ->
		excused = excused || guard != UP;
		printf("fault: rlockrun is stopped\n");
		self = STOPPED
	}
	:: d_step { !self_acts && report && !no_room ->
		printf("fault: the socket is full\n");
		no_room = true
	}
	:: d_step { self == STOPPED ->
		printf("fault: rlockrun is continued\n");
		self = UP
	}
	:: d_step { guard_lives ->
		excused = excused || !self_acts;
		printf("fault: ");
		end_guard()
	}
	:: d_step { guard == UP ->
		excused = excused || !self_acts;
		printf("fault: the guard is stopped\n");
		guard = STOPPED
	}
	:: d_step { guard == STOPPED ->
		printf("fault: the guard is continued\n");
		guard = UP
	}
	:: d_step { guard == UP || guard == STOPPED ->
		excused = excused || !self_acts;
		printf("fault: the guard is traced\n");
		guard = TRACED
	}
	:: d_step { guard == TRACED ->
		printf("fault: the tracer leaves the guard\n");
		guard = UP
	}
#ifdef STUCK
	:: d_step { stuck == 0 && alive(D) -> stuck = D }
	:: d_step { stuck != 0 && state[stuck] == DYING -> end_process(stuck) }
#endif
	od
}
