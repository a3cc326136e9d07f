"""What runs say of themselves: a log that they share, and hooks that note each call."""
import json

LABEL = "run "  # --label: RUN in the log, and in the environment of hooks


class Reports:
    def __init__(self, folder):
        self.log, self.hooks = folder + "/log", folder + "/hooks"

    def options(self, number):
        """Those of run NUMBER."""
        note = f"echo \"$RLOCKRUN_LABEL,$RLOCKRUN_EVENT,$RLOCKRUN_STATUS\" >>'{self.hooks}'"
        return ["--label", LABEL + str(number), "--log-to", self.log, "--log-format", "json",
                "--hook", note]

    def read(self):
        """The fields of a record for each line."""
        for line in lines_of(self.log):
            said = json.loads(line)
            yield fields_of("log", said["label"], said["event"], said.get("status"))
        for line in lines_of(self.hooks):
            label, event, status = line.rstrip("\n").split(",")
            yield fields_of("hook", label, event, int(status) if status else None)


def lines_of(path):
    """None of them if nobody has written there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.readlines()
    except FileNotFoundError:
        return []


def fields_of(by, label, event, status):
    return {"run": int(label.removeprefix(LABEL)), "by": by, "event": event, "status": status}
