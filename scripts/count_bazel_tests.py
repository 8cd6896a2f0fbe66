#!/usr/bin/env python3
"""Sums up a `bazel test` run by its build events: `N passed, N failed`.

    bazel test --build_event_json_file=EVENTS //...; scripts/count_bazel_tests.py EVENTS

Counts test cases where a test wrote them down (GoogleTest does), else the target as one case. A
target that did not build, ran out of time or broke off counts as one failure on top of those it
reported.
"""

import collections
import json
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree


def cases_of(event):
    """(cases, failed cases) of one testResult event, from its test.xml."""
    for output in event["testResult"].get("testActionOutput", []):
        if output["name"] == "test.xml" and output.get("uri", "").startswith("file:"):
            path = urllib.request.url2pathname(urllib.parse.urlparse(output["uri"]).path)
            try:
                suites = xml.etree.ElementTree.parse(path).getroot()
            except (OSError, xml.etree.ElementTree.ParseError):
                return 0, 0  # broke off while it wrote
            cases = failed = 0
            for case in suites.iter("testcase"):
                if case.get("status") != "notrun":
                    cases += 1
                    failed += case.find("failure") is not None or case.find("error") is not None
            return cases, failed
    return 0, 0


def count(events):
    """(passed, failed, labels of targets that failed)."""
    cases = collections.defaultdict(lambda: [0, 0])
    good = {}
    for event in events:
        identity = event.get("id", {})
        if "testResult" in identity and "testResult" in event:
            ran, failed = cases_of(event)
            totals = cases[identity["testResult"]["label"]]
            totals[0] += ran
            totals[1] += failed
        elif "testSummary" in identity:
            status = event.get("testSummary", {}).get("overallStatus")
            good[identity["testSummary"]["label"]] = status in ("PASSED", "FLAKY")
        elif "targetConfigured" in identity and event.get("configured", {}).get("testSize"):
            good.setdefault(identity["targetConfigured"]["label"], False)
    passed = failed = 0
    for label, is_good in good.items():
        ran, broken = cases[label]
        passed += ran - broken
        failed += broken
        if is_good:
            passed += ran == 0
        else:
            failed += broken == 0
    return passed, failed, sorted(label for label, is_good in good.items() if not is_good)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        passed, failed, labels = count(json.loads(line) for line in file if line.strip())
    for label in labels:
        print(f"FAIL {label}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
