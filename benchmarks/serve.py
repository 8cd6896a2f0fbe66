#!/usr/bin/env python3
"""What serving costs beyond the wire: half_plus_two next to a method that does nothing.

    scripts/bench serve [--rounds=N] [--seconds=S] [--only=small|v2|tls|large|json]

Builds //:tessera, //benchmarks:empty_server, //benchmarks:load_generator and
//serving/frontend/json:json_benchmark first; TESSERA_BENCHMARK_BINARIES names a folder that has them.

One client program asks both servers in turns, a closed loop with 1, 8 and 32 requests under way:
ours, which runs half_plus_two, and the empty one, a callback method of the same gRPC library and a
Beast reply of no bytes. Both get the same requests. Client and servers share the cores. A table
shows the median over the rounds, and in parentheses the best round; so do the ratios.

Then the same model by KServe's protocol, version 2, next to Predict of the same server; and with
TLS, next to a server without it. Connections stay open, so that what TLS costs is the encryption.

Then an Identity of 4 MB of floats by gRPC, in bytes of tensor a second one way, next to a method
that sends back what it got and one that only receives it; and what a 1 MB body of numbers takes to
read and to write as JSON, within one thread. Four to five minutes for all of it.
"""
import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = {
    "tessera": "//:tessera",
    "empty_server": "//benchmarks:empty_server",
    "load_generator": "//benchmarks:load_generator",
    "json_benchmark": "//serving/frontend/json:json_benchmark",
}
BINARIES = os.environ.get("TESSERA_BENCHMARK_BINARIES")  # a folder that has them all
HALF_PLUS_TWO = os.path.join(ROOT, "tests/data/tfserving/half_plus_two")
FLOATS = 1 << 20
WARM_UP = 0.3
REST_BODY = b'{"instances": [1.0]}'
V2_METHOD = "/inference.GRPCInferenceService/ModelInfer"
V2_BODY = b'{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1.0]}]}'


def binary(name):
    if BINARIES:
        return os.path.join(BINARIES, name)
    return os.path.join(ROOT, "bazel-bin", TARGETS[name].replace(":", "/").lstrip("/"))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    """A child with a gRPC and a REST port; ends with this object's context."""

    def __init__(self, command, client_flags=()):
        self.client_flags = list(client_flags)  # by which load_generator reaches it
        self.grpc_port, self.rest_port = free_ports(2)
        self._process = subprocess.Popen(
            command + [f"--port={self.grpc_port}", f"--rest_api_port={self.rest_port}"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for port in (self.grpc_port, self.rest_port):
            self._wait_for(port)

    def cpu_seconds(self):
        """What the process has used so far."""
        with open(f"/proc/{self._process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _wait_for(self, port):
        deadline = time.time() + 60
        while time.time() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            time.sleep(0.05)
        raise SystemExit(f"no server at port {port}")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait()


def predict_request(model, tensor):
    from tensorflow_serving.apis import predict_pb2
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.inputs["x"].CopyFrom(tensor)
    return request.SerializeToString()


def wire(field, content):
    """A field of a protocol buffer: a number, or bytes."""
    def varint(value):
        groups = [value >> shift & 127 for shift in range(0, max(1, value.bit_length()), 7)]
        return bytes(group | 128 for group in groups[:-1]) + bytes(groups[-1:])

    if isinstance(content, int):
        return varint(field << 3) + varint(content)
    return varint(field << 3 | 2) + varint(len(content)) + content


def v2_request(model, values):
    """A ModelInferRequest with an array of floats as the raw contents of x."""
    tensor = wire(1, b"x") + wire(2, b"FP32") + wire(3, values.size)
    return wire(1, model.encode()) + wire(5, tensor) + wire(7, values.tobytes())


def save_identity(directory):
    import tensorflow as tf

    class Identity(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def serve(self, x):
            return {"y": tf.identity(x)}

    model = Identity()
    tf.saved_model.save(model, os.path.join(directory, "1"), signatures=model.serve)


def load(server, url, request, in_flight, seconds):
    """One run: requests a second, the p50, and the server's own time for a request, both in
    microseconds."""
    used = server.cpu_seconds()
    command = [binary("load_generator"), f"--target={url}", f"--in_flight={in_flight}",
               f"--duration={seconds + WARM_UP}", f"--warmup={WARM_UP}", *server.client_flags,
               request]
    window = json.loads(subprocess.run(command, check=True, capture_output=True,
                                       text=True).stdout)["windows"]["run"]
    if window["wrong"] or window["lost"] or not window["requests"]:
        raise SystemExit(f"{url}, {in_flight} in flight: {window}")
    # The warm-up's requests count as much as the others.
    answers = window["answers_per_second"] * (seconds + WARM_UP)
    return {"rate": window["answers_per_second"], "p50": window["p50_us"],
            "cpu": (server.cpu_seconds() - used) / answers * 1e6}


def cell(values, best, digits):
    return f"{statistics.median(values):,.{digits}f} ({best(values):,.{digits}f})"


def compare(label, sides, in_flight, args):
    """One row: two sides by turns, each a server, a URL and a request by its name."""
    runs = {name: [] for name in sides}
    ours, other = sides
    for _ in range(args.rounds):
        for name, (server, url, request) in sides.items():
            runs[name].append(load(server, url, request, in_flight, args.seconds))

    def column(name, what):
        return [run[what] for run in runs[name]]

    def ratio(what, best):
        middle = statistics.median(column(ours, what)) / statistics.median(column(other, what))
        return f"{middle:.2f} ({best(column(ours, what)) / best(column(other, what)):.2f})"

    print(f"| {label} | {in_flight} | {cell(column(ours, 'p50'), min, 0)} | "
          f"{cell(column(other, 'p50'), min, 0)} | {ratio('p50', min)} | "
          f"{cell(column(ours, 'rate'), max, 0)} | {cell(column(other, 'rate'), max, 0)} | "
          f"{ratio('rate', max)} | {cell(column(ours, 'cpu'), min, 1)} | "
          f"{cell(column(other, 'cpu'), min, 1)} |", flush=True)


def compare_small(args, files):
    print("| half_plus_two | in flight | p50, us | empty | ratio | requests/s | empty | ratio | "
          "CPU of the server, us a request | empty |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    command = [binary("tessera"), "serve", "--model_name=m", f"--model_base_path={HALF_PLUS_TWO}"]
    with Server(command) as ours, Server([binary("empty_server")]) as empty:
        servers = {"ours": ours, "empty": empty}
        grpc = {name: (s, f"grpc://127.0.0.1:{s.grpc_port}", files["small"])
                for name, s in servers.items()}
        rest = {name: (s, f"rest://127.0.0.1:{s.rest_port}/v1/models/m:predict", files["body"])
                for name, s in servers.items()}
        for label, sides in (("gRPC", grpc), ("REST", rest)):
            for in_flight in (1, 8, 32):
                compare(label, sides, in_flight, args)


def compare_v2(args, files):
    print("\n| half_plus_two by v2 | in flight | p50, us | Predict | ratio | requests/s | Predict | "
          "ratio | CPU of the server, us a request | Predict |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    command = [binary("tessera"), "serve", "--model_name=m", f"--model_base_path={HALF_PLUS_TWO}"]
    with Server(command) as server:
        grpc = f"grpc://127.0.0.1:{server.grpc_port}"
        rest = f"rest://127.0.0.1:{server.rest_port}"
        rows = {
            "gRPC": {"v2": (server, grpc + V2_METHOD, files["v2"]),
                     "Predict": (server, grpc, files["small"])},
            "REST": {"v2": (server, rest + "/v2/models/m/infer", files["v2_body"]),
                     "Predict": (server, rest + "/v1/models/m:predict", files["body"])},
        }
        for label, sides in rows.items():
            for in_flight in (1, 8, 32):
                compare(label, sides, in_flight, args)


def make_certificate(directory):
    """The paths of a certificate for localhost, which is its own authority, and of its key."""
    key, certificate = (os.path.join(directory, name) for name in ("key.pem", "cert.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def compare_tls(args, directory, files):
    print("\n| half_plus_two with TLS | in flight | p50, us | plain | ratio | requests/s | plain | "
          "ratio | CPU of the server, us a request | plain |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    certificate, key = make_certificate(directory)
    command = [binary("tessera"), "serve", "--model_name=m", f"--model_base_path={HALF_PLUS_TWO}"]
    encrypted = [*command, f"--ssl_certificate_file={certificate}", f"--ssl_key_file={key}",
                 "--rest_api_ssl"]
    flags = [f"--ca={certificate}", "--server_name=localhost"]
    with Server(encrypted, flags) as tls, Server(command) as plain:
        servers = {"TLS": tls, "plain": plain}
        grpc = {name: (s, f"grpc://127.0.0.1:{s.grpc_port}", files["small"])
                for name, s in servers.items()}
        rest = {name: (s, f"rest://127.0.0.1:{s.rest_port}/v1/models/m:predict", files["body"])
                for name, s in servers.items()}
        for label, sides in (("gRPC", grpc), ("REST", rest)):
            for in_flight in (1, 8, 32):
                compare(label, sides, in_flight, args)


def measure_large(args, directory, files):
    print("\n| 4 MB of floats by gRPC | in flight | GB/s one way | p50, ms | "
          "CPU of the server, ms a request |")
    print("|---|---|---|---|---|")
    save_identity(os.path.join(directory, "identity"))
    ours = [binary("tessera"), "serve", "--model_name=m", f"--model_base_path={directory}/identity"]
    empty = [binary("empty_server")]
    # By what is asked: the server's command, the method, and the request.
    sides = {
        "Identity, float_val": (ours, "", "floats"),
        "Identity, tensor_content": (ours + ["--enable_serialization_as_tensor_content"], "",
                                     "content"),
        "Identity, v2": (ours, V2_METHOD, "v2_floats"),
        "the library alone, echo": (empty + ["--echo"], "", "floats"),
        "the library alone, empty reply": (empty, "", "floats"),
    }
    with contextlib.ExitStack() as stack:
        servers = {label: stack.enter_context(Server(command))
                   for label, (command, _, _) in sides.items()}
        for in_flight in (1, 2, 4):
            runs = {label: [] for label in sides}
            for _ in range(args.rounds):
                for label, (_, method, request) in sides.items():
                    server = servers[label]
                    url = f"grpc://127.0.0.1:{server.grpc_port}{method}"
                    runs[label].append(load(server, url, files[request], in_flight, args.seconds))
            for label in sides:
                rates = [run["rate"] * FLOATS * 4 / 1e9 for run in runs[label]]
                times = [run["p50"] / 1000 for run in runs[label]]
                cpu = [run["cpu"] / 1000 for run in runs[label]]
                print(f"| {label} | {in_flight} | {cell(rates, max, 2)} | {cell(times, min, 1)} | "
                      f"{cell(cpu, min, 2)} |", flush=True)


def measure_json(args):
    print("\n| 1 MB of JSON | MB/s |")
    print("|---|---|")
    command = [binary("json_benchmark"), "--benchmark_format=json",
               f"--benchmark_repetitions={args.rounds}", "--benchmark_min_time=0.2",
               "--benchmark_filter=DecodePredictBody>|Encode"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rates = {}
    for run in report["benchmarks"]:
        if run["run_type"] == "iteration":
            rates.setdefault((run["run_name"], run.get("label", "")), []).append(
                run["bytes_per_second"] / 1e6)
    for (name, label), values in rates.items():
        what = f"read, numbers as `{label}`" if "Decode" in name else \
            f"write, {name[name.index('<') + 1:-1]}"
        print(f"| {what} | {cell(values, max, 0)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--only", choices=("small", "v2", "tls", "large", "json"))
    args = parser.parse_args()
    if not BINARIES:
        subprocess.run(["bazel", "build", *TARGETS.values()], cwd=ROOT, check=True,
                       stdout=sys.stderr)

    import numpy as np
    import tensorflow as tf
    values = np.random.default_rng(1).random(FLOATS, np.float32)
    floats = tf.make_tensor_proto(0.0, shape=[FLOATS])
    floats.float_val[:] = values
    with tempfile.TemporaryDirectory() as directory:
        contents = {
            "small": predict_request("m", tf.make_tensor_proto([1.0])),
            "body": REST_BODY,
            "v2": v2_request("m", np.ones(1, np.float32)),
            "v2_body": V2_BODY,
            "v2_floats": v2_request("m", values),
            "floats": predict_request("m", floats),
            "content": predict_request("m", tf.make_tensor_proto(values)),
        }
        files = {name: os.path.join(directory, name) for name in contents}
        for name, content in contents.items():
            with open(files[name], "wb") as file:
                file.write(content)
        if args.only in (None, "small"):
            compare_small(args, files)
        if args.only in (None, "v2"):
            compare_v2(args, files)
        if args.only in (None, "tls"):
            compare_tls(args, directory, files)
        if args.only in (None, "large"):
            measure_large(args, directory, files)
        if args.only in (None, "json"):
            measure_json(args)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main()
