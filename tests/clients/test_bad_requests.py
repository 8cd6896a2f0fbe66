"""Requests that cannot be answered: the error names the culprit and, where there is one, the remedy.

The fixture `serving` sees to it that after each the server still answers rightly.
"""

import json
import pathlib
import socket

import numpy as np
import pytest
from tensorflow.core.framework import tensor_pb2, types_pb2

from clients.client import predict_request, refused

X = np.array([1, 2, 3], np.float32)
SIGNATURES = (
    "classify_x_to_y, regress_x2_to_y3, regress_x_to_y, regress_x_to_y2, serving_default"
)


def shaped(dtype, sizes, **values):
    proto = tensor_pb2.TensorProto(dtype=dtype, **values)
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


GRPC = {
    "unknown_model": (
        predict_request("nope", {"x": X}),
        "NOT_FOUND",
        ["Latest(nope)", "no version of such a model has been found"],
    ),
    "unknown_version": (
        predict_request("m", {"x": X}, version=7),
        "NOT_FOUND",
        ["Specific(m, 7)", "ready versions: 123"],
    ),
    "unknown_label": (
        predict_request("m", {"x": X}, label="nope"),
        "INVALID_ARGUMENT",
        ["label: nope", "labels of the model: stable"],
    ),
    "unknown_signature": (
        predict_request("m", {"x": X}, signature="nope"),
        "FAILED_PRECONDITION",
        ['"nope" not found', "The model has: " + SIGNATURES],
    ),
    "missing_input": (
        predict_request("m", {}),
        "INVALID_ARGUMENT",
        ["Missing but required: {x}"],
    ),
    "unknown_input": (
        predict_request("m", {"x": X, "w": X}),
        "INVALID_ARGUMENT",
        ["Sent extra: {w}"],
    ),
    "misspelt_input": (
        predict_request("m", {"w": X}),
        "INVALID_ARGUMENT",
        ["input alias: x", "not found in request", "{x}"],
    ),
    "text_for_numbers": (
        predict_request("m", {"x": np.array([b"1"], object)}),
        "INVALID_ARGUMENT",
        ["'serving_default' expects its input 'x' to be float but string is provided"],
    ),
    "doubles_for_floats": (
        predict_request("m", {"x": X.astype(np.float64)}),
        "INVALID_ARGUMENT",
        ["'serving_default' expects its input 'x' to be float but double is provided"],
    ),
    "shape_of_no_image": (
        predict_request("digits", {"image": np.zeros((1, 3, 3, 1), np.float32)}),
        "INVALID_ARGUMENT",
        ["its input 'image' to have shape [?,8,8,1] but [1,3,3,1] is provided", "{{node ", "cannot reshape"],
    ),
    "unknown_output": (
        predict_request("m", {"x": X}, output_filter=["z"]),
        "INVALID_ARGUMENT",
        ["signature: z", "{y}"],
    ),
    "no_dtype": (
        predict_request("m", {"x": shaped(types_pb2.DT_INVALID, [1], float_val=[1])}),
        "INVALID_ARGUMENT",
        ["tensor parsing error: x", "no usable dtype"],
    ),
    "negative_dimension": (
        predict_request("m", {"x": shaped(types_pb2.DT_FLOAT, [-5], float_val=[1])}),
        "INVALID_ARGUMENT",
        ["tensor parsing error: x", "dimension -5"],
    ),
    "unknown_dimension": (
        predict_request("m", {"x": shaped(types_pb2.DT_FLOAT, [-1], float_val=[1])}),
        "INVALID_ARGUMENT",
        ["tensor parsing error: x", "not fully defined"],
    ),
    "more_elements_than_can_be_counted": (
        predict_request("m", {"x": shaped(types_pb2.DT_FLOAT, [2**31] * 3, float_val=[1])}),
        "INVALID_ARGUMENT",
        ["tensor parsing error: x", "64 bits"],
    ),
    "one_value_for_four_gibibytes": (
        predict_request("m", {"x": shaped(types_pb2.DT_FLOAT, [2**30], float_val=[1])}),
        "INVALID_ARGUMENT",
        ["tensor parsing error: x", "[1073741824]", "more than the 2147483648 bytes allowed"],
    ),
    "one_text_for_a_tebibyte": (
        predict_request(
            "m",
            {"inputs": shaped(types_pb2.DT_STRING, [2**20], string_val=[b"s" * 2**20])},
            signature="regress_x_to_y",
        ),
        "INVALID_ARGUMENT",
        ["tensor parsing error: inputs", "[1048576]", "more than the 2147483648 bytes allowed"],
    ),
    "content_of_another_size": (
        predict_request("m", {"x": shaped(types_pb2.DT_FLOAT, [2], tensor_content=b"\0" * 3)}),
        "INVALID_ARGUMENT",
        ["tensor parsing error: x", "3 bytes", "float tensor of shape [2]"],
    ),
}


@pytest.mark.parametrize("case", GRPC)
def test_grpc(client, case):
    request, code, words = GRPC[case]
    for word in words:
        with refused(code, word):
            client.predict(request)


REST = {
    "unknown_model": ("/v1/models/nope:predict", '{"instances": [1]}', 404, ["Latest(nope)"]),
    "unknown_version": (
        "/v1/models/m/versions/7:predict",
        '{"instances": [1]}',
        404,
        ["Specific(m, 7)", "ready versions: 123"],
    ),
    "unknown_label": (
        "/v1/models/m/labels/nope:predict",
        '{"instances": [1]}',
        400,
        ["label: nope", "labels of the model: stable"],
    ),
    "unknown_signature": (
        "/v1/models/m:predict",
        '{"signature_name": "nope", "instances": [1]}',
        400,
        ['"nope" not found', "the model has: " + SIGNATURES],
    ),
    "unknown_signature_of_examples": (
        "/v1/models/m:classify",
        '{"signature_name": "nope", "examples": [{"x": 1.0}]}',
        400,
        ["name: nope", "the model has: " + SIGNATURES],
    ),
    "missing_input": ("/v1/models/m:predict", '{"inputs": {"w": 1}}', 400, ["named input: x"]),
    "unknown_input": (
        "/v1/models/m:predict",
        '{"instances": [{"x": 1, "w": 1}]}',
        400,
        ["element: 0", "named input: w"],
    ),
    "wrong_type": (
        "/v1/models/m:predict",
        '{"instances": [1, "a"]}',
        400,
        ["element: 1", '"a"', "expected type: float"],
    ),
    "malformed": ("/v1/models/m:predict", '{"instances": [1, ]}', 400, ["at offset: 18"]),
    "cut_short": ("/v1/models/m:predict", '{"instances": [1', 400, ["at offset: 16"]),
    "empty": ("/v1/models/m:predict", "", 400, ["The document is empty"]),
    "ragged": (
        "/v1/models/m:predict",
        '{"instances": [[1, 2], [3]]}',
        400,
        ["element: 1", "tensor size: 2 but got: 1"],
    ),
    "ragged_columns": (
        "/v1/models/m:predict",
        '{"inputs": [[[1], [2]], [[3], 4]]}',
        400,
        ["level"],
    ),
    "half_a_million_levels": (
        "/v1/models/m:predict",
        '{"instances": ' + "[" * 500_000 + "1" + "]" * 500_000 + "}",
        400,
        ["Failed to process element: 0"],
    ),
    "half_a_million_levels_unclosed": (
        "/v1/models/m:predict",
        '{"instances": ' + "[" * 500_000,
        400,
        ["at offset: 500014"],
    ),
    "number_beyond_double": ("/v1/models/m:predict", '{"instances": [1e400]}', 400, ["too big"]),
}


@pytest.mark.parametrize("case", REST)
def test_rest(serving, case):
    path, body, status, words = REST[case]
    got_status, headers, reply = serving.http("POST", path, body.encode())
    assert (got_status, headers["Content-Type"]) == (status, "application/json"), reply[:1000]
    error = json.loads(reply)["error"]
    for word in words:
        assert word in error


def test_a_body_that_is_too_large_is_refused_unread(serving):
    with socket.create_connection(("127.0.0.1", serving.rest_port), timeout=20) as connection:
        connection.sendall(
            b"POST /v1/models/m:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000000\r\n\r\n{"
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def peak_memory(server):
    """The most memory that the server's process has had, in MiB."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def test_sizes_are_checked_before_memory_is_taken(serving, client):
    before = peak_memory(serving)
    for case in ("one_value_for_four_gibibytes", "more_elements_than_can_be_counted"):
        request, code, _ = GRPC[case]
        for _ in range(20):
            with refused(code):
                client.predict(request)
    assert peak_memory(serving) < before + 64
