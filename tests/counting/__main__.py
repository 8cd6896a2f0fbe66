"""Says in the form of counting/counts.py what came of tests.

    python3 -m counting bazel EVENTS           of `bazel test --build_event_json_file=EVENTS`
    python3 -m counting report FILE.xml        of a test report, such as pytest's --junit-xml
    python3 -m counting command NAME CODE LOG  of a command that ended with CODE and printed LOG
    python3 -m counting total LOG              the sum of all closing lines in LOG

The exit code is 1 if anything failed.
"""

import pathlib
import sys

from counting import bazel_events, counts, xml_report


def _bazel(events):
    with open(events, encoding="utf-8") as lines:
        found, labels = bazel_events.count(lines)
    for label in labels:
        print(f"FAIL {label}")
    return found


def _command(name, code, log):
    text = pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
    found = counts.of_command(text, int(code))
    if found.failed:
        print(f"{name}: {found.failed} failed, exit code {code}")
    return found


def _total(log):
    total = counts.Counts()
    for found in counts.read_all(pathlib.Path(log).read_text(encoding="utf-8")):
        total += found
    return total


_COMMANDS = {"bazel": _bazel, "report": xml_report.count, "command": _command, "total": _total}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in _COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    found = _COMMANDS[sys.argv[1]](*sys.argv[2:])
    print(found)
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main())
