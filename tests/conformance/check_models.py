"""Replays the recorded requests of model folders against `tessera serve` and compares the answers.

    scripts/check_models DIR                     every model folder under DIR
    scripts/check_models DIR digits_cnn          the named ones
    scripts/check_models DIR --list FILE         those whose names FILE lists, one a line

A model folder holds VERSION/ (a SavedModel) and golden/ (cases of version 1) or golden_vN/ (of
version N): manifest.json lists the cases in order, CASE.request.pb and CASE.response.pb are
messages of PredictionService, CASE.rest_request.json and CASE.rest_response.json REST bodies.

Each folder gets a server of its own that serves all its versions. A recorded request names no
version, so it goes as it is to the newest version and with the version filled in to an older one.
Where a manifest says `stateful`, answers depend on the requests before: they are sent in order to
a freshly loaded model, and its REST bodies, in order again, to a second one; a case recorded over
gRPC alone is then sent over gRPC so that the state moves on.

A model that does not load because ops without a kernel are missing counts as skipped if
tests/conformance/ops_without_kernel.txt lists all of them, and as failed otherwise.
"""

import argparse
import concurrent.futures
import dataclasses
import http.client
import json
import os
import pathlib
import re
import sys
import time

from conformance import answers, missing_kernels, protos
from conformance.tensors import Tolerance
from counting.counts import Counts
from clients.server import Model, Server, StartError

import grpc

RPC_SECONDS = 120
_GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]

# kind -> (method, request, response, comparison)
_KINDS = {
    "predict": (
        "Predict",
        protos.predict_pb2.PredictRequest,
        protos.predict_pb2.PredictResponse,
        answers.predict_difference,
    ),
    "classify": (
        "Classify",
        protos.classification_pb2.ClassificationRequest,
        protos.classification_pb2.ClassificationResponse,
        answers.classify_difference,
    ),
    "regress": (
        "Regress",
        protos.regression_pb2.RegressionRequest,
        protos.regression_pb2.RegressionResponse,
        answers.regress_difference,
    ),
}


@dataclasses.dataclass
class Case:
    """One recorded request; `rest_path` is None where there is no REST body."""

    files: pathlib.Path  # without the suffix
    kind: str
    version: int
    rest_path: str | None
    tolerance: Tolerance

    @property
    def name(self):
        return f"{self.files.parent.name}/{self.files.name}"

    def read(self, suffix):
        return self.files.with_name(self.files.name + suffix).read_bytes()


@dataclasses.dataclass
class Recording:
    """The cases of one model folder, all versions, in order."""

    name: str
    folder: pathlib.Path
    cases: list[Case]
    stateful: bool

    @staticmethod
    def read(folder):
        cases, stateful = [], False
        for manifest_path in sorted(folder.glob("golden*/manifest.json")):
            manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
            stateful = stateful or manifest["stateful"]
            for entry in manifest["cases"]:
                rest = entry.get("rest")
                cases.append(
                    Case(
                        manifest_path.parent / entry["file"],
                        entry["kind"],
                        manifest["version"],
                        rest.split(" ", 1)[1] if rest else None,
                        Tolerance.of_manifest(manifest["tolerance"]),
                    )
                )
        return Recording(folder.name, folder, cases, stateful)

    @property
    def versions(self):
        return sorted({case.version for case in self.cases})

    @property
    def size(self):
        return len(self.cases) + sum(case.rest_path is not None for case in self.cases)


@dataclasses.dataclass
class Outcome:
    """What came of one model folder."""

    name: str
    counts: Counts = dataclasses.field(default_factory=Counts)
    failures: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, case, over, difference):
        if difference is None:
            self.counts.passed += 1
        else:
            self.counts.failed += 1
            self.failures.append(f"{case.name} {over}: {difference}")

    def not_loaded(self, recording, error):
        """Counts the cases that could not be sent."""
        cases = recording.size - self.counts.passed - self.counts.failed
        reason = missing_kernels.expected_reason(str(error))
        if reason:
            self.counts.skipped[reason] += cases
        else:
            self.counts.failed += cases
            self.failures.append(f"does not load, {cases} cases fail: {error}")


class Replayer:
    """Sends the cases of a recording to one running server."""

    def __init__(self, recording, server):
        self._recording = recording
        self._server = server
        self._newest = max(recording.versions)
        self._channel = grpc.insecure_channel(server.grpc_address, options=_GRPC_OPTIONS)
        self._stub = protos.prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._channel.close()

    def await_versions(self, seconds=60):
        """Waits until all versions are available; raises StartError with the server's message."""
        stub = protos.model_service_pb2_grpc.ModelServiceStub(self._channel)
        request = protos.get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = self._recording.name
        status = protos.get_model_status_pb2.ModelVersionStatus
        deadline = time.monotonic() + seconds
        while True:
            reply = stub.GetModelStatus(request, timeout=RPC_SECONDS)
            states = {entry.version: entry for entry in reply.model_version_status}
            for entry in states.values():
                if entry.status.error_code:
                    raise StartError(f"version {entry.version}: {entry.status.error_message}")
            missing = [
                version
                for version in self._recording.versions
                if version not in states or states[version].state != status.AVAILABLE
            ]
            if not missing:
                return
            if time.monotonic() > deadline:
                raise StartError(f"versions {missing} not available after {seconds} s")
            time.sleep(0.05)

    def over_grpc(self, case):
        method, request_class, response_class, difference = _KINDS[case.kind]
        request = request_class.FromString(case.read(".request.pb"))
        if case.version != self._newest:
            request.model_spec.version.value = case.version
        try:
            response = getattr(self._stub, method)(request, timeout=RPC_SECONDS)
        except grpc.RpcError as error:
            return self._note_death(f"{error.code().name}: {error.details()}")
        want = response_class.FromString(case.read(".response.pb"))
        return difference(response, want, case.tolerance)

    def over_rest(self, case):
        path = case.rest_path
        if case.version != self._newest:
            path = re.sub(r":(\w+)$", rf"/versions/{case.version}:\1", path)
        try:
            status, _, body = self._server.http(
                "POST", path, case.read(".rest_request.json"), timeout=RPC_SECONDS
            )
        except (OSError, http.client.HTTPException) as error:
            return self._note_death(f"no answer: {error!r}")
        if status != 200:
            return f"status is {status}: {body[:500].decode(errors='replace')}"
        return answers.rest_difference(
            body.decode(), case.read(".rest_response.json").decode(), case.tolerance
        )

    def _note_death(self, reason):
        if self._server.is_running():
            return reason
        return (
            f"{reason}; the server ended with code {self._server.process.returncode}:\n"
            f"{self._server.log()}"
        )


def check(folder, flags):
    """Starts the servers of one model folder and replays its cases."""
    recording = Recording.read(folder)
    outcome = Outcome(recording.name)
    if not recording.cases:
        outcome.counts.failed += 1
        outcome.failures.append("no golden/manifest.json")
        return outcome
    started = time.monotonic()
    model = Model(recording.name, recording.folder, versions=recording.versions)
    try:
        with Server(*flags, models=[model]) as server, Replayer(recording, server) as replayer:
            replayer.await_versions()
            for case in recording.cases:
                outcome.add(case, "gRPC", replayer.over_grpc(case))
            if not recording.stateful:
                _replay_rest(recording, replayer, outcome)
        if recording.stateful and any(case.rest_path for case in recording.cases):
            with Server(*flags, models=[model]) as server, Replayer(recording, server) as replayer:
                replayer.await_versions()
                _replay_rest(recording, replayer, outcome)
    except (StartError, grpc.RpcError) as error:
        outcome.not_loaded(recording, error)
    outcome.seconds = time.monotonic() - started
    return outcome


def _replay_rest(recording, replayer, outcome):
    for case in recording.cases:
        if case.rest_path:
            outcome.add(case, "REST", replayer.over_rest(case))
        elif recording.stateful:
            replayer.over_grpc(case)


def chosen_folders(directory, names, list_file):
    """The model folders to check: the named ones, or all that have recorded cases."""
    names = list(names)
    if list_file:
        lines = pathlib.Path(list_file).read_text(encoding="utf-8").splitlines()
        names += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if names:
        return [directory / name for name in names]
    return sorted({path.parents[1] for path in directory.glob("*/golden*/manifest.json")})


def main():
    parser = argparse.ArgumentParser(
        prog="check_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dir", type=pathlib.Path, help="folder of model folders")
    parser.add_argument("names", nargs="*", help="models to check; all when none is named")
    parser.add_argument("--list", metavar="FILE", help="file of model names, one a line")
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(2, os.cpu_count() or 1),
        help="models checked at a time (default %(default)s)",
    )
    parser.add_argument(
        "--server-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="a flag handed on to `tessera serve`; may be repeated",
    )
    args = parser.parse_args()

    folders = chosen_folders(args.dir, args.names, args.list)
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing or not folders:
        parser.error(
            f"no such model folder: {', '.join(missing)}"
            if missing
            else f"no model folders under {args.dir}"
        )
    total = Counts()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(lambda folder: check(folder, args.server_flag), folders):
            for failure in outcome.failures:
                print(f"FAIL {outcome.name} {failure}")
            counts = str(outcome.counts).replace("\n", ", ")
            print(f"{outcome.name}: {counts} ({outcome.seconds:.1f} s)", flush=True)
            total += outcome.counts
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
