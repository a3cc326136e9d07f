# fish completion for rlockrun(1)

# The command and its arguments, one a line; fails while there is none.
function __rlockrun_command
    set -l tokens (commandline -opc) (commandline -ct)
    set -e tokens[1]
    set -l options k/key= e x/exclusive s/shared p/permits= t/ttl= min-hold= keep-history= once-per= once-id= expect= n/nonblock nb nonblocking \
        w/wait= timeout= max-waiters= newest replace replaceable E/conflict-exit-code= cron q/quiet splay= c/command= \
        label= wait-all max-run= warn-after= hook= on-lost= kill-after= on-unavailable= server-timeout= r/redis= \
        min-uptime= wait-replicas= prefix= user= password-file= sentinel-user= sentinel-password-file= \
        tls-ca= tls-cert= tls-key= status list all failed history check \
        force-release hold= pause= for= resume= doctor json older-than= watch=? token= yes v/verbose log-format= log-to= progress= metrics= config= profile= show-config h/help V/version
    argparse -s $options -- $tokens 2>/dev/null
    or return
    test -n "$argv[1]"
    and not string match -q -- '-*' $argv[1]
    and printf '%s\n' $argv
end

function __rlockrun_no_command
    not __rlockrun_command >/dev/null
end

function __rlockrun_complete_command
    __fish_complete_subcommand --commandline (__rlockrun_command)
end

# The profiles of the configuration files, or of that of --config.
function __rlockrun_profiles
    set -l folder $XDG_CONFIG_HOME
    test -n "$folder"
    or set folder $HOME/.config
    set -l files /etc/rlockrun.conf $folder/rlockrun.conf
    test -n "$RLOCKRUN_CONFIG"
    and set files $RLOCKRUN_CONFIG
    set -l tokens (commandline -opc)
    set -l before
    for token in $tokens
        test "$before" = --config
        and set files (string replace -r -- '^~/' "$HOME/" $token)
        string match -q -- '--config=*' $token
        and set files (string replace -- --config= '' $token)
        set before $token
    end
    for file in $files
        test -f $file
        and cat $file
    end 2>/dev/null | string replace -rf -- '^\s*\[\s*profile\s+(.*\S)\s*\].*' '$1'
end

# The locks of the server, for an action. Names of anything but printable ASCII
# without quotes and backslashes are left out.
function __rlockrun_locks
    set -l tokens (commandline -opc)
    set -l names redis config profile prefix user password-file sentinel-user sentinel-password-file tls-ca tls-cert tls-key
    set -l list (string join '|' $names)
    set -l server
    set -l action
    for i in (seq 2 (count $tokens))
        if string match -qr -- '^--(status|force-release|doctor|(hold|pause)(=.*)?)$' $tokens[$i]
            set action yes
        else if string match -qr -- "^(-r|--($list))\$" $tokens[$i]
            set -a server $tokens[$i] (string replace -r -- '^~/' "$HOME/" $tokens[(math $i + 1)])
        else if string match -qr -- "^(-r.|--($list)=)" $tokens[$i]
            set -a server $tokens[$i]
        end
    end
    test -n "$action"
    or return
    set -l start (commandline -ct | string replace -r -- '^(--key=|-k)' '' | string unescape)
    timeout 0.25 $tokens[1] $server --server-timeout 0.2 --list --json \
        -- (string replace -ra -- '[*?[\\\\]' '\\\\$0' "$start")'*' 2>/dev/null </dev/null |
        LC_ALL=C sed -n 's/^{"held":true,"name":"\([]-~ !#-[]*\)","key".*/\1/p'
end

complete -c rlockrun -f
complete -c rlockrun -n 'not __rlockrun_no_command' -x -a '(__rlockrun_complete_command)'

complete -c rlockrun -n __rlockrun_no_command -s k -l key -x -a '(__rlockrun_locks)' -d 'Name of the lock; repeat it for several locks'
complete -c rlockrun -n __rlockrun_no_command -s e -d 'One holder at a time (the default)'
complete -c rlockrun -n __rlockrun_no_command -s x -l exclusive -d 'One holder at a time (the default)'
complete -c rlockrun -n __rlockrun_no_command -s s -l shared -d 'Share the lock with other --shared runs'
complete -c rlockrun -n __rlockrun_no_command -s p -l permits -x -d 'At most N holders at a time'
complete -c rlockrun -n __rlockrun_no_command -s t -l ttl -x -d 'Lease, renewed while the job runs'
complete -c rlockrun -n __rlockrun_no_command -l min-hold -x -d 'Keep the lock at least this long'
complete -c rlockrun -n __rlockrun_no_command -l keep-history -x -d 'Remember the last ten runs so long'
complete -c rlockrun -n __rlockrun_no_command -l once-per -x -d 'Do not run so soon after a success'
complete -c rlockrun -n __rlockrun_no_command -l once-id -x -d 'Do not run if the last success had this id'
complete -c rlockrun -n __rlockrun_no_command -l expect -x -d 'A success is due this often, for --check'
complete -c rlockrun -n __rlockrun_no_command -s n -l nonblock -d 'Do not wait for the lock'
complete -c rlockrun -n __rlockrun_no_command -l nb -d 'Do not wait for the lock'
complete -c rlockrun -n __rlockrun_no_command -l nonblocking -d 'Do not wait for the lock'
complete -c rlockrun -n __rlockrun_no_command -s w -l wait -x -d 'Wait at most this long; 0 is -n'
complete -c rlockrun -n __rlockrun_no_command -l timeout -x -d 'Wait at most this long; 0 is -n'
complete -c rlockrun -n __rlockrun_no_command -l max-waiters -x -d 'Exit at once if N runs already wait'
complete -c rlockrun -n __rlockrun_no_command -l newest -d 'Give way to a newer run with this option'
complete -c rlockrun -n __rlockrun_no_command -l replace -d 'Ask the holder to stop, if it is replaceable'
complete -c rlockrun -n __rlockrun_no_command -l replaceable -d 'Stop the job, status 80, for a run that asks so'
complete -c rlockrun -n __rlockrun_no_command -s E -l conflict-exit-code -x -d 'Status of a run that is skipped'
complete -c rlockrun -n __rlockrun_no_command -l cron -d 'What a crontab line on many hosts needs'
complete -c rlockrun -n __rlockrun_no_command -s q -l quiet -d 'Print nothing about a run that is skipped'
complete -c rlockrun -n __rlockrun_no_command -l splay -x -d 'First sleep a random time up to this'
complete -c rlockrun -n __rlockrun_no_command -s c -l command -x -d 'Run STRING through $SHELL -c'
complete -c rlockrun -n __rlockrun_no_command -l label -x -d 'Show TEXT to others instead of the command'
complete -c rlockrun -n __rlockrun_no_command -l wait-all -d 'Keep the lock until all processes have ended'
complete -c rlockrun -n __rlockrun_no_command -l max-run -x -d 'Stop the job after this long, status 124'
complete -c rlockrun -n __rlockrun_no_command -l warn-after -x -d 'Warn once the lock is held for this long'
complete -c rlockrun -n __rlockrun_no_command -l hook -x -d 'Run CMD when the lock is busy, lost, ...'
complete -c rlockrun -n __rlockrun_no_command -l on-lost -x -a 'stop warn' -d 'What to do if the lock is lost'
complete -c rlockrun -n __rlockrun_no_command -l kill-after -x -d 'Time from TERM to KILL'
complete -c rlockrun -n __rlockrun_no_command -l on-unavailable -x -a 'fail run skip' -d 'No server: fail, run unlocked or skip'
complete -c rlockrun -n __rlockrun_no_command -l server-timeout -x -d 'Longest silence before the job starts'
complete -c rlockrun -n __rlockrun_no_command -s r -l redis -x -d 'Server; repeatable'
complete -c rlockrun -n __rlockrun_no_command -l min-uptime -x -d 'Redlock: ignore young servers'
complete -c rlockrun -n __rlockrun_no_command -l wait-replicas -x -d 'Hold the lock only while N replicas have it'
complete -c rlockrun -n __rlockrun_no_command -l prefix -x -d 'Put before the name of the lock'
complete -c rlockrun -n __rlockrun_no_command -l user -x -d 'User name, if the URL has none'
complete -c rlockrun -n __rlockrun_no_command -l password-file -r -F -d 'File with the password, if the URL has none'
complete -c rlockrun -n __rlockrun_no_command -l sentinel-user -x -d 'User name for the sentinels'
complete -c rlockrun -n __rlockrun_no_command -l sentinel-password-file -r -F -d 'File with the password for the sentinels'
complete -c rlockrun -n __rlockrun_no_command -l tls-ca -r -F -d "Trust these CAs instead of the system's"
complete -c rlockrun -n __rlockrun_no_command -l tls-cert -r -F -d 'Client certificate'
complete -c rlockrun -n __rlockrun_no_command -l tls-key -r -F -d 'Its private key'
complete -c rlockrun -n __rlockrun_no_command -l status -d 'Show the holder, waiters and last run of a lock'
complete -c rlockrun -n __rlockrun_no_command -l list -d 'List the locks that are held (and match a GLOB)'
complete -c rlockrun -n __rlockrun_no_command -l all -d 'List all known locks, with their last run'
complete -c rlockrun -n __rlockrun_no_command -l failed -d 'List only those whose last run failed'
complete -c rlockrun -n __rlockrun_no_command -l history -d 'Show the last ten runs of a lock'
complete -c rlockrun -n __rlockrun_no_command -l check -d 'Check that jobs succeed in time, as Nagios does'
complete -c rlockrun -n __rlockrun_no_command -l force-release -d 'Release a lock, whoever holds it'
complete -c rlockrun -n __rlockrun_no_command -l hold -x -d 'Hold the lock for this long, without a command'
complete -c rlockrun -n __rlockrun_no_command -l pause -x -d 'Let no run of the locks that match start'
complete -c rlockrun -n __rlockrun_no_command -l for -x -d 'Pause for this long'
complete -c rlockrun -n __rlockrun_no_command -l resume -x -d 'End the pauses of the locks that match'
complete -c rlockrun -n __rlockrun_no_command -l doctor -d 'Examine the servers and this host'
complete -c rlockrun -n __rlockrun_no_command -l json -d 'Print what is shown as JSON'
complete -c rlockrun -n __rlockrun_no_command -l older-than -x -d 'List only locks held for longer than this'
complete -c rlockrun -n __rlockrun_no_command -l watch -d 'Show the list live on the terminal'
complete -c rlockrun -n __rlockrun_no_command -l token -x -d 'Act only if the holder has this token'
complete -c rlockrun -n __rlockrun_no_command -l yes -d 'Do not ask for confirmation'
complete -c rlockrun -n __rlockrun_no_command -s v -l verbose -d 'Also report acquire and release'
complete -c rlockrun -n __rlockrun_no_command -l log-format -x -a 'text json' -d 'Format of the log'
complete -c rlockrun -n __rlockrun_no_command -l log-to -r -F -a 'stderr syslog' -d 'Log all events there, too'
complete -c rlockrun -n __rlockrun_no_command -l progress -x -a 'auto always never' -d 'Show the wait on one line'
complete -c rlockrun -n __rlockrun_no_command -l metrics -x -a '(__fish_complete_directories)' -d 'Write metrics for Prometheus into this folder'
complete -c rlockrun -n __rlockrun_no_command -l config -r -F -d 'Read only this configuration file, or none'
complete -c rlockrun -n __rlockrun_no_command -l profile -x -a '(__rlockrun_profiles)' -d 'Profile of the configuration files'
complete -c rlockrun -n __rlockrun_no_command -l show-config -d 'Print all settings, and where they come from'
complete -c rlockrun -n __rlockrun_no_command -s h -l help -d 'Print the options: -h the usual, --help all'
complete -c rlockrun -n __rlockrun_no_command -s V -l version -d 'Print the version'
