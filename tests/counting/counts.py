"""How many cases of a check passed, failed, and were skipped for which reason.

Every check of this project ends its output with the same lines, whatever it is written in:

    17 skipped: no kernel for op Foo
    2 skipped: needs AVX-512
    812 passed, 0 failed, 19 skipped
"""

import collections
import dataclasses
import re

_REASON = re.compile(r"(\d+) skipped: (.+)")
_CLOSING = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
UNKNOWN_REASON = "no reason given"


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self):
        """The closing lines, the most frequent reason first."""
        reasons = sorted(self.skipped.items(), key=lambda item: (-item[1], item[0]))
        lines = [f"{number} skipped: {reason}" for reason, number in reasons]
        lines.append(
            f"{self.passed} passed, {self.failed} failed, {self.skipped.total()} skipped"
        )
        return "\n".join(lines)


def read_all(text):
    """The Counts of every closing line in `text`, in order.

    Reasons belong to the next closing line. Skipped cases that no reason accounts for are counted
    under UNKNOWN_REASON.
    """
    found = []
    skipped = collections.Counter()
    for line in map(str.strip, text.splitlines()):
        if match := _REASON.fullmatch(line):
            skipped[match[2]] += int(match[1])
        elif match := _CLOSING.fullmatch(line):
            passed, failed, total = map(int, match.groups())
            if total > skipped.total():
                skipped[UNKNOWN_REASON] += total - skipped.total()
            found.append(Counts(passed, failed, skipped))
            skipped = collections.Counter()
    return found


def of_command(text, exit_code):
    """The Counts of a command from its output and its exit code.

    The last closing line counts. A command that fails without naming a failure, or that ends
    without a closing line, counts as one failure.
    """
    found = read_all(text)
    counts = found[-1] if found else Counts()
    if counts.failed == 0 and (exit_code != 0 or not found):
        counts.failed = 1
    return counts
