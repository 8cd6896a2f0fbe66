"""What the checkers that replay recorded cases on a server share: reading them, and the verdict."""

import http.client
import json

import grpc

from counting.counts import Counts

REQUEST_SECONDS = 60


def read_cases(files):
    """The cases of files with a JSON object a line."""
    cases = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                cases.append(json.loads(line))
    return cases


def differences(cases, server, difference_of):
    """What `difference_of` each case in turn says by the case's id: None, or what is wrong."""
    results = {}
    for case in cases:
        try:
            results[case["id"]] = difference_of(case)
        except (OSError, http.client.HTTPException, grpc.RpcError) as error:
            ended = "" if server.is_running() else f"; the server ended:\n{server.log()}"
            results[case["id"]] = f"no answer: {error!r}{ended}"
    return results


def report(cases, results):
    """Prints what failed and the counts. Returns the exit code."""
    counts = Counts()
    for case in cases:
        difference = results[case["id"]]
        if difference is None:
            counts.passed += 1
        else:
            counts.failed += 1
            note = f" (note: {case['note']})" if case.get("note") else ""
            print(f"FAIL {case['id']} [{case['op']}, {case['basis']}]: {difference}{note}")
    print(counts)
    return 1 if counts.failed else 0
