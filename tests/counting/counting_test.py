"""No case is lost or counted as passed that was not: made-up logs and reports of each outcome."""

import collections
import json
import subprocess
import sys

import pytest

from clients.server import REPOSITORY
from counting import bazel_events, counts, xml_report
from counting.counts import Counts

GOOGLE_TEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" time="0." name="AllTests">
  <testsuite name="A" tests="5" failures="1" disabled="1" skipped="2" errors="0" time="0.">
    <testcase name="Good" status="run" result="completed" time="0." classname="A" />
    <testcase name="Bad" status="run" result="completed" time="0." classname="A">
      <failure message="a_test.cc:7&#x0A;1 is not 2" type=""><![CDATA[a_test.cc:7]]></failure>
    </testcase>
    <testcase name="Wide" status="run" result="skipped" time="0." classname="A">
      <skipped message="runtime/a_test.cc:9&#x0A;needs&#x0A;AVX-512&#x0A;"><![CDATA[]]></skipped>
    </testcase>
    <testcase name="Mute" status="run" result="skipped" time="0." classname="A">
      <skipped message="runtime/a_test.cc:12&#x0A;"><![CDATA[runtime/a_test.cc:12]]></skipped>
    </testcase>
    <testcase name="DISABLED_Off" status="notrun" result="suppressed" time="0." classname="A" />
  </testsuite>
</testsuites>
"""

PYTEST = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4">
  <testcase classname="tests.a" name="test_good" time="0.1" />
  <testcase classname="tests.a" name="test_bad" time="0.1"><failure message="no">x</failure></testcase>
  <testcase classname="tests.a" name="test_setup" time="0."><error message="no">x</error></testcase>
  <testcase classname="tests.a" name="test_other" time="0."><skipped type="pytest.skip"
    message="needs the package prometheus">a.py:84: needs the package prometheus</skipped></testcase>
</testsuite></testsuites>
"""

ALL_GOOD = '<testsuites><testsuite><testcase name="a" status="run" /></testsuite></testsuites>'


def made(passed=0, failed=0, skipped=()):
    return Counts(passed, failed, collections.Counter(dict(skipped)))


def test_closing_lines_read_as_they_were_written():
    written = made(12, 1, {"needs AVX-512": 2, "no kernel for op Foo": 37})
    assert str(written) == (
        "37 skipped: no kernel for op Foo\n"
        "2 skipped: needs AVX-512\n"
        "12 passed, 1 failed, 39 skipped"
    )
    assert counts.read_all(f"noise\n{written}\n{made(1)}\n") == [written, made(1)]


@pytest.mark.parametrize(
    "text, code, expected",
    [
        ("1 passed, 0 failed, 0 skipped\n", 0, made(1)),
        ("1 passed, 2 failed, 0 skipped\n", 1, made(1, 2)),
        ("1 passed, 0 failed, 3 skipped\n", 0, made(1, 0, {"no reason given": 3})),
        ("2 skipped: x\n1 passed, 0 failed, 3 skipped\n", 0, made(1, 0, {"x": 2, "no reason given": 1})),
        # A part before the last one is not a second check.
        ("5 passed, 1 failed, 0 skipped\nx: 5 passed, 0 failed, 0 skipped (1 s)\n"
         "7 passed, 0 failed, 0 skipped\n", 0, made(7)),
        # It broke off, after its counts or before.
        ("1 passed, 0 failed, 0 skipped\nSegmentation fault\n", 139, made(1, 1)),
        ("Traceback (most recent call last):\n", 1, made(0, 1)),
        ("", 0, made(0, 1)),
        ("1 passed, 0 failed\n", 0, made(0, 1)),
    ],
)
def test_counts_of_a_command(text, code, expected):
    assert counts.of_command(text, code) == expected


@pytest.mark.parametrize(
    "report, expected",
    [
        (
            GOOGLE_TEST,
            made(1, 1, {"needs AVX-512": 1, "no reason given": 1, "the test is disabled": 1}),
        ),
        (PYTEST, made(1, 2, {"needs the package prometheus": 1})),
    ],
    ids=["GoogleTest", "pytest"],
)
def test_counts_of_a_report(report, expected, tmp_path):
    (tmp_path / "test.xml").write_text(report, encoding="utf-8")
    assert xml_report.count(tmp_path / "test.xml") == expected


class Events:
    """Build events of a made-up `bazel test` run, whose reports lie in a folder."""

    def __init__(self, folder):
        self._folder = folder
        self._lines = []

    def add(self, identity, **payload):
        self._lines.append(json.dumps({"id": identity, **payload}) + "\n")

    def target(self, label, status, *reports):
        """A test target, with a shard for each report; no status where it did not build."""
        self.add({"targetConfigured": {"label": label}}, configured={"testSize": "MEDIUM"})
        for shard, report in enumerate(reports, 1):
            self.attempt(label, shard, 1, report)
        if status:
            self.add({"testSummary": {"label": label}}, testSummary={"overallStatus": status})

    def attempt(self, label, shard, attempt, report):
        path = self._folder / f"{label.strip('/:')}_{shard}_{attempt}.xml"
        if report is not None:
            path.write_text(report, encoding="utf-8")
        self.add(
            {"testResult": {"label": label, "run": 1, "shard": shard, "attempt": attempt}},
            testResult={
                "cachedLocally": True,
                "testActionOutput": [
                    {"name": "test.log", "uri": "file:///nowhere"},
                    {"name": "test.xml", "uri": path.as_uri()},
                ],
            },
        )

    def count(self):
        return bazel_events.count(self._lines)


@pytest.mark.parametrize(
    "status, reports, expected",
    [
        ("PASSED", [ALL_GOOD], made(1)),
        ("PASSED", [ALL_GOOD, ALL_GOOD], made(2)),
        ("PASSED", [], made(1)),
        ("PASSED", [ALL_GOOD.replace(" />", "><skipped message='x' /></testcase>")],
         made(0, 0, {"x": 1})),
        ("FAILED", [GOOGLE_TEST],
         made(1, 1, {"needs AVX-512": 1, "no reason given": 1, "the test is disabled": 1})),
        # It broke off: before a report, within it, and after a report in which all is well.
        ("FAILED", [None], made(0, 1)),
        ("FAILED", [ALL_GOOD[:40]], made(0, 1)),
        ("TIMEOUT", [ALL_GOOD], made(1, 1)),
        ("FAILED_TO_BUILD", [], made(0, 1)),
        (None, [], made(0, 1)),
    ],
)
def test_counts_of_a_bazel_target(status, reports, expected, tmp_path):
    events = Events(tmp_path)
    events.target("//a:good", "PASSED", ALL_GOOD)
    events.target("//a:b", status, *reports)
    found, failed = events.count()
    expected += made(1)
    assert found == expected
    assert failed == ([] if status == "PASSED" else ["//a:b"])


def test_only_the_last_attempt_counts(tmp_path):
    events = Events(tmp_path)
    events.target("//a:b", None, GOOGLE_TEST)
    events.attempt("//a:b", 1, 2, ALL_GOOD)
    events.add({"testSummary": {"label": "//a:b"}}, testSummary={"overallStatus": "FLAKY"})
    assert events.count() == (made(1), [])


def test_a_target_for_another_configuration_is_skipped(tmp_path):
    events = Events(tmp_path)
    events.target("//a:gpu_test", None)
    for label in ("//a:gpu_test", "//a:gpu_library"):
        events.add({"targetCompleted": {"label": label}}, aborted={"reason": "SKIPPED"})
    assert events.count() == (made(0, 0, {bazel_events.INCOMPATIBLE: 1}), [])


def test_what_is_no_test_is_not_counted(tmp_path):
    events = Events(tmp_path)
    events.add({"targetConfigured": {"label": "//a:library"}}, configured={})
    assert events.count() == (made(), [])


def counting(*arguments):
    run = subprocess.run(
        [sys.executable, "-m", "counting", *map(str, arguments)],
        cwd=REPOSITORY / "tests", capture_output=True, text=True, check=False,
    )
    return run.returncode, run.stdout


def test_total_of_checks(tmp_path):
    outputs = {
        "good": ("2 skipped: x\n1 passed, 0 failed, 2 skipped\n", 0),
        "bad": ("3 passed, 4 failed, 0 skipped\n", 1),
        "other": ("1 skipped: x\n1 skipped: y\n5 passed, 0 failed, 2 skipped\n", 0),
    }
    log = ""
    for name, (text, code) in outputs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        log += counting("command", name, code, tmp_path / name)[1]
    (tmp_path / "log").write_text(log, encoding="utf-8")
    assert "bad: 4 failed, exit code 1\n" in log and "good:" not in log
    assert counting("total", tmp_path / "log") == (
        1, "3 skipped: x\n1 skipped: y\n9 passed, 4 failed, 4 skipped\n",
    )
