"""Runs //benchmarks:load_generator from the scripts of this folder.

    case = Case(folder, "x", request, answers)          # PredictRequest, right PredictResponses
    capacity = answers_per_second(server, case, in_flight=8)
    with Load(server, case, rate=capacity / 2) as load:
        load.window("before")
        ...
        load.window("swap")
        ...
    load.summary["windows"]["swap"]["p99_us"]
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))


def build():
    """Builds what TESSERA_BINARY and TESSERA_LOAD_GENERATOR do not name already."""
    targets = [
        target
        for variable, target in (
            ("TESSERA_BINARY", "//:tessera"),
            ("TESSERA_LOAD_GENERATOR", "//benchmarks:load_generator"),
        )
        if variable not in os.environ
    ]
    if targets:
        subprocess.run(["bazel", "build", *targets], cwd=ROOT, check=True, stdout=sys.stderr)


def program():
    return os.environ.get(
        "TESSERA_LOAD_GENERATOR", str(ROOT / "bazel-bin" / "benchmarks" / "load_generator")
    )


class Case:
    """A request and what may be answered to it, as files."""

    def __init__(self, folder, name, request, answers):
        folder = pathlib.Path(folder)
        self._request = folder / f"{name}.request.pb"
        self._request.write_bytes(request.SerializeToString())
        self._answers = []
        for i, answer in enumerate(answers):
            path = folder / f"{name}.answer{i}.pb"
            path.write_bytes(answer.SerializeToString())
            self._answers.append(str(path))

    def argument(self):
        return f"{self._request}={','.join(self._answers)}"


def ask(server, case, seconds, warmup, *flags):
    """A load of its own, after `warmup` seconds of it: what its window of `seconds` had."""
    command = [
        program(),
        f"--target=grpc://{server.grpc_address}",
        f"--warmup={warmup}",
        f"--duration={warmup + seconds}",
        *flags,
        case.argument(),
    ]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)["windows"]["run"]


def answers_per_second(server, case, in_flight, seconds=5):
    """What a server can do: requests of the closed loop, after as long again of warming up."""
    return ask(server, case, seconds, seconds, f"--in_flight={in_flight}")["answers_per_second"]


class Load:
    """An open loop of requests over gRPC for as long as the `with` lasts; then its `summary`."""

    def __init__(self, server, case, rate, csv=None):
        command = [
            program(),
            "--control",
            f"--target=grpc://{server.grpc_address}",
            f"--rate={rate}",
            case.argument(),
        ]
        if csv:
            command.insert(1, f"--csv={csv}")
        self.summary = None
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        output, _ = self._process.communicate()
        if self._process.returncode not in (0, 1):  # 1: it has seen wrong or lost answers
            raise RuntimeError(f"the load generator ended with code {self._process.returncode}")
        self.summary = json.loads(output)

    def window(self, name):
        """What is sent from now on belongs to this window; to none, if it is empty."""
        self._process.stdin.write(f"window {name}\n")
        self._process.stdin.flush()
