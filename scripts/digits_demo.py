#!/usr/bin/env python3
"""Serves the digits classifier, asks it over REST and gRPC, and swaps its version under load.

Run by scripts/quickstart, which makes the environment (grpcio and grpcio-tools) and builds the
server. Exits with 1 if a request failed or the new version never answered.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import grpc

from clients.server import DATA, REPOSITORY, Model, Server

# The messages come straight from the .proto files: no generated code is needed.
sys.path.insert(0, str(REPOSITORY / "apis"))
_, SERVICES = grpc.protos_and_services("tensorflow_serving/apis/prediction_service.proto")
PREDICT = grpc.protos("tensorflow_serving/apis/predict.proto")

DT_FLOAT = 1
DIGITS = DATA / "digits"
SAMPLES = DIGITS / "samples.json"
SECONDS_TO_SWITCH = 60


def step(text):
    print(f"\n== {text}", flush=True)


def draw(image):
    for row in image:
        print("  " + "".join(" .:-=+*#%@"[min(int(pixel[0] / 1.7), 9)] * 2 for pixel in row))


def publish(version, model):
    """Copies beside, then renames: the server sees all of a version or nothing of it."""
    hidden = model / f"{version}.tmp"
    shutil.copytree(DIGITS / str(version), hidden)
    os.rename(hidden, model / str(version))


def ask_over_rest(server, samples):
    """Sends the samples with curl and prints the answer to the first one."""
    url = f"http://127.0.0.1:{server.rest_port}/v1/models/digits:predict"
    body = os.path.relpath(SAMPLES)
    print(f"  curl -d @{body} {url}")
    answer = subprocess.run(
        ["curl", "-fsS", "-d", f"@{body}", url], stdout=subprocess.PIPE, check=True
    )
    first = json.loads(answer.stdout)["predictions"][0]
    draw(samples["instances"][0])
    print(
        f"  version 1 reads a {first['label']} ({max(first['probabilities']):.0%} sure);"
        f" it is a {samples['labels'][0]}"
    )


def predict_request(images):
    """A PredictRequest for images of shape [n, 8, 8, 1]."""
    request = PREDICT.PredictRequest()
    request.model_spec.name = "digits"
    image = request.inputs["image"]
    image.dtype = DT_FLOAT
    for size in (len(images), 8, 8, 1):
        image.tensor_shape.dim.add(size=size)
    image.float_val.extend(
        grey for rows in images for row in rows for pixel in row for grey in pixel
    )
    return request


def swap_under_load(server, model, samples):
    """Asks without pause while version 2 arrives; returns whether no request failed."""
    request, labels = predict_request(samples["instances"]), samples["labels"]
    requests, failures, took_over = 0, [], None
    with grpc.insecure_channel(server.grpc_address) as channel:
        stub = SERVICES.PredictionServiceStub(channel)
        publisher = threading.Timer(0.5, publish, [2, model])
        publisher.start()
        published = time.monotonic() + 0.5
        seen = None
        while time.monotonic() < (took_over or published + SECONDS_TO_SWITCH) + 0.5:
            requests += 1
            try:
                response = stub.Predict(request, timeout=30)
            except grpc.RpcError as error:
                failures.append(f"{error.code().name}: {error.details()}")
                continue
            if response.model_spec.version.value != seen:
                seen = response.model_spec.version.value
                answers = list(response.outputs["label"].int64_val)
                right = sum(answer == label for answer, label in zip(answers, labels))
                print(f"  version {seen} reads {answers}: {right} of {len(labels)} right")
                took_over = time.monotonic() if seen == 2 else None
        publisher.join()
    print(f"  {requests} requests meanwhile, {len(failures)} failed", end="")
    print(
        f"; version 2 took over {took_over - published:.1f} s after it was copied"
        if took_over
        else f"; version 2 did not answer within {SECONDS_TO_SWITCH} s"
    )
    for failure in failures[:3]:
        print(f"  {failure}")
    return bool(took_over) and not failures


def main():
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder)
        publish(1, model)

        step("Serve version 1 of the digits classifier")
        with Server(models=[Model("digits", model)]) as server:
            print(f"  REST on port {server.rest_port}, gRPC on port {server.grpc_port}")

            step("Ask over REST")
            ask_over_rest(server, samples)

            step("Push version 2 while requests go on over gRPC")
            good = swap_under_load(server, model, samples)

            step("Stop")
            exit_code = server.stop()
            print(f"  the server ended with exit code {exit_code}")
    return 0 if good and exit_code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
