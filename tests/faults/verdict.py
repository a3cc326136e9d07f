"""What a run with a fault must still keep: the promises of rlockrun(1)."""
import re

from case import TTL_MS

# Statuses that say what went wrong, by how far the run has come.
BEFORE_JOB = (69, 70, 71, 78, 126, 127)
UNSTARTED = (69, 70, 71, 75, 76, 77)  # with which the message must say so
OVER_JOB = (70, 71, 79)
DEAD_HEAD = 1.0  # seconds that the next one waits for a waiter that has died


def judge(case):
    """The complaints about a case, in words; none if all is well."""
    if not case.ended:
        return [f"did not end in time: {', '.join(case.roles)}"]
    checks = (judge_status, judge_message, judge_job, judge_processes, judge_keys, judge_next)
    return [complaint for check in checks for complaint in check(case)]


def is_as_usual(case):
    scene = case.scene
    if case.status == 7 and not case.job_ended:
        return False
    return case.status == scene.status and case.launched == scene.starts


def judge_status(case):
    status, scene = case.status, case.scene
    if case.job_ended:
        allowed = OVER_JOB if scene.status in (79, 124) else OVER_JOB + (7,)
    elif case.launched:
        allowed = OVER_JOB
    elif scene.action:
        allowed = BEFORE_JOB
    else:
        allowed = BEFORE_JOB + scene.statuses
    if scene.action:
        allowed += scene.statuses
    if not is_as_usual(case) and status not in allowed:
        when = "ended" if case.job_ended else "started" if case.launched else "not started"
        yield f"status {status}, job {when}"


def spoils_message(case):
    return case.fault is not None and (case.fault.place[1].startswith("base/log.c:")
                                       or case.fault.place[1].startswith("base/mem.c:or_die:w"))


def may_not_know(case):
    """A run that has not begun, or that lost the guard's report of a command that could
    not be executed, need not say that it started no command."""
    return case.fault is not None and case.fault.place[3] not in ("acquire", "launch")


def judge_message(case):
    if case.status in (7, case.scene.status) or case.status is None or spoils_message(case):
        return
    # The findings of --doctor are its messages.
    found = case.scene.action == ["--doctor"] and re.search(r"^  error  .", case.output, re.M)
    if not re.search(r"rlockrun: .", case.error) and not found:
        yield f"status {case.status} without a message"
    elif not case.launched and not case.scene.action and not may_not_know(case) \
            and case.status in UNSTARTED and "command not started" not in case.error:
        yield "does not say that the command was not started"


def judge_job(case):
    if case.starts > 1:
        yield f"the job was started {case.starts} times"
    if case.unlocked and case.status != 79:
        yield "the job ran without the lock"
    # The shell has saved one of its own as 10.
    if [fd for fd in case.descriptors if fd not in ("0", "1", "2", "10")]:
        yield f"descriptors of the job: {' '.join(case.descriptors)}"


def judge_processes(case):
    if case.leftover and not case.scene.leaves:
        yield f"still there: {', '.join(case.leftover)}"


def judge_keys(case):
    for name, left in case.keys.items():
        if left == -1:
            yield f"{name} never expires"
        elif name == case.key and left > 3 * TTL_MS:
            yield f"{name} expires in {left} ms"
    if case.key in case.keys and case.status == 7 and not case.scene.keeps \
            and "rlockrun: " not in case.error and not spoils_message(case):
        yield "the lock was not released, without a message"


def judge_next(case):
    left = max(0, case.keys.get(case.key, 0)) / 1000
    waits = [name for name in case.keys if name.endswith((":q", ":rlk:l", ":rlkt:l"))]
    if case.key not in case.keys and not waits or case.scene.server == "several":
        return
    status, seconds = case.try_next()
    if status != 0 or seconds > left + DEAD_HEAD + 1.5:
        yield f"the next run: status {status} after {seconds:.1f} s, {left:.1f} s were left"
