"""The page on which the jobs of `make chaos` stamp, as job.c lays it out."""
import mmap
import os
import struct
import time

SLOT = struct.Struct("<Q4iQQqqqiiiiqqi12iii128s128s100x")
SLOT_BYTES = 512
SLOTS = 65536
STRUCK_OFFSET = 152
NAMES = ("taken", "run", "outer", "pid", "root", "keys", "born", "start_us", "alive_us",
         "end_us", "status", "wait_all", "inner_pid", "inner_status", "inner_start_us",
         "inner_end_us", "saw_count")


def now_us():
    """Of the clock that job.c stamps with."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Page:
    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            os.ftruncate(file.fileno(), SLOT_BYTES * (SLOTS + 1))
            self.memory = mmap.mmap(file.fileno(), SLOT_BYTES * (SLOTS + 1))
        self.seen = 0
        self.incomplete = []  # slots among those seen
        self.open = {}  # slots of commands that had not ended when last seen

    def used(self):
        return min(struct.unpack_from("<Q", self.memory)[0], SLOTS)

    def slot(self, index):
        """As a dictionary of NAMES and saw, token and fence; None when a process died
        while it took it."""
        values = SLOT.unpack_from(self.memory, SLOT_BYTES * (index + 1))
        slot = dict(zip(NAMES, values))
        if not slot["taken"]:
            return None
        count = len(NAMES)
        slot["saw"] = list(values[count:count + slot["saw_count"]])
        slot["token"], slot["fence"] = (
            text.rstrip(b"\0").decode("ascii", "replace") for text in values[-2:])
        return slot

    def slots(self, first=0):
        """(index, slot) of all from the first on that are complete."""
        for index in range(first, self.used()):
            slot = self.slot(index)
            if slot:
                yield index, slot

    def commands(self):
        """Slots of commands that have not ended by themselves: index -> slot. Looks at
        each other slot once."""
        used = self.used()
        new = [*self.incomplete, *range(self.seen, used)]
        self.seen, self.incomplete = used, []
        for index in new:
            slot = self.slot(index)
            if slot is None:
                self.incomplete.append(index)
            elif slot["root"] == index:
                self.open[index] = slot
        for index in list(self.open):
            if self.slot(index)["end_us"]:
                del self.open[index]
        return self.open

    def forget_run(self, run):
        """Its command has ended, by itself or not."""
        self.open = {index: slot for index, slot in self.open.items() if slot["run"] != run}

    def note_struck(self, index):
        """The command there is going to be killed: what it leaves may go on."""
        struct.pack_into("<i", self.memory, SLOT_BYTES * (index + 1) + STRUCK_OFFSET, 1)

    def close(self):
        self.memory.close()
