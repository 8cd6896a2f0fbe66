"""PyTorch's side of `scripts/gpu/bench`: the models of gpu_models.py with the same weights.

    "$(scripts/python_env torch)" benchmarks/models/torch_serving.py NAME FOLDER
        [--precision=float|tf32|bfloat16] [--compile] [--device=cuda] [--seconds=S] [--rows=128]

FOLDER is what benchmarks/on_gpu.py writes of a model. Runs the first row of the input, then batches of --rows rows, and prints JSON: the output of the first
row, the median seconds of a run of it, and the rows a second in batches. Inputs come from page-locked
memory and outputs go to the host in each run. Layers and attention are PyTorch's own; images are in
its `channels_last` order. `--compile` is torch.compile, on a GPU with CUDA graphs.
"""
import argparse
import json
import pathlib
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F

import seeded_weights

NORM_EPSILON = 1.001e-5  # of Keras's ResNet-50


class Weights:
    """Arrays by their path in Keras: "dense_1/kernel"."""

    def __init__(self, arrays, dtype, device):
        self.tensors = {}
        for path, array in arrays.items():
            tensor = torch.from_numpy(array)
            if path.endswith("kernel") and array.ndim == 4:
                tensor = tensor.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            elif path.endswith("kernel"):
                # [in..., out...] of Dense and EinsumDense as [out, in].
                rows = array.shape[0] if "attention_output" not in path else -1
                columns = -1 if "attention_output" not in path else array.shape[-1]
                tensor = tensor.reshape(rows, columns).T.contiguous()
            elif path.endswith("bias"):
                tensor = tensor.reshape(-1)
            self.tensors[path] = tensor.to(device, dtype)

    def __getitem__(self, path):
        return self.tensors[path]

    def get(self, path):
        return self.tensors.get(path)

    def count(self, prefix):
        return len({path.split("/")[0] for path in self.tensors if path.startswith(prefix)})

    def linear(self, name, x):
        return F.linear(x, self[f"{name}/kernel"], self.get(f"{name}/bias"))


def numbered(prefix):
    """Keras's names of layers in the order in which they were made."""
    yield prefix
    number = 1
    while True:
        yield f"{prefix}_{number}"
        number += 1


def resnet50(weights, images):
    def convolve(x, name, stride=1, padding=0):
        x = F.conv2d(x, weights[f"{name}_conv/kernel"], weights[f"{name}_conv/bias"],
                     stride=stride, padding=padding)
        return F.batch_norm(x, weights[f"{name}_bn/moving_mean"],
                            weights[f"{name}_bn/moving_variance"], weights[f"{name}_bn/gamma"],
                            weights[f"{name}_bn/beta"], eps=NORM_EPSILON)

    x = images.permute(0, 3, 1, 2)
    x = F.max_pool2d(F.relu(convolve(x, "conv1", stride=2, padding=3)), 3, 2, padding=1)
    for stage, blocks in ((2, 3), (3, 4), (4, 6), (5, 3)):
        for block in range(1, blocks + 1):
            name = f"conv{stage}_block{block}"
            stride = 2 if block == 1 and stage > 2 else 1
            shortcut = convolve(x, f"{name}_0", stride) if block == 1 else x
            x = F.relu(convolve(x, f"{name}_1", stride))
            x = F.relu(convolve(x, f"{name}_2", padding=1))
            x = F.relu(convolve(x, f"{name}_3") + shortcut)
    return F.softmax(weights.linear("predictions", x.mean((2, 3))), -1)


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


def bert_base(weights, tokens, heads):
    norms, dense = numbered("layer_normalization"), numbered("dense")
    attentions = numbered("multi_head_attention")

    def norm(x):
        name = next(norms)
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}/gamma"], weights[f"{name}/beta"],
                            eps=1e-3)

    x = norm(F.embedding(tokens, weights["embedding/embeddings"]))
    for _ in range(weights.count("multi_head_attention")):
        name = next(attentions)
        query, key, value = (split_heads(weights.linear(f"{name}/{part}", x), heads)
                             for part in ("query", "key", "value"))
        mixed = join_heads(F.scaled_dot_product_attention(query, key, value))
        x = norm(x + weights.linear(f"{name}/attention_output", mixed))
        inner = F.gelu(weights.linear(next(dense), x))
        x = norm(x + weights.linear(next(dense), inner))
    return torch.tanh(weights.linear(next(dense), x[:, 0]))


def rotate(x):
    length, size = x.shape[2], x.shape[3]
    steps = torch.arange(0, size, 2, dtype=torch.float32, device=x.device)
    positions = torch.arange(length, dtype=torch.float32, device=x.device)
    angles = positions[:, None] * (10000.0 ** (-steps / size))[None, :]
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def decoder_1b(weights, tokens, heads):
    norms, dense = numbered("rms_normalization"), numbered("dense")

    def norm(x):
        return F.rms_norm(x, x.shape[-1:], weights[f"{next(norms)}/scale"], eps=1e-6)

    x = F.embedding(tokens, weights["embedding/embeddings"])
    # Seven products a layer, and the last one.
    for _ in range((weights.count("dense") - 1) // 7):
        y = norm(x)
        query, key, value = (split_heads(weights.linear(next(dense), y), heads) for _ in range(3))
        mixed = F.scaled_dot_product_attention(rotate(query), rotate(key), value, is_causal=True)
        x = x + weights.linear(next(dense), join_heads(mixed))
        y = norm(x)
        gate = F.silu(weights.linear(next(dense), y))
        up = weights.linear(next(dense), y)
        x = x + weights.linear(next(dense), gate * up)
    return weights.linear(next(dense), norm(x)[:, -1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--precision", default="float")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rows", type=int, default=128)
    options = parser.parse_args()

    rounds = options.precision == "tf32"
    torch.set_float32_matmul_precision("high" if rounds else "highest")
    torch.backends.cudnn.allow_tf32 = rounds
    dtype = torch.bfloat16 if options.precision == "bfloat16" else torch.float32
    facts = json.loads((options.folder / "facts.json").read_text())
    weights = Weights(seeded_weights.make(facts["weights"]), dtype, options.device)
    on_gpu = options.device != "cpu"

    models = {
        "resnet50": lambda x: resnet50(weights, x),
        "bert_base": lambda x: bert_base(weights, x, facts["heads"]),
        "decoder_1b": lambda x: decoder_1b(weights, x, facts["heads"]),
    }
    model = models[options.name]
    if options.compile:
        model = torch.compile(model, mode="reduce-overhead" if on_gpu else None)

    first = torch.from_numpy(np.load(options.folder / "input.npy"))
    if first.is_floating_point():
        first = first.to(dtype)

    def run(batch):
        return model(batch.to(options.device, non_blocking=True)).float().cpu()

    def times(batch):
        batch = batch.pin_memory() if on_gpu else batch
        for _ in range(3):
            output = run(batch)
        seconds, end = [], time.perf_counter() + options.seconds
        while len(seconds) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            output = run(batch)
            seconds.append(time.perf_counter() - start)
        return seconds, output

    with torch.inference_mode():
        single, output = times(first)
        batches, _ = times(first.expand(options.rows, *first.shape[1:]).contiguous())
    print(json.dumps({
        "output": output[0].tolist(),
        "latency": statistics.median(single),
        "rows_per_second": options.rows * len(batches) / sum(batches),
    }))


if __name__ == "__main__":
    main()
