"""Batching of requests: its settings and its metrics."""

import shutil
import subprocess

import numpy as np
import pytest

from clients.batching_client import (
    await_refusals,
    look,
    metrics,
    occupy,
    parameters,
    rows,
    send,
    values,
)
from clients.client import Client, predict_request
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server, StartError, binary, free_port


def failure(*flags):
    """What a server that does not start prints."""
    ended = subprocess.run(
        [binary(), "serve", f"--port={free_port()}", "--max_num_load_retries=0", *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 255
    return ended.stdout


@pytest.mark.parametrize(
    "text, expected",
    [
        ("num_batch_threads { value: 0 }", "num_batch_threads must be positive; was 0"),
        ("max_batch_size { value: 0 }", "max_batch_size must be positive; was 0"),
        ("batch_timeout_micros { value: -1 }", "batch_timeout_micros must be non-negative; was -1"),
        (
            "max_batch_size { value: 2 } max_execution_batch_size { value: 3 } "
            "enable_large_batch_splitting { value: true }",
            "max_execution_batch_size must not be larger than max_batch_size",
        ),
        (
            "max_batch_size { value: 8 } allowed_batch_sizes: [2, 4]",
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 4; "
            "expected 8",
        ),
        ("max_batch_size: 4", "Invalid protobuf file"),
        ("max_batchsize { value: 4 }", "Invalid protobuf file"),
        ("", "Invalid argument"),
    ],
)
def test_parameters_that_are_refused(tmp_path, text, expected):
    file = tmp_path / "batching.config"
    file.write_text(text, encoding="utf-8")
    printed = failure(
        f"--model_base_path={HALF_PLUS_TWO}",
        "--enable_batching",
        f"--batching_parameters_file={file}",
    )
    assert "INVALID_ARGUMENT" in printed and expected in printed


def test_parameters_without_batching(tmp_path):
    file = tmp_path / "batching.config"
    file.write_text("max_batch_size { value: 4 }", encoding="utf-8")
    for flag in (f"--batching_parameters_file={file}", "--batching_mode=adaptive"):
        assert "enable_batching" in failure(f"--model_base_path={HALF_PLUS_TWO}", flag)


def test_a_file_of_comments_is_the_defaults(start_batching, tmp_path):
    file = tmp_path / "empty.config"
    file.write_text("# nothing\n", encoding="utf-8")
    server = start_batching(f"--batching_parameters_file={file}")
    assert rows(send(server, look([1.0]))[0]) == [1]


def test_parameters_of_each_model(start_batching, look_model, tmp_path):
    batched = tmp_path / "batched"
    shutil.copytree(look_model.base_path, batched)
    (batched / "1" / "batching_params.pbtxt").write_text(
        parameters(max_batch_size=4, allowed_batch_sizes=[4], num_batch_threads=0),
        encoding="utf-8",
    )
    server = start_batching(
        "--enable_per_model_batching_parameters",
        models=[Model("batched", batched), look_model],
        max_batch_size=2,
        num_batch_threads=1,
    )
    request = look([1.0])
    assert rows(send(server, request)[0]) == [1], "no file: not batched"
    assert rows(send(server, look([1.0] * 5))[0]) == [5] * 5
    request.model_spec.name = "batched"
    assert rows(send(server, request)[0]) == [4]


def test_parameters_of_a_model_that_are_refused(look_model, tmp_path):
    batched = tmp_path / "batched"
    shutil.copytree(look_model.base_path, batched)
    for text, expected in [("nonsense", "Invalid protobuf file"), ("max_batch_size {}", "was 0")]:
        (batched / "1" / "batching_params.pbtxt").write_text(text, encoding="utf-8")
        flags = [f"--model_base_path={batched}", "--enable_per_model_batching_parameters"]
        assert expected in failure("--enable_batching", *flags)
    with Server(
        "--enable_per_model_batching_parameters", models=[Model("batched", batched)]
    ) as server:
        assert server.is_running(), "without enable_batching the file is not read"


def test_metrics(start_batching):
    server = start_batching(max_batch_size=4, allowed_batch_sizes=[4])
    request = predict_request(
        "look", {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float32)}, signature="add"
    )
    server.client.predict(request)
    page = metrics(server)
    prefix = ":tensorflow:serving:batching_session:"
    for line in [
        "# TYPE " + prefix + "queuing_latency histogram",
        prefix + 'queuing_latency_count{thread_pool_name=""} 1',
        prefix + "wrapped_run_count{} 1",
        prefix + "input_batch_size_count{} 2",  # one an input tensor
        prefix + "input_batch_size_sum{} 6",
        prefix + "processed_batch_size_sum{} 4",
        prefix + 'padding_size_sum{execution_batch_size="4"} 1',
        prefix + 'padding_size_bucket{execution_batch_size="4",le="1"} 0',
        prefix + 'padding_size_bucket{execution_batch_size="4",le="2"} 1',
        prefix + 'padding_size_bucket{execution_batch_size="4",le="8192"} 1',
    ]:
        assert line + "\n" in page


def test_adaptive_from_yaml(look_model, gate, tmp_path):
    file = tmp_path / "tessera.yaml"
    file.write_text(
        f"models:\n  - {{name: look, base_path: {look_model.base_path}}}\n"
        "monitoring: {prometheus_config: {enable: true}}\n"
        "batching: {mode: adaptive, num_batch_threads: 1, max_batch_size: 3, "
        "max_enqueued_batches: 1}\n",
        encoding="utf-8",
    )
    with Server(f"--config={file}") as server, Client(server) as client:
        server.client = client
        running = occupy(server)
        waiting, _ = await_refusals(send(server, *[look([2.0])] * 4), 1)
        gate.open()
        assert [rows(answer) for answer in waiting] == [[3]] * 3
        assert values(running) == [2.0]
    file.write_text("batching: {mode: eager}\n", encoding="utf-8")
    printed = failure(f"--config={file}", f"--model_base_path={look_model.base_path}")
    assert "batching_mode must be upstream, adaptive or measured; was eager" in printed


def test_a_model_that_is_refused_leaves_no_server(start_batching):
    with pytest.raises(StartError):
        start_batching(max_batch_size=4, allowed_batch_sizes=[2])
