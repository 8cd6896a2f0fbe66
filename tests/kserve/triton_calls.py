"""Asks a server by one of Triton's clients, and fails where an answer is wrong.

    "$(scripts/python_env kserve)" tests/kserve/triton_calls.py FORM ADDRESS [CA_CERTIFICATE [TOKEN]]

FORM is grpc, http, grpc_asyncio or http_asyncio. The server has the models of
tests/data/kserve_v2 and lets clients load and unload them. With a certificate, it speaks TLS.
"""

import asyncio
import inspect
import queue
import ssl
import sys

import numpy as np

import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio
from tritonclient.utils import InferenceServerException


class Bearer(tritonclient.http.InferenceServerClientPlugin):
    """Adds a token to each request."""

    def __init__(self, token):
        self._authorization = f"Bearer {token}"

    def __call__(self, request):
        request.headers["authorization"] = self._authorization


class Caller:
    """A client whose methods return their results, whichever form it is of."""

    def __init__(self, form, address, certificate, token):
        self.by_grpc = form.startswith("grpc")
        self.module = tritonclient.grpc if self.by_grpc else tritonclient.http
        self._loop = asyncio.new_event_loop()
        options = self._options(form, certificate) if certificate else {}
        modules = {"grpc_asyncio": tritonclient.grpc.aio, "http_asyncio": tritonclient.http.aio}

        async def make():  # clients of asyncio are made inside of a loop
            return modules.get(form, self.module).InferenceServerClient(address, **options)

        self.client = self._loop.run_until_complete(make())
        if token:
            self.client.register_plugin(Bearer(token))

    @staticmethod
    def _options(form, certificate):
        """What makes a client of this form use TLS."""
        if form.startswith("grpc"):
            return {"ssl": True, "root_certificates": certificate}
        if form == "http_asyncio":
            return {"ssl": True, "ssl_context": ssl.create_default_context(cafile=certificate)}
        return {"ssl": True, "ssl_options": {"ca_certs": certificate}}

    def __getattr__(self, name):
        def call(*args, **kwargs):
            async def run():
                result = getattr(self.client, name)(*args, **kwargs)
                return await result if inspect.isawaitable(result) else result

            return self._loop.run_until_complete(run())

        return call

    def input(self, name, values, datatype, **options):
        tensor = self.module.InferInput(name, list(values.shape), datatype)
        tensor.set_data_from_numpy(values, **options)
        return tensor

    def output(self, name, **options):
        return self.module.InferRequestedOutput(name, **options)

    def field(self, answer, name):
        """A member of an answer, which is a message by gRPC and a dictionary by HTTP."""
        return getattr(answer, name) if self.by_grpc else answer[name]


def expect_error(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except InferenceServerException as error:
        assert error.message(), error
        return
    raise AssertionError(f"{call} did not fail")


def check_health_and_metadata(caller):
    assert caller.is_server_live()
    assert caller.is_server_ready()
    assert caller.is_model_ready("half_plus_two")
    assert caller.is_model_ready("half_plus_two", "1")
    assert not caller.is_model_ready("no_such_model")
    assert "binary_tensor_data" in caller.field(caller.get_server_metadata(), "extensions")
    metadata = caller.get_model_metadata("identity_fp16")
    (tensor,) = caller.field(metadata, "inputs")
    assert caller.field(tensor, "datatype") == "FP16"
    assert list(caller.field(tensor, "shape")) == [-1, -1]
    config = caller.get_model_config("identity_bytes")
    config = caller.field(config, "config") if caller.by_grpc else config
    assert caller.field(config, "name") == "identity_bytes"
    (tensor,) = caller.field(config, "output")
    assert list(caller.field(tensor, "dims")) == [-1, -1]
    expect_error(caller.get_model_metadata, "no_such_model")


def check_inference(caller):
    x = np.array([1, 2, -8], np.float32)
    result = caller.infer("half_plus_two", [caller.input("x", x, "FP32")], request_id="one")
    np.testing.assert_array_equal(result.as_numpy("y"), [2.5, 3, -2])
    assert caller.field(result.get_response(), "id") == "one"

    # Large enough for tensors that share the memory of messages.
    large = np.random.default_rng(1).random((512, 1024))
    result = caller.infer("identity_fp64", [caller.input("x", large, "FP64")])
    np.testing.assert_array_equal(result.as_numpy("y"), large)

    half = np.array([[1.5, -2, 65504]], np.float16)
    result = caller.infer("identity_fp16", [caller.input("x", half, "FP16")])
    np.testing.assert_array_equal(result.as_numpy("y"), half)

    numbers = caller.input("n", np.array([7, 8], np.int32), "INT32")
    texts = caller.input("s", np.array([b"", b"\xff\x00a"], np.object_), "BYTES")
    result = caller.infer("identity_pair", [texts, numbers])
    np.testing.assert_array_equal(result.as_numpy("n_out"), [7, 8])
    assert list(result.as_numpy("s_out")) == [b"", b"\xff\x00a"]
    result = caller.infer("identity_pair", [numbers, texts], outputs=[caller.output("n_out")])
    assert result.as_numpy("s_out") is None

    top = caller.output("y", class_count=2)
    result = caller.infer("half_plus_two", [caller.input("x", x, "FP32")], outputs=[top])
    assert list(result.as_numpy("y")) == [b"3.000000:1", b"2.500000:0"]

    sequence = 2**63 + 5  # which fits no int64
    options = {"priority": 3, "timeout": 10**7} | (
        {} if caller.by_grpc else {"sequence_id": sequence, "sequence_start": True}
    )
    result = caller.infer("half_plus_two", [caller.input("x", x, "FP32")], **options)
    np.testing.assert_array_equal(result.as_numpy("y"), [2.5, 3, -2])

    wrong = caller.input("x", np.ones((2, 2), np.float64), "FP64")
    expect_error(caller.infer, "half_plus_two", [wrong])
    expect_error(caller.infer, "half_plus_two", [caller.input("x", x, "FP32")], model_version="9")


def check_shared_memory(caller):
    """There is none, and a request for it is not answered as if it were there."""
    x = caller.input("x", np.array([1], np.float32), "FP32")
    y = caller.output("y")
    y.set_shared_memory("region", 4)
    expect_error(caller.infer, "half_plus_two", [x], outputs=[y])
    x = caller.module.InferInput("x", [1], "FP32")
    x.set_shared_memory("region", 4)
    expect_error(caller.infer, "half_plus_two", [x])


def check_bodies(caller):
    """JSON and binary tensors, and compressed bodies, which only HTTP has."""
    x = np.array([1, 2, -8], np.float32)
    for binary_input in (True, False):
        for binary_output in (True, False):
            result = caller.infer(
                "half_plus_two",
                [caller.input("x", x, "FP32", binary_data=binary_input)],
                outputs=[caller.output("y", binary_data=binary_output)],
            )
            np.testing.assert_array_equal(result.as_numpy("y"), [2.5, 3, -2])
    for algorithm in ("gzip", "deflate"):
        result = caller.infer(
            "half_plus_two",
            [caller.input("x", x, "FP32")],
            request_compression_algorithm=algorithm,
            response_compression_algorithm=algorithm,
        )
        np.testing.assert_array_equal(result.as_numpy("y"), [2.5, 3, -2])


def check_stream(caller):
    """A stream of the client with callbacks: an error in between ends nothing."""
    answers = queue.Queue()
    caller.client.start_stream(lambda result, error: answers.put((result, error)))
    good = caller.input("x", np.array([2], np.float32), "FP32")
    bad = caller.input("z", np.array([2], np.float32), "FP32")
    for tensor in (good, bad, good):
        caller.client.async_stream_infer(
            "half_plus_two", [tensor], enable_empty_final_response=True
        )
    got = [answers.get(timeout=60) for _ in range(3)]
    caller.client.stop_stream()
    assert [error is None for _, error in got] == [True, False, True], got
    assert got[2][0].as_numpy("y") == [3]
    assert got[2][0].get_response().parameters["triton_final_response"].bool_param


def check_control(caller):
    assert caller.is_model_ready("identity_uint8")
    caller.unload_model("identity_uint8")
    assert not caller.is_model_ready("identity_uint8")
    index = caller.get_model_repository_index()
    models = index.models if caller.by_grpc else index
    states = {caller.field(m, "name"): caller.field(m, "state") for m in models}
    assert states["half_plus_two"] == "READY"
    assert states["identity_uint8"] in ("UNLOADING", "UNAVAILABLE")
    caller.load_model("identity_uint8")
    assert caller.is_model_ready("identity_uint8")
    expect_error(caller.load_model, "no_such_model")
    expect_error(caller.load_model, "identity_uint8", config='{"max_batch_size": 8}')


def check_statistics_and_settings(caller):
    statistics = caller.get_inference_statistics("half_plus_two")
    (model,) = caller.field(statistics, "model_stats")
    assert caller.field(model, "inference_count") >= 1
    assert caller.field(model, "last_inference") >= 1
    caller.get_trace_settings()
    caller.get_log_settings()
    expect_error(caller.update_log_settings, {"log_verbose_level": 3})


def main(form, address, certificate=None, token=None):
    caller = Caller(form, address, certificate, token)
    check_health_and_metadata(caller)
    check_inference(caller)
    check_shared_memory(caller)
    if form == "grpc":
        check_stream(caller)
    if not caller.by_grpc:
        check_bodies(caller)
    check_control(caller)
    check_statistics_and_settings(caller)
    caller.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
