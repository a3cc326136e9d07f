# What suites about terminals share: scenarios that are played twice in each shell,
# bash, dash and zsh in a pty of their own, with the bare command and with rlockrun
# before it. Screen, exit codes and what the job wrote down have to be the same.
#
# A scenario is a function. It finds a shell of kind SHELL_NAME at its prompt; in
# it `./run COMMAND` runs the command, in MODE `locked` under rlockrun with the
# options EXTRA, in MODE `bare` without; t/top has the pid that the shell knows.
# All that it leaves in the folder t is compared, but for pids.
# shellcheck shell=bash disable=SC2016 # the typed-in shells are to expand that

begin_terminal_test() {
	begin_test
	EXTRA=()
	# Every day one shell, and what sanitizers look for doesn't depend on it.
	SHELLS=(bash)
	[[ " ${BATS_TEST_TAGS[*]} " != *" night "* || $RLOCKRUN == */asan/* ]] || SHELLS=(bash dash zsh)
	ulimit -c 0
	write_jobs
}

end_terminal_test() {
	[[ ${BATS_TEST_COMPLETED:-} ]] || print_session >&2
	end_test
}

print_session() {
	echo "in ${SHELL_NAME:-no shell}, ${MODE:-}, the screen:"
	cat -v screen
	echo
	processes_left | while read -r pid _; do
		ps -o pid=,ppid=,pgid=,stat=,args= -p "$pid"
	done
}

# Each writes its pid to t/job when it can be signalled. None forks while it is
# to be stopped: a dash that waits for a vfork's exec can't be.
write_jobs() {
	mkfifo go never
	job sleeper 'echo $$ >t/job; exec sleep 60'
	job worker 'echo $$ >t/job; read -r _ <go; exit 5'
	job counter "exec '$HELPERS/count-signals' t 7"
	job reader 'echo $$ >t/job; read -r line; echo "$line" >t/line; exit 3'
	job feeder 'echo >t/feeder; exec yes'
	job taker 'echo >t/taker; exec cat'
	job raw "exec '$HELPERS/raw-keys' t/keys"
}

# job NAME SCRIPT: ./NAME.
job() {
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# Tells the job to go on behind `read <go`.
go() { timeout "$WAIT_SECONDS" sh -c 'echo >go'; }

# Nothing to hold without rlockrun.
held() { [[ $MODE == bare ]] || is_held; }

both_stopped() { is_stopped "$(<t/job)" && is_stopped "$(<t/top)"; }
both_running() { is_running "$(<t/job)" && is_running "$(<t/top)"; }
both_gone() { gone "$(<t/job)" && gone "$(<t/top)"; }

got() { grep -qx "$1" t/got; }

# Whatever rlockrun had to forward before has arrived, too: of what is pending it
# forwards the lowest number first, and reads all before it forwards any.
all_has_come() {
	local before
	before=$(grep -cx USR1 t/got) || :
	kill -USR1 "$(<t/top)"
	wait_until more_have_come "$before"
}

more_have_come() { (($(grep -cx USR1 t/got) > $1)); }

# in_each_shell SCENARIO
in_each_shell() {
	for SHELL_NAME in "${SHELLS[@]}"; do
		session bare "$1"
		mv t bare
		show_screen >bare.screen
		session locked "$1"
		is_free
		show_screen >locked.screen
		diff -ur -x job -x top -x ready bare t
		[[ ${SCREENS:-} == differ ]] || diff -u bare.screen locked.screen
		rm -rf bare t
	done
}

# locked_in_each_shell SCENARIO: where there is nothing to compare it with.
locked_in_each_shell() {
	for SHELL_NAME in "${SHELLS[@]}"; do
		session locked "$1"
		rm -rf t
	done
}

# session MODE SCENARIO
session() {
	MODE=$1
	open_shell
	"$2"
	if [[ -p keys ]]; then
		say exit
		wait_until gone "$TERMINAL"
	fi
}

# A shell on a terminal, ready to be typed at.
open_shell() {
	local lock=("$RLOCKRUN" -k "$KEY" "${EXTRA[@]}" --) plain=()
	[[ $SHELL_NAME != bash ]] || plain=(--norc)
	[[ $SHELL_NAME != zsh ]] || plain=(-f)
	[[ $MODE == locked ]] || lock=()
	job run "echo \$\$ >t/top; exec ${lock[*]@Q} \"\$@\""
	mkdir t
	: >screen
	rm -f keys
	SEEN=0
	start env --default-signal "$HELPERS/on-pty" screen @keys -- env -u MAIL -u ENV \
		TERM=dumb RLOCKRUN_PROGRESS=always PS1='@@ ' HISTFILE=/dev/null LESS= LESSHISTFILE=- \
		"$SHELL_NAME" "${plain[@]}" -i
	TERMINAL=$PID
	prompt
}

# Opened for reading, too, nobody waits for a terminal that has gone.
order() { printf '%s\n' "$*" 1<>keys; }
press() { order type "$1"; }
say() { press "$1\n"; }

hang_up() {
	order hangup
	rm keys
}

# shows REGEX: waits until it is on the screen, behind all that was waited for
# before. (Bash's own means: a process for each look would be slow.)
shows() {
	local end=$((SECONDS + WAIT_SECONDS)) text new before
	while :; do
		IFS= read -rd '' text <screen || :
		new=${text:SEEN}
		[[ ! $new =~ $1 ]] || break
		if ((SECONDS >= end)); then
			echo "not shown: $1" >&2
			return 1
		fi
		read -rt 0.02 _ <>never || :
	done
	before=${new%%"${BASH_REMATCH[0]}"*}
	SEEN=$((SEEN + ${#before} + ${#BASH_REMATCH[0]}))
}

prompt() { shows '@@ '; }

# code N: that was the last command's.
code() {
	say 'echo code=$?'
	shows 'code=([0-9]+)'
	[[ ${BASH_REMATCH[1]} == "$1" ]] || {
		echo "code ${BASH_REMATCH[1]}, not $1" >&2
		return 1
	}
	prompt
}

# Without pids and what zsh draws.
show_screen() {
	sed -E 's/\r//g; s/\x1b\[[?0-9;]*[a-zA-Z]//g; s/^[#%] +@@/@@/
		s/^(\[[0-9]\] *[-+]?) *[0-9]{2,}/\1 PID/' screen
}

both_gone_counted() { gone "$(<t/ready)" && gone "$(<t/top)"; }

stop() {
	say './run ./worker'
	wait_for_file t/job
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	held
}
