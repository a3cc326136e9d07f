# fish completion for rlockrun(1)

# The command and its arguments, one a line; fails while there is none.
function __rlockrun_command
    set -l tokens (commandline -opc) (commandline -ct)
    set -e tokens[1]
    set -l options k/key= e x/exclusive s/shared p/permits= t/ttl= min-hold= n/nonblock nb nonblocking \
        w/wait= timeout= max-waiters= E/conflict-exit-code= q/quiet splay= c/command= \
        wait-all max-run= warn-after= on-lost= kill-after= on-unavailable= server-timeout= r/redis= \
        min-uptime= wait-replicas= prefix= user= password-file= sentinel-user= sentinel-password-file= \
        tls-ca= tls-cert= tls-key= status list \
        force-release json older-than= token= yes v/verbose progress= h/help V/version
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

complete -c rlockrun -f
complete -c rlockrun -n 'not __rlockrun_no_command' -x -a '(__rlockrun_complete_command)'

complete -c rlockrun -n __rlockrun_no_command -s k -l key -x -d 'Name of the lock; again: several'
complete -c rlockrun -n __rlockrun_no_command -s e -d 'One holder at a time (the default)'
complete -c rlockrun -n __rlockrun_no_command -s x -l exclusive -d 'One holder at a time (the default)'
complete -c rlockrun -n __rlockrun_no_command -s s -l shared -d 'Together with all others who share it'
complete -c rlockrun -n __rlockrun_no_command -s p -l permits -x -d 'At most so many holders at a time'
complete -c rlockrun -n __rlockrun_no_command -s t -l ttl -x -d 'Lease, renewed while the job runs'
complete -c rlockrun -n __rlockrun_no_command -l min-hold -x -d 'Keep it this long, also after a short job'
complete -c rlockrun -n __rlockrun_no_command -s n -l nonblock -d "Don't wait for the lock"
complete -c rlockrun -n __rlockrun_no_command -l nb -d "Don't wait for the lock"
complete -c rlockrun -n __rlockrun_no_command -l nonblocking -d "Don't wait for the lock"
complete -c rlockrun -n __rlockrun_no_command -s w -l wait -x -d 'Wait at most this long'
complete -c rlockrun -n __rlockrun_no_command -l timeout -x -d 'Wait at most this long'
complete -c rlockrun -n __rlockrun_no_command -l max-waiters -x -d 'Busy at once when so many wait already'
complete -c rlockrun -n __rlockrun_no_command -s E -l conflict-exit-code -x -d 'Status when busy or the wait ran out'
complete -c rlockrun -n __rlockrun_no_command -s q -l quiet -d 'Print nothing when busy'
complete -c rlockrun -n __rlockrun_no_command -l splay -x -d 'First sleep a random time up to this'
complete -c rlockrun -n __rlockrun_no_command -s c -l command -x -d 'Run a string through $SHELL -c'
complete -c rlockrun -n __rlockrun_no_command -l wait-all -d 'Keep the lock until all it started has ended'
complete -c rlockrun -n __rlockrun_no_command -l max-run -x -d 'Stop the job after this long'
complete -c rlockrun -n __rlockrun_no_command -l warn-after -x -d 'Say when the lock is held for longer'
complete -c rlockrun -n __rlockrun_no_command -l on-lost -x -a 'stop warn' -d 'What to do when the lock is lost'
complete -c rlockrun -n __rlockrun_no_command -l kill-after -x -d 'Time from TERM to KILL'
complete -c rlockrun -n __rlockrun_no_command -l on-unavailable -x -a 'fail run' -d 'No server: give up or run unlocked'
complete -c rlockrun -n __rlockrun_no_command -l server-timeout -x -d 'Longest silence before the job starts'
complete -c rlockrun -n __rlockrun_no_command -s r -l redis -x -d 'Server; again: Redlock'
complete -c rlockrun -n __rlockrun_no_command -l min-uptime -x -d 'Redlock: not where it is up for less'
complete -c rlockrun -n __rlockrun_no_command -l wait-replicas -x -d 'Held only while N replicas have it'
complete -c rlockrun -n __rlockrun_no_command -l prefix -x -d 'Put before the name of the lock'
complete -c rlockrun -n __rlockrun_no_command -l user -x -d 'User name, when the URL has none'
complete -c rlockrun -n __rlockrun_no_command -l password-file -r -F -d 'Holds the password, when the URL has none'
complete -c rlockrun -n __rlockrun_no_command -l sentinel-user -x -d 'User name at the sentinels'
complete -c rlockrun -n __rlockrun_no_command -l sentinel-password-file -r -F -d 'Holds the password of the sentinels'
complete -c rlockrun -n __rlockrun_no_command -l tls-ca -r -F -d 'Trust these CAs, not those of the system'
complete -c rlockrun -n __rlockrun_no_command -l tls-cert -r -F -d 'Our certificate'
complete -c rlockrun -n __rlockrun_no_command -l tls-key -r -F -d 'Its key'
complete -c rlockrun -n __rlockrun_no_command -l status -d 'Show who has the lock, and who waits for it'
complete -c rlockrun -n __rlockrun_no_command -l list -d 'List the locks that are held (and match a glob)'
complete -c rlockrun -n __rlockrun_no_command -l force-release -d 'Take the lock away from its holder'
complete -c rlockrun -n __rlockrun_no_command -l json -d 'Show status or list as JSON'
complete -c rlockrun -n __rlockrun_no_command -l older-than -x -d 'List only locks that are held for longer'
complete -c rlockrun -n __rlockrun_no_command -l token -x -d 'Release it only if this holder has it'
complete -c rlockrun -n __rlockrun_no_command -l yes -d 'Release it without a question'
complete -c rlockrun -n __rlockrun_no_command -s v -l verbose -d 'Tell what is done'
complete -c rlockrun -n __rlockrun_no_command -l progress -x -a 'auto always never' -d 'One line about waiting, kept up to date'
complete -c rlockrun -n __rlockrun_no_command -s h -l help -d 'Print help'
complete -c rlockrun -n __rlockrun_no_command -s V -l version -d 'Print the version'
