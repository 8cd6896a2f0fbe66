"""PyTorch's side of `scripts/bench train`: the same models from the same initial values.

    "$(scripts/python_env torch)" benchmarks/models/torch_training.py NAME [--compile] [--threads=N]
        [--device=cuda]

Answers each number of steps on its standard input with a line: the nanoseconds and the loss of each
step. Layers, attention and optimizers are PyTorch's own, with `fused=True` where it has that;
images are in its `channels_last` order, which is the faster one. `--compile` compiles the loss with
its gradients. On a GPU, batches come from page-locked memory in each step.
"""
import argparse
import functools
import sys
import time

import torch
import torch.nn.functional as F

import training_tasks as tasks


def linear(p, name, x):
    return F.linear(x, p[f"{name}/kernel"], p[f"{name}/bias"])


def layers_loss(p, x, labels):
    last = len(p) // 2 - 1
    for i in range(last):
        x = F.relu(linear(p, f"dense{i}", x))
    return F.cross_entropy(linear(p, f"dense{last}", x), labels)


mlp_loss = small_mlp_loss = layers_loss


def lenet_loss(p, x, labels):
    for i, padding in enumerate((2, 0)):
        x = F.conv2d(x, p[f"conv{i}/filter"], p[f"conv{i}/bias"], padding=padding)
        x = F.max_pool2d(F.relu(x), 2)
    # The rows of dense0 are in the order height, width, channels.
    x = x.permute(0, 2, 3, 1).reshape(-1, 400)
    x = F.relu(linear(p, "dense0", x))
    x = F.relu(linear(p, "dense1", x))
    return F.cross_entropy(linear(p, "dense2", x), labels)


def convolve(p, x, name, stride=1):
    """A convolution with the batch norm that follows it."""
    filter = p[f"{name}/filter"]
    x = F.conv2d(x, filter, stride=stride, padding=filter.shape[2] // 2)
    return F.batch_norm(x, p[f"{name}/moving_mean"], p[f"{name}/moving_variance"],
                        p[f"{name}/gamma"], p[f"{name}/beta"], training=True)


def resnet20_loss(p, x, labels):
    x = F.relu(convolve(p, x, "stem"))
    for name, _, _, stride in tasks.resnet20_blocks():
        y = convolve(p, F.relu(convolve(p, x, f"{name}a", stride)), f"{name}b")
        x = F.relu(y + (convolve(p, x, f"{name}c", stride) if stride > 1 else x))
    return F.cross_entropy(linear(p, "dense", x.mean((2, 3))), labels)


def resnet50_loss(p, x, labels):
    x = F.max_pool2d(F.relu(convolve(p, x, "stem", 2)), 3, 2, padding=1)
    for name, inputs, inside, stride in tasks.resnet50_blocks():
        y = F.relu(convolve(p, x, f"{name}a"))
        y = convolve(p, F.relu(convolve(p, y, f"{name}b", stride)), f"{name}c")
        x = F.relu(y + (convolve(p, x, f"{name}d", stride) if inputs != 4 * inside else x))
    return F.cross_entropy(linear(p, "dense", x.mean((2, 3))), labels)


def lstm_loss(p, x, labels):
    state = x.new_zeros(1, x.shape[0], tasks.LSTM_UNITS)
    weights = [p["lstm/kernel"], p["lstm/recurrent"], p["lstm/bias"],
               x.new_zeros(4 * tasks.LSTM_UNITS)]
    _, h, _ = torch.lstm(x, (state, state), weights, True, 1, 0.0, True, False, True)
    return F.cross_entropy(linear(p, "dense", h[0]), labels)


def bert_loss(bert, p, ids, labels):
    width, heads = bert.width, bert.heads

    def normalise(x, name):
        return F.layer_norm(x, (width,), p[f"{name}/gamma"], p[f"{name}/beta"], 1e-12)

    def split(x):
        return x.view(-1, tasks.BERT_TOKENS, heads, width // heads).transpose(1, 2)

    def attend(x, name):
        query, key, value = (split(linear(p, f"{name}/{part}", x))
                             for part in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2)
        return linear(p, f"{name}/out", mixed.reshape(-1, width))

    x = F.embedding(ids, p["word"]) + p["position"]
    x = normalise(x.view(-1, width), "norm")
    for i in range(bert.layers):
        x = normalise(x + attend(x, f"layer{i}"), f"layer{i}/norm0")
        y = F.gelu(linear(p, f"layer{i}/inner", x))
        x = normalise(x + linear(p, f"layer{i}/outer", y), f"layer{i}/norm1")
    first = x.view(-1, tasks.BERT_TOKENS, width)[:, 0]
    return F.cross_entropy(linear(p, "dense", torch.tanh(linear(p, "pooler", first))), labels)


bert_mini_loss = functools.partial(bert_loss, tasks.BERT_MINI)
bert_base_loss = functools.partial(bert_loss, tasks.BERT_BASE)


def recommender_loss(p, x, ids, labels):
    found = [F.embedding(ids[:, i], p[f"table{i:02}"], sparse=True)
             for i in range(tasks.RECOMMENDER_TABLES)]
    x = torch.cat([x, *found], dim=1)
    x = F.relu(linear(p, "dense0", x))
    x = F.relu(linear(p, "dense1", x))
    return F.binary_cross_entropy_with_logits(linear(p, "dense2", x).view(-1), labels)


def parameter(key, value, device):
    """A variable in PyTorch's layout: kernels transposed, filters with the outputs first."""
    value = torch.tensor(value, device=device)
    if key.endswith("/kernel") or key.endswith("/recurrent"):
        value = value.T.contiguous()
    elif key.endswith("/filter"):
        value = value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return value.requires_grad_("/moving_" not in key)


def feed(batch, device):
    found = {}
    for key, value in batch.items():
        value = torch.tensor(value)
        if value.dim() == 4:
            value = value.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
        value = value.long() if value.dtype == torch.int32 else value
        found[key] = value if device == "cpu" else value.pin_memory()
    return found


def make_optimizers(task, parameters):
    trained = [x for x in parameters.values() if x.requires_grad]
    rate = task.learning_rate
    if task.optimizer == "sgd":
        return [torch.optim.SGD(trained, rate, fused=True)]
    if task.optimizer == "momentum":
        return [torch.optim.SGD(trained, rate, momentum=0.9, fused=True)]
    if task.optimizer == "adam":
        return [torch.optim.Adam(trained, rate, eps=1e-8, fused=True)]
    # The fused one does not take sparse gradients.
    tables = [x for key, x in parameters.items() if key.startswith("table")]
    others = [x for key, x in parameters.items() if not key.startswith("table")]
    return [torch.optim.Adagrad(tables, rate, initial_accumulator_value=0.1),
            torch.optim.Adagrad(others, rate, initial_accumulator_value=0.1, fused=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cuda: float32 stays as exact as on the CPU")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    task = tasks.make_task(options.name)
    parameters = {key: parameter(key, value, options.device) for key, value in task.values.items()}
    batches = [feed(batch, options.device) for batch in task.batches]
    optimizers = make_optimizers(task, parameters)
    loss_of = globals()[f"{options.name}_loss"]
    if options.compile:
        loss_of = torch.compile(loss_of)
    done = 0
    for line in sys.stdin:
        answers = []
        for _ in range(int(line)):
            batch = batches[done % len(batches)]
            done += 1
            start = time.perf_counter_ns()
            batch = {key: x.to(options.device, non_blocking=True) for key, x in batch.items()}
            loss = loss_of(parameters, **batch)
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
            found = loss.item()
            answers.append(f"{time.perf_counter_ns() - start} {found}")
        print(" ".join(answers), flush=True)


if __name__ == "__main__":
    main()
