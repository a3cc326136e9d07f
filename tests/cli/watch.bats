#!/usr/bin/env bats
# --list --watch: what is on the screen, keys and signals, a server that stops, and
# that the terminal is as it was afterwards.
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # a shell on the terminal expands
# these; helpers and run set and use those

load ../helpers/suite
load ../helpers/terminal
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_terminal_test; }
teardown() {
	[[ ${BATS_TEST_COMPLETED:-} || ! -e screen ]] || screen_now >&2 || :
	end_test
}

# --- the terminal -------------------------------------------------------------

# watch [OPTION...]: on a terminal of 24 rows and 80 columns, which `order` talks to.
# Its modes before and after are in the files before and after, its exit status is in
# the file status, and the pid of the view in the file view.
watch() {
	rm -f keys screen before after status view
	: >screen
	start env --default-signal TERM=xterm "$HELPERS/on-pty" screen @keys -- sh -c '
		trap : INT QUIT
		stty -g >before
		sh -c '\''echo $$ >view; exec "$@"'\'' sh "$@"
		echo $? >status.new
		stty -g >after
		mv status.new status' sh "$RLOCKRUN" --list "${@:---watch=100ms}"
	wait_for_file view
	VIEW=$(<view)
	SIZE=()
}

screen_now() {
	"$HELPERS/screen-of" screen "${SIZE[@]}"
}

# on_screen REGEX: of all rows, with a newline behind each.
on_screen() {
	local text
	text=$(screen_now) || return 2
	[[ $text$'\n' =~ $1 ]]
}

# sees REGEX
sees() {
	wait_until on_screen "$1" || {
		echo "not on the screen: $1" >&2
		screen_now >&2
		return 1
	}
}

# resize ROWS COLUMNS: from here on all that is drawn has to fit; what is on the
# screen then is in the file rows.
resize() {
	order resize "$1" "$2"
	wait_until has_size "$1 $2"
	SIZE=("$2" "$1")
	# What was drawn for the former size may still be on its way.
	: >screen
	wait_until has_drawn 2
	: >screen
	wait_until has_drawn 3
	screen_now >rows
	(($(wc -l <rows) <= $1))
}

has_size() { [[ $(stty size -F "/proc/$VIEW/fd/1") == "$1" ]]; }

# has_drawn COUNT: so many frames have begun.
has_drawn() {
	(($(grep -ao $'\e\\[1;1H' screen | wc -l) >= $1))
}

# has_ended STATUS: and the terminal is as before.
has_ended() {
	wait_for_file status
	[[ $(<status) == "$1" ]] || {
		echo "status $(<status), not $1" >&2
		return 1
	}
	diff before after
	# What was written last may still be on its way to the file.
	wait_until has_given_back
	[[ -z $(screen_now) ]]
	[[ $(tail -c 100 screen) == *$'\e[m\e[?7h\e[?25h\e[H\e[J\e[?1049l'* ]]
}

# --- what is shown ------------------------------------------------------------

@test "watch: the rows of --list by name, below a line about all, until q" {
	own_server
	held job:b web-1 3723
	held job:a web-2 5 "$(record web-2 nightly%20sync)"
	start "$RLOCKRUN" -k job:b true
	"$RLOCKRUN" -k over true
	watch
	sees '^2 held, 1 waiting  [0-9:]{8}  unix:'
	sees $'\nNAME +KIND +HOLDER .*\njob:a +exclusive +web-2 +41 .*\njob:b +exclusive +web-1 +41 +[^ ]+ +1h02m +[^ ]+ +1 '
	! on_screen over || false
	cli del job:b >/dev/null
	held job:c web-9 0
	sees $'^2 held.*\njob:a .*\njob:c +exclusive +web-9 '
	press q
	has_ended 0
	# Cleared as a whole at the beginning and at the end, not between frames.
	[[ $(grep -ao $'\e\\[H\e\\[J' screen | wc -l) == 2 ]]
}

# bats test_tags=night
@test "watch: any size of the terminal, down to one column, and more than a page of locks" {
	own_server
	bulk 300
	held wide:日本語の長い名前:日本語 h 9
	watch
	sees '^301 held, 0 waiting, not all shown '
	for size in '3 10' '1 1' '6 40' '320 200'; do
		# shellcheck disable=SC2086 # two numbers
		resize $size
		[[ $size != '6 40' ]] || (($(wc -l <rows) == 6))
	done
	(($(wc -l <rows) == 303))
	[[ $(head -n 1 rows) == '301 held, 0 waiting  '* ]]
	[[ $(sed -n 's/  *exclusive .*//p' rows) == "$(sed -n 's/  *exclusive .*//p' rows | LC_ALL=C sort)" ]]
	press q
	has_ended 0
}

# --- the end, and Ctrl-Z ------------------------------------------------------

@test "watch: a signal ends it like any process, and the terminal is as it was" {
	for signal in INT TERM HUP QUIT; do
		watch
		sees ' held'
		if [[ $signal == INT ]]; then
			press '\x03'
		else
			kill -s "$signal" "$VIEW"
		fi
		has_ended $((128 + $(kill -l $signal)))
	done
}

@test "watch: the terminal is as it was after Ctrl-S and q, and if the view is killed" {
	watch
	sees ' held'
	press '\x13'
	press q
	has_ended 0
	watch
	sees ' held'
	kill -KILL "$(pgrep -P "$VIEW")"
	has_ended 137
}

# Nobody reads the terminal, until the child has to wait for it.
@test "watch: a terminal that takes no more keeps no signal from it" {
	((EUID == 0)) || skip "seeing where a process waits takes privileges"
	own_server
	bulk 100
	TERM=xterm python3 - "$RLOCKRUN" <<-'END'
		import os, pty, sys, time

		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "--list", "--watch=100ms"])
		os.read(terminal, 100)
		task = "/proc/%d/task/%d/children" % (pid, pid)
		while True:
		    child = open(task).read().strip()
		    if child and "tty_write" in open("/proc/%s/stack" % child).read():
		        break
		    time.sleep(0.01)
		os.kill(pid, 15)
		sys.exit(os.waitpid(pid, 0)[1] != 15)
	END
}

@test "watch: Ctrl-Z and bg leave the terminal to the shell, fg brings it back" {
	SHELL_NAME=bash MODE=bare
	held "$KEY" h
	open_shell
	say 'TERM=xterm; stty -g >before'
	prompt
	say "'$RLOCKRUN' --list --watch=100ms"
	shows "$KEY"
	VIEW=$(pgrep -P "$(pgrep -P "$TERMINAL")" -x rlockrun)
	press '\x1a'
	is_put_away
	say bg
	is_put_away
	brought_back
	# The shell also has the terminal when the view is stopped by force.
	kill -STOP "$VIEW"
	shows 'Stopped'
	brought_back
	press q
	wait_until gone "$VIEW"
	is_as_before
	# One that is stopped ends like any job.
	say "'$RLOCKRUN' --list --watch=100ms"
	shows "$KEY"
	VIEW=$(pgrep -P "$(pgrep -P "$TERMINAL")" -x rlockrun)
	press '\x1a'
	is_put_away
	say 'kill %1'
	wait_until gone "$VIEW"
	is_as_before
	say exit
	wait_until gone "$TERMINAL"
}

is_put_away() {
	wait_until is_stopped "$VIEW"
	is_as_before
}

is_as_before() {
	wait_until has_given_back
	rm -f after
	say 'stty -g >after'
	wait_for_file after
	diff before after
}

has_given_back() { [[ $(grep -ao $'\e\\[?1049[hl]' screen | tail -n 1) == *l ]]; }

brought_back() {
	: >screen
	SEEN=0
	say fg
	shows $'\e\\[\\?1049h.*'"$KEY"
}

# The shell's end sends SIGCONT behind SIGHUP. That takes away the SIGSTOP by which the
# leak checker of a view that ends attaches to it, and waits for ever.
@test "watch: it ends with its terminal" {
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
	watch
	sees ' held'
	hang_up
	wait_until gone "$VIEW"
}

# --- the server ---------------------------------------------------------------

@test "watch: without a server it shows since when, and goes on when there is one" {
	own_server
	held job:a web-1 5
	watch --watch=100ms --server-timeout 300ms
	sees 'job:a '
	stop_server "$SUITE_DIR"
	sees $'^not known since [0-9:]{8}  cannot connect to unix:[^\n]*\n$'
	start_server "$SUITE_DIR"
	sees '^0 held'
	held job:new web-1 5
	sees $'^1 held.*\njob:new '
	freeze
	sees '^not known since '
	press q
	has_ended 0
	thaw
}

@test "watch: a server that refuses it for a while is shown as before afterwards" {
	own_server
	held job:a web-1 5
	watch
	sees $'^1 held.*\njob:a '
	cli config set requirepass x
	REDISCLI_AUTH=x cli client kill type normal >/dev/null
	sees '^not known since [0-9:]{8}  refused by'
	REDISCLI_AUTH=x cli config set requirepass ''
	sees $'^1 held, 0 waiting  [0-9:]{8}  unix:.*\njob:a '
	press q
	has_ended 0
}

# scanned COUNT FOLDER: the server there has begun so many lists since CONFIG RESETSTAT.
scanned() {
	local scans
	scans=$(redis-cli -s "$2/s" info commandstats |
		sed -n 's/cmdstat_scan:calls=\([0-9]*\),.*/\1/p')
	((${scans:-0} >= $1))
}

# Ours, without those of the test and of a cluster's bus.
connections() {
	redis-cli -s "$1/s" client list | grep ' name=rlockrun' | grep -o '^id=[0-9]*'
}

# keeps_connections FOLDER COUNT: for five lists.
keeps_connections() {
	connections "$1" >kept
	[[ $(wc -l <kept) == "$2" ]]
	redis-cli -s "$1/s" config resetstat >/dev/null
	wait_until scanned 5 "$1"
	diff kept <(connections "$1")
}

@test "watch: one connection is kept" {
	own_server
	held job:a web-1 5
	watch
	sees 'job:a '
	keeps_connections "$SUITE_DIR" 1
	press q
	has_ended 0
}

@test "watch: a server that cannot be reached at first is reported as by --list" {
	watch --watch --server-timeout 0.2 -r "unix://$PWD/none"
	wait_for_file status
	[[ $(<status) == 69 ]]
	wait_until grep -q 'rlockrun: cannot connect to unix:' screen
	! grep -aq $'\e\\[?1049h' screen || false
	diff before after
}

# --- mistakes -----------------------------------------------------------------

# Whether the message is all that the terminal has shown.
shows_only() { [[ $(tr -d '\r' <screen) == "rlockrun: $1"* && $(wc -l <screen) == 1 ]]; }

# refused MESSAGE OPTION...: on a terminal, which may show it after the end.
refused() {
	watch "${@:2}"
	wait_for_file status
	[[ $(<status) == 64 ]]
	wait_until shows_only "$1" || {
		cat -v screen >&2
		return 1
	}
}
