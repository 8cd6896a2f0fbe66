"""Counts the cases of a test report, the XML that GoogleTest, Bazel and pytest write."""

import re
import xml.etree.ElementTree

from counting.counts import UNKNOWN_REASON, Counts

# GoogleTest starts the message of a skipped case with where it was skipped.
_LOCATION = re.compile(r"\S+:\d+\n")


def count(path):
    """The Counts of one report. Raises OSError or ParseError if it is absent or was cut short."""
    counts = Counts()
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed += 1
        elif skipped is not None:
            counts.skipped[_reason(skipped.get("message", ""))] += 1
        elif case.get("status") == "notrun":
            counts.skipped["the test is disabled"] += 1
        else:
            counts.passed += 1
    return counts


def _reason(message):
    """The message on one line, without the location."""
    return " ".join(_LOCATION.sub("", message, count=1).split()) or UNKNOWN_REASON
