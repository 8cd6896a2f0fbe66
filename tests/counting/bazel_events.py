"""Counts the cases of a `bazel test` run by its build events, those of cached results included.

Test cases are counted where a test wrote a report (GoogleTest does); any other target is one case.
A target that did not build, ran out of time or broke off counts as one failure on top of those
that it reported. One that is not for this configuration counts as one skipped case.
"""

import collections
import json
import urllib.parse
import urllib.request
import xml.etree.ElementTree

from counting import xml_report
from counting.counts import Counts

INCOMPATIBLE = "not for this configuration of the build"


def count(lines):
    """(Counts, labels of targets that failed) of the lines that --build_event_json_file writes."""
    reports = {}  # label -> {(run, shard): Counts of the last attempt}
    good = {}  # label -> whether the target passed as a whole
    for event in (json.loads(line) for line in lines if line.strip()):
        identity = event.get("id", {})
        if "testResult" in identity and "testResult" in event:
            result = identity["testResult"]
            part = (result.get("run", 1), result.get("shard", 1))
            reports.setdefault(result["label"], {})[part] = _report_of(event["testResult"])
        elif "testSummary" in identity:
            status = event.get("testSummary", {}).get("overallStatus")
            good[identity["testSummary"]["label"]] = status in ("PASSED", "FLAKY")
        elif event.get("aborted", {}).get("reason") == "SKIPPED" and "targetCompleted" in identity:
            label = identity["targetCompleted"]["label"]
            if label in good:  # only tests
                reports[label] = {(1, 1): Counts(skipped=collections.Counter({INCOMPATIBLE: 1}))}
                good[label] = True
        elif "targetConfigured" in identity and event.get("configured", {}).get("testSize"):
            good.setdefault(identity["targetConfigured"]["label"], False)
    counts = Counts()
    for label, is_good in good.items():
        counts += _target(reports.get(label, {}).values(), is_good)
    return counts, sorted(label for label, is_good in good.items() if not is_good)


def _target(reports, is_good):
    counts = Counts()
    for report in reports:
        counts += report
    if is_good:
        has_cases = counts.passed or counts.skipped
        counts.passed += not has_cases
    else:
        counts.failed += counts.failed == 0
    return counts


def _report_of(result):
    """The Counts in the test.xml of one testResult; none where there is no whole one."""
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.xml" and output.get("uri", "").startswith("file:"):
            path = urllib.request.url2pathname(urllib.parse.urlparse(output["uri"]).path)
            try:
                return xml_report.count(path)
            except (OSError, xml.etree.ElementTree.ParseError):
                pass  # The test broke off while it wrote.
    return Counts()
