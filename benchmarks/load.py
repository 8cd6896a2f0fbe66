#!/usr/bin/env python3
"""From exec to the first answer, and the memory that takes, against TensorFlow's own loading.

    scripts/bench load [--rounds=N] [--only=MODEL] [--baseline=BAZEL_BIN]

Builds //:tessera first; TESSERA_BINARY names a server that is built already. With --baseline, the
server of another checkout takes turns with ours.

Ours is the whole way of a new process: exec, flags, loading, opening the port, one Predict over
gRPC. TensorFlow stands beside it twice. Its C API goes the same way but for the network: a program
(tensorflow_load.cc) that loads the model and runs its signature, from exec on. Its Python API does
less: a process that has imported it already calls tf.saved_model.load and then the signature once;
the import is shown beside it. Every time is that of a fresh process; the sides take turns, and
files are read into the page cache before each. CPU milliseconds, of the same spans, depend less on
what else the machine does. Memory is resident bytes after the first answer: all, and those that are
not the file's own pages (anonymous), which nobody shares.

The models are made once, under ~/.cache/tessera: half_plus_two; Keras's ResNet-50 with random
weights (102 MB); a perceptron of eight layers of 4096 by 4096 (537 MB).
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import programs

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # as it comes; said, it is silent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "tessera/models"
MODELS = {
    "half_plus_two": {"input": "x", "shape": [3]},
    "resnet50": {"input": "x", "shape": [1, 224, 224, 3]},
    "perceptron_500mb": {"input": "x", "shape": [1, 4096]},
}


def make(name, path):
    """Writes the SavedModel with TensorFlow. Runs in a process of its own."""
    import tensorflow as tf

    module = tf.Module()
    shape = [None] + MODELS[name]["shape"][1:]
    if name == "half_plus_two":
        module.a, module.b = tf.Variable(0.5), tf.Variable(2.0)
        function = lambda x: module.a * x + module.b
    elif name == "resnet50":
        model = tf.keras.applications.ResNet50(weights=None)
        archive = tf.keras.export.ExportArchive()
        archive.track(model)
        archive.add_endpoint("serve", lambda x: model(x, training=False),
                             input_signature=[tf.TensorSpec(shape, tf.float32, name="x")])
        archive.write_out(path, verbose=False)
        return
    else:
        size = shape[1]
        scale = size**-0.5
        module.weights = [tf.Variable(tf.random.normal([size, size], stddev=scale))
                          for _ in range(8)]

        def function(x):
            for weights in module.weights:
                x = tf.nn.relu(x @ weights)
            return x

    signature = tf.function(lambda x: {"y": function(x)},
                            input_signature=[tf.TensorSpec(shape, tf.float32, name="x")])
    tf.saved_model.save(module, path, signatures=signature)


def load_with_tensorflow(name, path):
    """One fresh process's measurement, printed as JSON."""
    start = time.perf_counter()
    import numpy as np
    import tensorflow as tf

    tf.constant(0.0)  # what the first use of the library sets up is not the model's doing
    imported, cpu = time.perf_counter(), time.process_time()
    x = tf.constant(np.ones(MODELS[name]["shape"], np.float32))
    call = tf.saved_model.load(path).signatures["serving_default"]
    next(iter(call(x=x).values())).numpy()
    answered = time.perf_counter()
    print(json.dumps({"seconds": answered - imported, "import": imported - start,
                      "cpu": time.process_time() - cpu, **memory(os.getpid())}))


def build_c_api_program(directory):
    """Builds tensorflow_load.cc with what TensorFlow's package has, in a second."""
    import tensorflow as tf

    program, libraries = f"{directory}/tensorflow_load", tf.sysconfig.get_lib()
    subprocess.run(
        ["g++", "-O2", f"-I{tf.sysconfig.get_include()}",
         str(programs.ROOT / "benchmarks/tensorflow_load.cc"), "-o", program, f"-L{libraries}",
         "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2",
         f"-Wl,-rpath,{libraries}"], check=True)
    return program


def signature_operations(name, path):
    """The nodes that the default signature of a model takes its input from and leaves it in."""
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    signature = model.meta_graphs[0].signature_def["serving_default"]
    (output,) = signature.outputs.values()
    tensors = [signature.inputs[MODELS[name]["input"]].name, output.name]
    return [tensor.removesuffix(":0") for tensor in tensors]


def load_with_c_api(program, name, path):
    shape = [str(dim) for dim in MODELS[name]["shape"]]
    command = [program, str(path), *signature_operations(name, path), *shape]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        if not process.stdout.readline():
            raise SystemExit("TensorFlow's C API could not load the model")
        return {"seconds": time.perf_counter() - start, "cpu": cpu_seconds(process.pid),
                **memory(process.pid)}
    finally:
        process.kill()
        process.wait()


def memory(pid):
    """Resident bytes: all, and the anonymous ones."""
    values = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key in ("VmRSS", "RssAnon"):
            values[key] = int(value.split()[0]) * 1024
    return {"resident": values["VmRSS"], "anonymous": values["RssAnon"]}


def cpu_seconds(pid):
    """What a process has used of processors, all threads together, those that ended too."""
    return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3), which Python lacks


def fill_page_cache(path):
    """Reads a model's files once, wherever earlier processes have left them."""
    buffer = bytearray(1 << 20)
    for file in path.rglob("*"):
        if file.is_file():
            with file.open("rb", buffering=0) as opened:
                while opened.readinto(buffer):
                    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    """Returns once somebody listens, which ours does when its models are loaded."""
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)):
                return
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise SystemExit("the server ended") from None
            time.sleep(0.0005)


def request(name):
    import numpy as np
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    message = predict_pb2.PredictRequest()
    message.model_spec.name = name
    message.inputs[MODELS[name]["input"]].CopyFrom(
        tf.make_tensor_proto(np.ones(MODELS[name]["shape"], np.float32)))
    return message.SerializeToString()


def load_with_tessera(binary, name, path, payload):
    import grpc

    port = free_port()
    start = time.perf_counter()
    process = subprocess.Popen(
        [binary, "serve", f"--port={port}", f"--model_name={name}", f"--model_base_path={path}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        ready = time.perf_counter()
        ready_memory = memory(process.pid)
        options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            channel.unary_unary("/tensorflow.serving.PredictionService/Predict")(payload)
        answered = time.perf_counter()
        return {"seconds": answered - start, "ready": ready - start,
                "cpu": cpu_seconds(process.pid),
                "resident_when_ready": ready_memory["resident"], **memory(process.pid)}
    finally:
        process.terminate()
        process.wait()


def own_process(*arguments):
    return subprocess.run([sys.executable, __file__, *arguments], check=True,
                          capture_output=True, text=True).stdout


def find_binary():
    return os.environ.get("TESSERA_BINARY") or str(programs.build("tessera") / "tessera")


COLUMNS = ("model", "ours: port open, ms", "ours: first answer, ms",
           "TensorFlow's C API: exec to first answer, ms", "ours to that",
           "TensorFlow's Python API: load and first call, ms", "ours to that",
           "CPU ms: ours / C API / Python API", "TensorFlow's import, ms", "ours when loaded, MiB",
           "ours after (anonymous), MiB", "C API after (anonymous), MiB",
           "Python API after (anonymous), MiB")


BASELINE_COLUMNS = ("baseline: first answer, ms", "ours to that", "baseline's CPU, ms",
                    "baseline after (anonymous), MiB")


def row(name, times):
    ours, native, python = times["ours"], times["native"], times["python"]

    def seconds(side, key="seconds"):
        values = [result[key] for result in side]
        return min(values), statistics.median(values)

    def milliseconds(side, key="seconds"):
        best, middle = seconds(side, key)
        return f"{best * 1e3:.0f} ({middle * 1e3:.0f})"

    def ratio(side):
        best, middle = (a / b for a, b in zip(seconds(ours), seconds(side)))
        return f"{best:.3f} ({middle:.3f})"

    def mebibytes(side, key="resident"):
        return f"{statistics.median(result[key] for result in side) / 2**20:.0f}"

    def both_memories(side):
        return f"{mebibytes(side)} ({mebibytes(side, 'anonymous')})"

    def baseline_cells(side):
        cpu = seconds(side, "cpu")[0] * 1e3
        return milliseconds(side), ratio(side), f"{cpu:.0f}", both_memories(side)

    return (name, milliseconds(ours, "ready"), milliseconds(ours), milliseconds(native),
            ratio(native), milliseconds(python), ratio(python),
            " / ".join(f"{seconds(side, 'cpu')[0] * 1e3:.0f}" for side in (ours, native, python)),
            milliseconds(python, "import"), mebibytes(ours, "resident_when_ready"),
            both_memories(ours), both_memories(native), both_memories(python),
            *(baseline_cells(times["baseline"]) if "baseline" in times else ()))


def measure(name, binaries, program, rounds):
    """`binaries` maps "ours", and "baseline" if there is one, to their servers."""
    path = CACHE / name
    version = path / "1"
    if not path.exists():
        own_process("--make", name, str(version))
    payload = request(name)
    times = {side: [] for side in (*binaries, "native", "python")}
    for _ in range(rounds):
        for side, binary in binaries.items():
            fill_page_cache(path)
            times[side].append(load_with_tessera(binary, name, str(path), payload))
        fill_page_cache(path)
        times["native"].append(load_with_c_api(program, name, version))
        fill_page_cache(path)
        times["python"].append(json.loads(own_process("--load", name, str(version))))
    return row(name, times)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="models whose name contains this")
    programs.add_baseline_argument(parser)
    args = parser.parse_args()
    binaries = {"ours": find_binary()}
    if args.baseline:
        binaries["baseline"] = str(programs.of_baseline(args.baseline, "tessera") / "tessera")
    with tempfile.TemporaryDirectory() as directory:
        program = build_c_api_program(directory)
        programs.print_head(*COLUMNS, *(BASELINE_COLUMNS if args.baseline else ()))
        for name in MODELS:
            if args.only in name:
                programs.print_row(*measure(name, binaries, program, args.rounds))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(*sys.argv[2:])
    elif sys.argv[1:2] == ["--load"]:
        load_with_tensorflow(*sys.argv[2:])
    else:
        main()
