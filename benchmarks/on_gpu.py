#!/usr/bin/env python3
"""ResNet-50, BERT-base and a decoder of a billion parameters on a GPU, beside PyTorch or its roofline.

    scripts/gpu/bench [--models NAME,...] [--seconds S]
    scripts/bench on_gpu --program FILE --small     # tries the script with small models, without a GPU
    scripts/bench on_gpu --write FOLDER             # the models without their weights, for --packed
    benchmarks/on_gpu.py --program FILE --packed FOLDER     # needs no TensorFlow

For each model, in float, in float with products of TF32, and in bfloat16: latency at batch 1, and
examples a second at batch 128. Where PyTorch finds the GPU (or --torch_device names a device), it runs
the same models with the same weights and input in the same run, eager and compiled; the table says how
far its answer is from ours, of the largest value, and a difference above a thousandth in float is an
error. The share of the roofline is, at batch 1, that of the memory's bandwidth, as all weights are
read once; at batch 128, that of the peak of dense products in this precision. Both are known for
A100, H100 and H200 with SXM.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "models"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# pylint: disable=wrong-import-position
import left_out_weights
import seeded_weights

NAMES = ("resnet50", "bert_base", "decoder_1b")
# precision -> (Keras's dtype policy, the environment of the program, bytes of a weight)
PRECISIONS = {
    "float": ("float32", {}, 4),
    "tf32": ("float32", {"TESSERA_ALLOW_TF32": "1"}, 4),
    "bfloat16": ("bfloat16", {}, 2),
}
# Of the data sheets, without sparsity: 10^12 operations a second by precision, bytes a second.
ROOFLINES = {
    "A100": ({"float": 19.5e12, "tf32": 156e12, "bfloat16": 312e12}, 2.0e12),
    "H100": ({"float": 67e12, "tf32": 495e12, "bfloat16": 990e12}, 3.35e12),
    "H200": ({"float": 67e12, "tf32": 495e12, "bfloat16": 990e12}, 4.8e12),
}


def save(name, policy, small, folder):
    """Writes the model, an input, and facts.json: the specs of its weights (seeded_weights.py), the
    operations of an example, the number of weights that it reads, heads of attention, and the name
    of its input."""
    import keras
    import numpy as np
    from tensorflow.core.protobuf import saved_model_pb2

    import gpu_models

    model, flops = gpu_models.make(name, small, policy)
    specs = [(weight.path, list(weight.shape), weight.dtype) for weight in model.weights]
    for number, weight in enumerate(model.weights):
        weight.assign(seeded_weights.weight(number, weight.path, weight.shape))
    model.export(str(folder / "model"), verbose=False)
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "model" / "saved_model.pb").read_bytes())
    signature = saved.meta_graphs[0].signature_def["serving_default"]
    shape = (1, *model.inputs[0].shape[1:])
    sizes = gpu_models.shape_of(name, small)
    rng = np.random.default_rng(1)
    if sizes is None:
        value = rng.standard_normal(shape, np.float32)
    else:
        value = rng.integers(0, sizes["words"], shape, np.int32)
    np.save(folder / "input.npy", value)
    # Of an embedding, few rows are read.
    read = [layer for layer in model.layers if not isinstance(layer, keras.layers.Embedding)]
    (folder / "facts.json").write_text(json.dumps({
        "weights": specs,
        "flops": flops,
        "weights_read": sum(layer.count_params() for layer in read),
        "heads": sizes["heads"] if sizes else 1,
        "input": next(iter(signature.inputs)),
    }))


def stored_weights(folder):
    """The values of the model's variables."""
    specs = facts_of(folder)["weights"]
    return seeded_weights.stored(specs, seeded_weights.make(specs))


def facts_of(folder):
    return json.loads((folder / "facts.json").read_text())


def write_packed(names, small, target):
    """Writes folders for unpack()."""
    for name in names:
        for policy in sorted({policy for policy, _, _ in PRECISIONS.values()}):
            folder = target / f"{name}-{policy}"
            folder.mkdir(parents=True)
            save(name, policy, small, folder)
            left_out_weights.take_out(folder / "model", stored_weights(folder))


def unpack(packed, name, policy, folder):
    """Writes what save() does, of what write_packed() wrote."""
    shutil.copytree(packed / f"{name}-{policy}", folder, dirs_exist_ok=True)
    left_out_weights.put_back(folder / "model", stored_weights(folder))


def ask(command, environment):
    """The JSON that a program on the GPU prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": gpus(), **environment})
    if done.returncode != 0:
        sys.exit(f"gpu: {' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def measure(program, folder, batch, seconds, environment):
    result = ask([program, "bench", folder / "model", "--json", f"--seconds={seconds}",
                  f"--batch_size={batch}", "--warmup=2"], environment)
    return result["latency_us"]["p50"] * 1e-6, result["rows_per_second"]


def answer(program, folder, environment):
    """Our output for the input that lies beside the model."""
    import numpy as np

    name = facts_of(folder)["input"]
    value = folder / "input.json"
    value.write_text(json.dumps(np.load(folder / "input.npy").tolist()))
    outputs = ask([program, "run", folder / "model", f"--input={name}=@{value}", "--json"],
                  environment)["outputs"]
    return np.asarray(next(iter(outputs.values())) if isinstance(outputs, dict) else outputs)[0]


def torch_device(wanted):
    """The device on which PyTorch runs; None: it does not."""
    if wanted:
        return wanted
    found = subprocess.run([python_of_torch(), "-c", "import torch; torch.zeros(1).cuda()"],
                           capture_output=True, check=False,
                           env={**os.environ, "CUDA_VISIBLE_DEVICES": gpus()})
    return "cuda" if found.returncode == 0 else None


def python_of_torch():
    return subprocess.run([ROOT / "scripts/python_env", "torch"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def run_torch(name, precision, folder, device, compiled, args):
    return ask([python_of_torch(), ROOT / "benchmarks/models/torch_serving.py", name, folder,
                f"--precision={precision}", f"--device={device}", f"--seconds={args.seconds}",
                f"--rows={args.rows}", *(["--compile"] if compiled else [])], {})


def difference(ours, theirs):
    import numpy as np

    return float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))


def gpus():
    """TensorFlow, which writes the models, is to see no GPU; the program is."""
    return os.environ.get("TESSERA_BENCH_GPUS", "0")


def roofline():
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        name = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no GPU", None
    name = name.splitlines()[0]
    return name, next((peaks for key, peaks in ROOFLINES.items() if key in name), None)


def share(done, peak):
    return f"{100 * done / peak:.0f} %" if peak else ""


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def compare(name, precision, peaks, device, args):
    """Measures a model in a precision, and prints a row for each side."""
    policy, environment, weight_bytes = PRECISIONS[precision]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if args.packed:
            unpack(args.packed, name, policy, folder)
        else:
            save(name, policy, args.small, folder)
        facts = facts_of(folder)
        latency, _ = measure(args.program, folder, 1, args.seconds, environment)
        _, rows = measure(args.program, folder, args.rows, args.seconds, environment)
        sides = [("Tessera", latency, rows, "")]
        if device is not None:
            ours = answer(args.program, folder, environment)
            for title, compiled in (("PyTorch", False), ("PyTorch compiled", True)):
                theirs = run_torch(name, precision, folder, device, compiled, args)
                apart = difference(ours, theirs["output"])
                if precision == "float" and not apart <= 1e-3:
                    sys.exit(f"gpu: {name}: the answer of {title} differs by {apart:.2g}")
                sides.append((title, theirs["latency"], theirs["rows_per_second"], f"{apart:.1e}"))
    for title, seconds, rate, apart in sides:
        bandwidth = share(facts["weights_read"] * weight_bytes / seconds, peaks and peaks[1])
        peak = share(rate * facts["flops"], peaks and peaks[0][precision])
        print_row([name, precision, title, f"{seconds * 1e3:.3f} ms", bandwidth, f"{rate:.0f}", peak,
                   apart])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="a build with --config=cuda")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--packed", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rows", type=int, default=128, help="of the batches of the throughput")
    parser.add_argument("--small", action="store_true", help="two narrow layers instead of a model")
    parser.add_argument("--torch_device", help="the device of PyTorch; default: the GPU, if it finds it")
    args = parser.parse_args()
    names = args.models.split(",")
    for name in names:
        if name not in NAMES:
            sys.exit(f"gpu: there is no model {name!r}; there are: {', '.join(NAMES)}")
    if args.write:
        write_packed(names, args.small, args.write)
        return
    if args.program is None:
        parser.error("--program or --write must be given")
    hardware, peaks = roofline()
    device = torch_device(args.torch_device)
    beside = f"beside PyTorch on {device}" if device else "PyTorch finds no GPU"
    print(f"{hardware}; {beside}; latency at batch 1, examples a second at batch {args.rows}\n")
    print_row(["model", "precision", "side", "latency", "of the bandwidth", "examples/s",
               "of the peak", "difference"])
    print_row(["---"] * 8)
    for name in names:
        for precision in args.precisions.split(","):
            if precision not in PRECISIONS:
                sys.exit(f"gpu: there is no precision {precision!r}; there are: "
                         f"{', '.join(PRECISIONS)}")
            compare(name, precision, peaks, device, args)


if __name__ == "__main__":
    main()
