#!/usr/bin/env python3
"""ResNet-50, BERT-base and a decoder of a billion parameters on a GPU, beside its roofline.

    scripts/gpu/bench [--models NAME,...] [--seconds S]
    scripts/bench on_gpu --program FILE --small     # tries the script with small models, without a GPU

For each model, in float, in float with products of TF32, and in bfloat16: latency at batch 1, and
examples a second at batch 128. The share of the roofline is, at batch 1, that of the memory's
bandwidth, as all weights are read once; at batch 128, that of the peak of dense products in this
precision. Both are known for A100, H100 and H200 with SXM.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "models"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

NAMES = ("resnet50", "bert_base", "decoder_1b")
BATCHES = {"latency": 1, "throughput": 128}
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
    """Writes the model. Returns the operations of an example, and the number of weights that it reads."""
    import keras

    import gpu_models

    keras.config.set_dtype_policy(policy)
    model, flops = gpu_models.make(name, small)
    model.export(str(folder), verbose=False)
    # Of an embedding, few rows are read.
    read = [layer for layer in model.layers if not isinstance(layer, keras.layers.Embedding)]
    return flops, sum(layer.count_params() for layer in read)


def measure(program, folder, batch, seconds, environment):
    command = [program, "bench", str(folder), "--json", f"--seconds={seconds}",
               f"--batch_size={batch}", "--warmup=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": gpus(), **environment})
    if done.returncode != 0:
        sys.exit(f"gpu: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    return result["latency_us"]["p50"] * 1e-6, result["rows_per_second"]


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="a build with --config=cuda")
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--small", action="store_true", help="two narrow layers instead of a model")
    args = parser.parse_args()
    hardware, peaks = roofline()
    print(f"{hardware}; latency at batch {BATCHES['latency']}, examples a second at batch "
          f"{BATCHES['throughput']}\n")
    print("| model | precision | latency | of the bandwidth | examples/s | of the peak |")
    print("|---|---|---|---|---|---|")
    for name in args.models.split(","):
        if name not in NAMES:
            sys.exit(f"gpu: there is no model {name!r}; there are: {', '.join(NAMES)}")
        for precision, (policy, environment, weight_bytes) in PRECISIONS.items():
            with tempfile.TemporaryDirectory() as folder:
                flops, weights = save(name, policy, args.small, folder)
                latency, _ = measure(args.program, folder, BATCHES["latency"], args.seconds,
                                     environment)
                _, rows = measure(args.program, folder, BATCHES["throughput"], args.seconds,
                                  environment)
            bandwidth = share(weights * weight_bytes / latency, peaks and peaks[1])
            peak = share(rows * flops, peaks and peaks[0][precision])
            print(f"| {name} | {precision} | {latency * 1e3:.3f} ms | {bandwidth} | {rows:.0f} | "
                  f"{peak} |", flush=True)


if __name__ == "__main__":
    main()
