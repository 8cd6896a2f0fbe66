"""Replays request cases of KServe's protocol, version 2, and checks what this server answers.

    scripts/check_v2 tests/data/kserve_v2/rest_cases.jsonl tests/data/kserve_v2/grpc_cases.jsonl

Each line is one case: {id, op, basis, method, request, expect, note?}. The cases of a file are sent
in order to a fresh server with the models of the folder `models` beside the file (else of
tests/data/kserve_v2), where models may be loaded and unloaded. Of several statuses that a case
allows the preferred one must come, if one is named. Texts of errors are free.
"""

import argparse
import base64
import contextlib
import functools
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

from conformance import replay
from conformance.v2_values import MISSING, difference, encode, flat, outputs_difference
from clients.server import DATA, REPOSITORY, Model, Server, StartError

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2

SERVICE = "inference.GRPCInferenceService"
JSON_LENGTH = "inference-header-content-length"


@functools.cache
def pool():
    """The messages of apis/inference."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(
            [
                "protoc",
                f"-I{REPOSITORY / 'apis'}",
                "--include_imports",
                f"--descriptor_set_out={file.name}",
                "inference/grpc_service.proto",
            ],
            check=True,
        )
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(file.name).read_bytes())
    result = descriptor_pool.DescriptorPool()
    for proto in files.file:
        result.Add(proto)
    return result


def message_class(name):
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


def status_difference(got, expect, key):
    wanted = [expect["prefer"]] if "prefer" in expect else expect[key]
    return None if got in wanted else f"{key} is {got}, expected {wanted}"


def http_body(case):
    """The bytes to send, and the headers."""
    parts = [
        bytes.fromhex(part["hex"])
        if "hex" in part
        else (part["text"] if "text" in part else json.dumps(part["json"])).encode()
        for part in case.get("body", [])
    ]
    headers = dict(case.get("headers", {}))
    for name, value in headers.items():
        if value == "auto":
            headers[name] = str(len(parts[0]))
    encoders = {None: bytes, "gzip": gzip.compress, "deflate": zlib.compress}
    return encoders[case.get("encode")](b"".join(parts)), headers


def http_outputs(answer, binary):
    """The outputs of an inference, as outputs_difference() takes them."""
    outputs = {}
    for output in answer["outputs"]:
        size = output.get("parameters", {}).get("binary_data_size")
        if size is None:
            raw, form = encode(output["datatype"], flat(output["data"])), "json"
        else:
            raw, form, binary = binary[:size], "binary", binary[size:]
        outputs[output["name"]] = {
            "datatype": output["datatype"],
            "shape": output["shape"],
            "raw": raw,
            "form": form,
        }
    if binary:
        raise ValueError(f"{len(binary)} bytes are left over")
    return outputs


def http_difference(case, server):
    expect = case["expect"]
    body, headers = http_body(case)
    status, got_headers, answer = server.http(
        case["method"], case["path"], body or None, headers, timeout=replay.REQUEST_SECONDS
    )
    wrong = status_difference(status, expect, "status")
    if wrong:
        return f"{wrong}: {answer[:300]!r}"
    got_headers = {name.lower(): value for name, value in got_headers.items()}
    decoders = {None: bytes, "gzip": gzip.decompress, "deflate": zlib.decompress}
    answer = decoders[got_headers.get("content-encoding")](answer)
    length = int(got_headers.get(JSON_LENGTH, len(answer)))
    try:
        if status >= 400:
            has_text = expect.get("error") is False or bool(json.loads(answer)["error"])
            return None if has_text else "the error has no text"
        for name, wanted in expect.get("headers", {}).items():
            wrong = wrong or difference(got_headers.get(name, MISSING), wanted, name)
        if "json" in expect:
            wrong = wrong or difference(json.loads(answer[:length]), expect["json"])
        if "outputs" in expect:
            got = http_outputs(json.loads(answer[:length]), answer[length:])
            wrong = wrong or outputs_difference(got, expect["outputs"])
    except (ValueError, KeyError, TypeError) as error:
        return f"{error!r} in {answer[:300]!r}"
    return wrong


def infer_request(fields):
    fields = dict(fields)
    raw = fields.pop("raw_hex", None)
    if raw is not None:
        fields["raw_input_contents"] = [base64.b64encode(bytes.fromhex(h)).decode() for h in raw]
    return json_format.ParseDict(fields, message_class("inference.ModelInferRequest")())


def as_json(message):
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def grpc_outputs(response):
    """The outputs of an inference, as outputs_difference() takes them."""
    outputs = {}
    for i, output in enumerate(response.outputs):
        if response.raw_output_contents:
            raw = response.raw_output_contents[i]
        else:
            ((_, values),) = output.contents.ListFields()
            raw = encode(output.datatype, list(values))
        outputs[output.name] = {
            "datatype": output.datatype,
            "shape": list(output.shape),
            "raw": raw,
        }
    return outputs


def answer_difference(answer, inference, expect):
    wrong = difference(as_json(answer), expect.get("response", {}))
    if wrong is None and "outputs" in expect:
        wrong = outputs_difference(grpc_outputs(inference), expect["outputs"])
    return wrong


def stream_difference(answers, expect):
    if len(answers) != len(expect["responses"]):
        return f"{len(answers)} answers, expected {len(expect['responses'])}"
    by_id = {answer.infer_response.id: answer for answer in answers}
    for i, wanted in enumerate(expect["responses"]):
        answer = by_id.get(wanted["id"]) if expect.get("by_id") else answers[i]
        if answer is None:
            return f"there is no answer {wanted['id']!r}"
        if bool(answer.error_message) != wanted["error"]:
            return f"the error of {wanted['id']!r} is {answer.error_message!r}"
        wrong = answer_difference(answer, answer.infer_response, wanted)
        if wrong:
            return f"{wanted['id']!r}: {wrong}"
    return None


def grpc_difference(case, channel):
    name, expect = case["method"], case["expect"]
    options = {"timeout": replay.REQUEST_SECONDS}
    if case.get("encode") == "gzip":
        options["compression"] = grpc.Compression.Gzip
    if name == "Health/Check":
        path, request = "/grpc.health.v1.Health/Check", health_pb2.HealthCheckRequest()
        answer_class = health_pb2.HealthCheckResponse
    else:
        method = pool().FindServiceByName(SERVICE).FindMethodByName(name)
        path = f"/{SERVICE}/{name}"
        answer_class = message_factory.GetMessageClass(method.output_type)
        if name == "ModelInfer":
            request = infer_request(case["request"])
        elif name != "ModelStreamInfer":
            request_class = message_factory.GetMessageClass(method.input_type)
            request = json_format.ParseDict(case["request"], request_class())
    serialize = lambda message: message.SerializeToString()  # noqa: E731
    try:
        if name == "ModelStreamInfer":
            call = channel.stream_stream(path, serialize, answer_class.FromString)
            requests = map(infer_request, case["requests"])
            return stream_difference(list(call(requests, **options)), expect)
        answer = channel.unary_unary(path, serialize, answer_class.FromString)(request, **options)
    except grpc.RpcError as error:
        wrong = status_difference(error.code().name, expect, "code")
        if wrong or error.details():
            return wrong and f"{wrong}: {error.details()}"
        return "the error has no text"
    return status_difference("OK", expect, "code") or answer_difference(answer, answer, expect)


def models_of(file):
    """The models that the cases of a file ask."""
    for folder in (file.parent / "models", DATA / "kserve_v2" / "models"):
        if folder.is_dir():
            return [Model(path.name, path) for path in sorted(folder.iterdir())]
    raise StartError(f"there are no models beside {file}")


def check(file):
    """The cases of a file, and their differences by id."""
    cases = replay.read_cases([file])
    try:
        server = Server(
            "--enable_model_control", "--enable_grpc_healthcheck_service", models=models_of(file)
        )
    except StartError as error:
        return cases, {case["id"]: f"no server: {error}" for case in cases}
    with contextlib.ExitStack() as stack:
        stack.enter_context(server)
        channel = stack.enter_context(grpc.insecure_channel(server.grpc_address))
        return cases, replay.differences(
            cases,
            server,
            lambda case: (
                http_difference(case, server)
                if case["op"] == "http"
                else grpc_difference(case, channel)
            ),
        )


def main():
    parser = argparse.ArgumentParser(
        prog="check_v2", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="files of cases, JSON lines")
    all_cases, results = [], {}
    for file in parser.parse_args().files:
        cases, differences = check(file)
        all_cases += cases
        results |= differences
    return replay.report(all_cases, results)


if __name__ == "__main__":
    sys.exit(main())
