#!/usr/bin/python3 -SB
"""Draws the history of a chaos as a time line.

    picture.py HISTORY >FILE.svg

From top to bottom: what was found, what was struck, and for each group of locks its runs.
A thin line is a run that waits or ends, a bar its job, a thinner bar processes that
outlive the command. Number and exit status stand at the end, and everything has a
tooltip. Findings are red, excused ones amber.

Status 0, or 64 for wrong usage, 65 for a file that is no history."""
import sys

import check
import history
from canvas import Canvas, text_width
from story import MS, SECOND, Story, last_life

SECOND_WIDTH = 40
LEFT, RIGHT, GAP = 110, 150, 6
RUN_HEIGHT, FAULT_HEIGHT = 17, 14
MODES = {"exclusive": "#3b6fd4", "shared": "#2f9e58", "permits": "#8c54c9"}
UNLOCKED, WAITING, QUEUED = "#9a9a9a", "#b5b5b5", "#555"
FOUND, EXCUSED = "#d7191c", "#e8950c"
# What a fault does to its target, by the colour in which it is drawn.
FAULTS = {
    "#4a4a4a": ("kill", "term", "int", "hup"),
    "#7f9bb3": ("stop", "trace", "pause", "busy"),
    "#d98c3f": ("cut", "cut_replies", "split", "delay", "stall", "late", "tear", "refuse",
                "disconnect"),
    "#c4588f": ("flush", "forget", "full", "shorten", "migrate", "failover"),
}
FAULT_NAMES = ("killed or signalled", "halted", "cut off or slowed", "data or role changed")
TARGET_ORDER = ("host", "server", "link", "sentinel", "lock", "wrapper", "guard", "job")


class Rows:
    """Puts spans into as few rows as possible, so that none covers another."""

    def __init__(self):
        self.ends = []

    def place(self, begin, end):
        """The row of the next span; spans come in the order of their beginnings."""
        for row, last in enumerate(self.ends):
            if last <= begin:
                self.ends[row] = end
                return row
        self.ends.append(end)
        return len(self.ends) - 1


class Picture:
    """The lanes of a time line, each below the last; `y` is where the next begins."""

    def __init__(self, story, findings):
        self.story, self.findings = story, findings
        # The wait for leftovers at the end shows nothing.
        last = max([thing.at for thing in story.things if thing.type not in ("end", "left")]
                   + [fault.until for fault in story.faults])
        self.canvas = Canvas(max(x_of(last) + RIGHT, 1000))
        self.right = x_of(last)
        self.y = 0
        self.run_y = {}

    def draw(self):
        self.draw_heading()
        top = self.y
        # The grid lies below all that is drawn upon it, but its height is not known yet.
        grid = len(self.canvas.parts)
        self.y += 18
        self.draw_findings_lane()
        self.draw_faults()
        for names, runs in group_runs(self.story):
            self.draw_group(names, runs)
        self.draw_grid(grid, top)
        self.mark_findings(top + 18)
        self.list_findings()
        return self.canvas.finish(self.y + 12)

    def draw_heading(self):
        begin, runs = self.story.begin, len(self.story.runs)
        found = sum(not finding.excused for finding in self.findings)
        heading = (f"Chaos over {begin.topology}, seed {begin.seed}: {runs} runs, "
                   f"{len(self.story.faults)} faults, {found} findings, "
                   f"{len(self.findings) - found} excused")
        self.canvas.text(12, 26, heading, "heading")
        self.y = 38
        self.draw_legend()
        self.y += 44

    def draw_legend(self):
        """Samples of all that is drawn, with what it means."""
        y = self.y + 10
        samples = [(colour, 9, mode) for mode, colour in MODES.items()]
        samples += [(UNLOCKED, 9, "job without a lock"),
                    (MODES["exclusive"], 4, "left processes"),
                    (WAITING, 1.5, "starting, releasing"), (QUEUED, 1.5, "queued")]
        faults = [(colour, 9, name) for colour, name in zip(FAULTS, FAULT_NAMES)]
        self.draw_samples(y, samples)
        x = self.draw_samples(y + 18, faults)
        y += 18
        for colour, text in ((FOUND, "finding"), (EXCUSED, "excused finding")):
            self.canvas.diamond(x + 5, y, 5, colour)
            self.canvas.text(x + 14, y + 4, text)
            x += 26 + text_width(text)

    def draw_samples(self, y, samples):
        """Returns where the next would be."""
        x = 12
        for colour, height, text in samples:
            self.canvas.rectangle(x, y - height / 2, 16, height, colour)
            self.canvas.text(x + 21, y + 4, text)
            x += 33 + text_width(text)
        return x

    def draw_grid(self, index, top):
        """Seconds, and the end of the faults; put below what is drawn from INDEX on."""
        above = self.canvas.parts[index:]
        del self.canvas.parts[index:]
        for second in range(int((self.right - LEFT) / SECOND_WIDTH) + 1):
            x, fifth = LEFT + second * SECOND_WIDTH, second % 5 == 0
            self.canvas.line(x, top + 14, x, self.y, "#d2d2d2" if fifth else "#efefef")
            if fifth:
                for y in (top + 10, self.y + 12):
                    self.canvas.text(x, y, f"{second} s", "axis", text_anchor="middle")
        for quiet in self.story.by_type["quiet"]:
            x = x_of(quiet.at)
            self.canvas.line(x, top + 14, x, self.y, "#888", "quiet: no more faults and runs",
                             stroke_dasharray="4 3")
        self.canvas.parts += above
        self.y += 24

    def draw_lane_name(self, y, name, rows, height):
        self.canvas.line(12, y - 3, self.right, y - 3, "#ddd")
        self.canvas.text(12, y + min(rows * height / 2 + 4, 13), name, "lane", name)

    def draw_findings_lane(self):
        if not self.findings:
            return
        self.draw_lane_name(self.y, "findings", 1, 12)
        for finding in self.findings:
            self.canvas.diamond(x_of(finding.at), self.y + 6, 5, colour_of(finding),
                                str(finding))
        self.y += 18

    # --- faults -----------------------------------------------------------

    def draw_faults(self):
        lanes = {}
        for fault in self.story.faults:
            lanes.setdefault(target_of(fault), []).append(fault)
        for target in sorted(lanes, key=lambda name: (TARGET_ORDER.index(name.split()[0]),
                                                      name)):
            rows = Rows()
            for fault in lanes[target]:
                self.draw_fault(fault, rows)
            self.draw_lane_name(self.y, target, len(rows.ends), FAULT_HEIGHT)
            self.y += len(rows.ends) * FAULT_HEIGHT + GAP
        self.y += GAP

    def draw_fault(self, fault, rows):
        """A span with its name in it, or a mark with its name beside it."""
        begin, width = x_of(fault.at), (fault.until - fault.at) / SECOND * SECOND_WIDTH
        label = fault.fault
        if fault.on in ("wrapper", "guard", "job"):
            label += f" {fault.run}"
        inside = width >= text_width(label, "on") + 6
        end = begin + (width if inside else max(width, 3) + 5 + text_width(label, "small"))
        y = self.y + rows.place(begin, end + 3) * FAULT_HEIGHT
        title = describe_fault(fault)
        self.canvas.rectangle(begin, y, max(width, 3.0), FAULT_HEIGHT - 3,
                              colour_of_fault(fault), title, rx=2)
        x = begin + (3 if inside else max(width, 3) + 3)
        self.canvas.text(x, y + 9, label, "small on" if inside else "small", title)

    # --- runs -------------------------------------------------------------

    def draw_group(self, names, runs):
        rows = Rows()
        for run in sorted(runs, key=lambda run: run.at):
            begin, end = x_of(run.at), x_of(extent_of(run))
            label = label_of(run)
            row = rows.place(begin, end + 12 + text_width(label, "small"))
            self.run_y[run.number] = self.y + row * RUN_HEIGHT + RUN_HEIGHT / 2
            self.draw_run(run, label)
        self.draw_lane_name(self.y, ", ".join(names), len(rows.ends), RUN_HEIGHT)
        self.y += len(rows.ends) * RUN_HEIGHT + 2 * GAP

    def draw_run(self, run, label):
        y, title = self.run_y[run.number], describe_run(run)
        self.draw_waiting(run, y, title)
        if run.root:
            self.draw_job(run, y, title)
        for fault in run.faults:
            self.canvas.line(x_of(fault.at), y - 7, x_of(fault.at), y + 7,
                             colour_of_fault(fault), describe_fault(fault), stroke_width=2)
        self.canvas.text(x_of(extent_of(run)) + 4, y + 3.5, label, "small", title,
                         style=f"fill: {colour_of_status(run)}")

    def draw_waiting(self, run, y, title):
        """The whole life of rlockrun, and its time in the queue."""
        until = run.start if run.root else end_of(run)
        self.canvas.line(x_of(run.at), y, x_of(end_of(run)), y, WAITING, title,
                         stroke_width=1.5)
        self.canvas.line(x_of(run.at), y - 3, x_of(run.at), y + 3, WAITING, title)
        entries = [entry.at for entry in self.story.by_type["queued"]
                   if entry.run == run.number and entry.at < until]
        if entries:
            self.canvas.line(x_of(min(entries)), y, x_of(until), y, QUEUED, title,
                             stroke_width=1.5)

    def draw_job(self, run, y, title):
        colour = MODES[run.mode] if run.token else UNLOCKED
        begin, end = x_of(run.start), x_of(last_life(run.root))
        last = x_of(max(last_life(process) for process in run.processes))
        if last > end:
            self.canvas.rectangle(end, y - 2, last - end, 4, colour, title, opacity=0.7)
        self.canvas.rectangle(begin, y - 5, end - begin, 10, colour, title, rx=2,
                              opacity=0.55 if run.outer_run else 1)

    # --- findings ---------------------------------------------------------

    def mark_findings(self, top):
        """Each finding is marked on its runs, and these are joined."""
        for finding in self.findings:
            x, title = x_of(finding.at), str(finding)
            heights = [self.run_y[number] for number in finding.runs if number in self.run_y]
            style = {"stroke_width": 1.2, "opacity": 0.8}
            if not heights:
                self.canvas.line(x, top, x, self.y - 24, colour_of(finding), title, **style)
                continue
            self.canvas.line(x, min(heights), x, max(heights), colour_of(finding), title,
                             **style)
            for y in heights:
                self.canvas.diamond(x, y, 5, "none" if finding.excused else colour_of(finding),
                                    title, stroke=colour_of(finding), stroke_width=1.5,
                                    pointer_events="all")

    def list_findings(self):
        """In words, for who has no tooltips."""
        for finding in self.findings:
            self.canvas.diamond(18, self.y + 6, 4, colour_of(finding))
            self.canvas.text(30, self.y + 10, str(finding))
            self.y += 16


def group_runs(story):
    """(names, runs) for each set of locks that runs hold together."""
    groups = []
    for run in story.runs.values():
        names, runs, others = set(run.keys), [run], []
        for group in groups:
            if names & group[0]:
                names |= group[0]
                runs = group[1] + runs
            else:
                others.append(group)
        groups = others + [(names, runs)]
    return sorted((sorted(names), runs) for names, runs in groups)


def x_of(at):
    return LEFT + at / SECOND * SECOND_WIDTH


def end_of(run):
    """The end of rlockrun, or if that was not seen, of its job."""
    if run.exit:
        return max(run.exit.at, run.at)
    return last_life(run.root) if run.root else run.at


def extent_of(run):
    """The end of all that is drawn of it."""
    return max([end_of(run), *map(last_life, run.processes)])


def label_of(run):
    return f"{run.number}: {run.exit.status if run.exit else '?'}"


def colour_of(finding):
    return EXCUSED if finding.excused else FOUND


def colour_of_fault(fault):
    return next((colour for colour, names in FAULTS.items() if fault.fault in names), "#999")


def colour_of_status(run):
    """Dark for the job's own status, lighter where it did not run, else a strong one."""
    status = run.exit.status if run.exit else None
    if status == run.job_status:
        return "#333"
    return "#8a8a8a" if status in (75, 69) else "#a8461c"


def target_of(fault):
    if fault.on in ("wrapper", "guard", "job"):
        return fault.on
    names = {"host": "host", "lock": "key"}
    return f"{fault.on} {getattr(fault, names.get(fault.on, 'node'))}"


def describe_fault(fault):
    whose = f" of run {fault.run}" if fault.on in ("wrapper", "guard", "job") else ""
    when = f"{fault.at / SECOND:.3f} s"
    if fault.until > fault.at:
        when += f" to {fault.until / SECOND:.3f} s, {(fault.until - fault.at) / MS:.0f} ms"
    return f"{fault.fault}: {target_of(fault)}{whose}\n{when}"


def describe_run(run):
    """All that a tooltip can say of a run."""
    lines = [f"run {run.number} on host {run.host}, pid {run.pid}: {run.mode} "
             f"{', '.join(run.keys)}", f"ttl {run.ttl_ms} ms, job {run.job}",
             " ".join(map(str, run.options))]
    if run.outer is not None:
        lines.append(f"nested in run {run.outer}")
    lines.append(f"started at {run.at / SECOND:.3f} s")
    if run.root:
        end = last_life(run.root) / SECOND
        how = "" if run.root.end is not None else ", killed"
        lines.append(f"job {run.start / SECOND:.3f} s to {end:.3f} s{how}, "
                     f"{len(run.processes)} processes, fence {run.root.fence}")
    if run.exit:
        lines.append(f"status {run.exit.status} at {run.exit.at / SECOND:.3f} s")
        lines.append(run.exit.stderr.strip())
    return "\n".join(line for line in lines if line)


def draw(records, findings):
    """The SVG of a history."""
    return Picture(Story(records), findings).draw()


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: picture.py HISTORY >FILE.svg", file=sys.stderr)
        return 64
    try:
        records = history.load(arguments[0])
    except (OSError, history.Malformed) as error:
        print(f"picture.py: {arguments[0]}: {getattr(error, 'strerror', None) or error}",
              file=sys.stderr)
        return 65
    sys.stdout.write(draw(records, check.check(records)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
