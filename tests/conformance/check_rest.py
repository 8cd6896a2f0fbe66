"""Replays request cases recorded as JSON lines, and checks what this server makes of them.

    scripts/check_rest tests/data/tfserving/rest_cases.jsonl tests/data/tfserving/grpc_cases.jsonl

Each line is one case: {id, op, basis, input or method and request, expect, note?}. Cases of op
`http` and `grpc` are sent to a running `tessera serve` that serves model `m` from half_plus_two
(looked for beside the first file, then in tests/data/tfserving) with the label `stable` on version
123. All others concern the code that parses and prints; they go to
bazel-bin/tests/conformance/rest_cases, which reads the lines and answers `PASS ID` or `FAIL ID
REASON` for each.

Status, gRPC code, body and content type must be as recorded. The wording of an error is the
server's own except where clients are known to read it: those cases have the basis `upstream_test`.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys

from conformance import answers, replay
from conformance import protos  # noqa: F401  (its import finds the messages without TensorFlow)
from conformance.tensors import Tolerance
from clients.server import DATA, REPOSITORY, Model, Server, StartError

import grpc
from google.protobuf import descriptor_pool, message_factory, text_format

def wording_difference(case, key, text):
    """Holds the server to an error's wording only where upstream's own tests do."""
    wanted = case["expect"].get(key)
    if wanted is None or case["basis"] != "upstream_test" or wanted in text:
        return None
    return f"the message is {text[:300]!r}, expected to contain {wanted!r}"


def http_body(recorded):
    """The bytes to send: `body`, or `body_recipe`, whose parts are texts or [text, times]."""
    if "body_recipe" in recorded:
        parts = recorded["body_recipe"]
        text = "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)
    else:
        text = recorded.get("body") or ""
    headers = {k: v for k, v in recorded.get("headers", {}).items() if k != "X-Case-Raw"}
    body = text.encode()
    if "gzip" in headers.get("Content-Encoding", "") and "X-Case-Raw" not in recorded["headers"]:
        body = gzip.compress(body)
    return body, headers


def error_text(body):
    """The message of an error reply; of one that is not JSON, all of it."""
    try:
        return json.loads(body)["error"]
    except (ValueError, TypeError, KeyError):
        return body


def http_difference(case, server):
    recorded, expect = case["input"], case["expect"]
    body, headers = http_body(recorded)
    status, response_headers, response = server.http(
        recorded["method"], recorded["path"], body or None, headers, timeout=replay.REQUEST_SECONDS
    )
    text = response.decode(errors="replace")
    if status != expect["status"]:
        return f"status is {status}, expected {expect['status']}: {text[:300]}"
    content_type = response_headers.get("Content-Type", "").split(";")[0]
    if "content_type" in expect and content_type != expect["content_type"]:
        return f"Content-Type is {content_type!r}, expected {expect['content_type']!r}"
    if "exact_body" in expect and text != expect["exact_body"]:
        return f"the body is {text[:300]!r}, expected {expect['exact_body']!r}"
    if "json" in expect:
        try:
            return answers.json_difference(json.loads(text), expect["json"], Tolerance())
        except ValueError as error:
            return f"the body is not JSON ({error}): {text[:300]!r}"
    return wording_difference(case, "error_contains", error_text(text))


def grpc_difference(case, channel):
    service_name, method_name = case["method"].split("/")
    service = descriptor_pool.Default().FindServiceByName(service_name)
    method = service.FindMethodByName(method_name)
    request_class = message_factory.GetMessageClass(method.input_type)
    response_class = message_factory.GetMessageClass(method.output_type)
    call = channel.unary_unary(
        "/" + case["method"], request_class.SerializeToString, response_class.FromString
    )
    request = text_format.Parse(case["request"], request_class())
    expect = case["expect"]
    try:
        response = call(request, timeout=replay.REQUEST_SECONDS)
    except grpc.RpcError as error:
        if error.code().name != expect["code"]:
            return f"code is {error.code().name}, expected {expect['code']}: {error.details()}"
        return wording_difference(case, "message_contains", error.details() or "")
    if expect["code"] != "OK":
        return f"code is OK, expected {expect['code']}"
    want = text_format.Parse(expect.get("response", ""), response_class())
    if "response" in expect and response != want:
        return (
            f"the response is {{ {text_format.MessageToString(response, as_one_line=True)} }}, "
            f"expected {{ {text_format.MessageToString(want, as_one_line=True)} }}"
        )
    return None


def served_model(files):
    """The folder of half_plus_two that the cases were recorded with."""
    for folder in (files[0].parent, DATA / "tfserving"):
        if (folder / "half_plus_two").is_dir():
            return folder / "half_plus_two"
    raise StartError(f"half_plus_two is neither beside {files[0]} nor in {DATA / 'tfserving'}")


def check_on_server(cases, files):
    """Differences of the `http` and `grpc` cases by id, None where there is none."""
    if not cases:
        return {}
    try:
        model = Model("m", served_model(files), labels={"stable": 123})
        server = Server("--allow_version_labels_for_unavailable_models", models=[model])
    except StartError as error:
        return {case["id"]: f"no server: {error}" for case in cases}
    with server, grpc.insecure_channel(server.grpc_address) as channel:
        return replay.differences(
            cases,
            server,
            lambda case: (
                http_difference(case, server)
                if case["op"] == "http"
                else grpc_difference(case, channel)
            ),
        )


def check_in_process(cases):
    """Differences of the other cases by id, as the C++ program finds them."""
    if not cases:
        return {}
    program = os.environ.get(
        "TESSERA_REST_CASES", REPOSITORY / "bazel-bin" / "tests" / "conformance" / "rest_cases"
    )
    try:
        run = subprocess.run(
            [program],
            input="".join(json.dumps(case) + "\n" for case in cases),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return {case["id"]: f"rest_cases does not run: {error}" for case in cases}
    results = {}
    for line in run.stdout.splitlines():
        verdict, _, rest = line.partition(" ")
        identity, _, reason = rest.partition(" ")
        if verdict in ("PASS", "FAIL"):
            results[identity] = None if verdict == "PASS" else reason or "no reason given"
    unanswered = f"rest_cases (exit code {run.returncode}) gave no answer: {run.stderr[-300:]}"
    return {case["id"]: results.get(case["id"], unanswered) for case in cases}


def main():
    parser = argparse.ArgumentParser(
        prog="check_rest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="files of cases, JSON lines")
    files = parser.parse_args().files

    cases = replay.read_cases(files)
    sent = [case for case in cases if case["op"] in ("http", "grpc")]
    rest = [case for case in cases if case["op"] not in ("http", "grpc")]
    results = check_on_server(sent, files) | check_in_process(rest)
    return replay.report(cases, results)


if __name__ == "__main__":
    sys.exit(main())
