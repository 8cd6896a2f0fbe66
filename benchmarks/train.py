#!/usr/bin/env python3
"""Training steps a second, against TensorFlow and PyTorch.

    scripts/bench train [MODEL...] [--threads=1,2] [--seconds=S] [--rounds=N] [--quick]
    scripts/bench train --recorded [GRAPH/OPTIMIZER...]
    scripts/bench train --gpu [MODEL...]
    scripts/bench train --gpu --write=FOLDER [MODEL...]
    benchmarks/train.py --gpu --packed=FOLDER [MODEL...]     # needs no TensorFlow

The models are those of benchmarks/models/training_tasks.py: mlp (784-512-512-10, batch 64, Adam),
small_mlp (64-32-10, batch 32, gradient descent), lenet (batch 64, momentum), resnet20 (batch 64,
momentum), lstm (128 units, 50 steps, batch 32, Adam), bert_mini (4 layers of 256, batch 16, 128
tokens, Adam) and recommender (26 tables of embeddings, batch 128, Adagrad with sparse gradients).

Ours trains the SavedModel that TensorFlow writes of them; TensorFlow runs the same tf.function, also
with jit_compile; PyTorch runs its own layers and fused optimizers, eager and by torch.compile. All
start from the same values and get the same batches. Each side makes 20 steps first, whose losses
must agree within a thousandth (the first 10 of ResNet-20 and BERT-mini); then the sides take turns, on the same number of threads. The table
shows steps a second by the median of all steps. A side that cannot run a model shows "-".
--quick leaves out what compiles, the second thread, ResNet-20 and BERT-mini.

--recorded trains graphs of ../shared/training (TESSERA_SHARED names another folder) in the style of
TF1, by prepared calls on both sides.

--gpu trains resnet50 (224 x 224, batch 64, momentum) and bert_base (12 layers of 768, batch 32, 128
tokens, Adam) on a GPU, beside PyTorch where that finds one. TensorFlow's first losses come from the
CPU. It wants a train_runner that was built with --config=cuda: scripts/gpu/bench builds it. --write
writes the models without their weights and batches, which any machine makes anew, and TensorFlow's
first losses beside them; --packed trains these.

Builds //benchmarks:train_runner first; TESSERA_TRAIN_RUNNER names one that is built already.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "benchmarks" / "models"
sys.path.insert(0, str(MODELS))

# pylint: disable=wrong-import-position
import batch_files
import left_out_weights
import training_tasks

SHARED = pathlib.Path(os.environ.get("TESSERA_SHARED", ROOT.parent / "shared"))
NAMES = ("mlp", "small_mlp", "lenet", "resnet20", "lstm", "bert_mini", "recommender")
SLOW = ("resnet20", "bert_mini")
ON_GPU = ("resnet50", "bert_base")
RECORDED = (
    "linear_regression_resource/momentum",
    "logistic_regression/ftrl",
    "mlp_digits/adam",
    "embedding_sparse_updates/adagrad",
    "lenet_lrn/momentum",
    "lstm_while_v1/adam",
    "attention_block/adam",
)
FIRST_STEPS = 20
# How many of these must agree. Rounding grows fast in deep networks: at step 16, PyTorch differs from
# TensorFlow by more than a thousandth in BERT-mini.
CHECKED_STEPS = {name: 10 if name in SLOW else FIRST_STEPS for name in NAMES}
CHECKED_STEPS |= {"resnet50": 1, "bert_base": 2}


class Side:
    """A process that trains: it reads numbers of steps, and answers the nanoseconds and the loss of
    each step."""

    def __init__(self, title, command):
        self.title = title
        self.command = [str(word) for word in command]
        self.times = []
        self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         text=True)

    def run(self, steps):
        """Seconds and losses of the steps; None if the process has failed."""
        try:
            print(steps, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        words = self._process.stdout.readline().split()
        if not words:
            return None
        return [int(x) * 1e-9 for x in words[::2]], [float(x) for x in words[1::2]]

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.wait()


class RecordedSide:
    """The first losses of a Side that ran elsewhere."""

    def __init__(self, title, losses):
        self.title = title
        self._losses = losses

    def run(self, steps):
        return [0.0] * steps, self._losses[:steps]

    def close(self):
        pass


def interleave(sides, seconds, rounds):
    """Lets the sides take turns, each for `seconds` in all, and notes the times of their steps."""
    for _ in range(rounds):
        for side in sides:
            pace = statistics.median(side.times or side.run(3)[0])
            side.times += side.run(max(1, round(seconds / rounds / pace)))[0]


def check_losses(name, reference, losses, title):
    for step, (want, got) in enumerate(zip(reference, losses)):
        if not abs(got - want) <= 1e-3 * abs(want):
            sys.exit(f"train: {name}: step {step}: {title} has loss {got}, TensorFlow {want}")


def python_of(environment):
    return subprocess.run([ROOT / "scripts/python_env", environment], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def make_models(names):
    """The folder of the SavedModels, which belongs to the state of the scripts that make them."""
    scripts = [MODELS / "training_tasks.py", MODELS / "tensorflow_training.py",
               MODELS / "batch_files.py"]
    version = hashlib.sha256(b"".join(x.read_bytes() for x in scripts)).hexdigest()[:12]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")))
    directory = cache / "tessera" / "bench_models" / f"train-{version}"
    missing = [name for name in names if not (directory / name).exists()]
    if missing:
        subprocess.run([sys.executable, scripts[1], "make", directory, *missing], check=True,
                       stderr=subprocess.DEVNULL)
    return directory


def start_sides(runner, directory, name, threads, quick):
    torch = [python_of("torch"), MODELS / "torch_training.py", name, f"--threads={threads}"]
    tensorflow = [sys.executable, MODELS / "tensorflow_training.py", "run", name,
                  f"--threads={threads}"]
    sides = [Side("TensorFlow", tensorflow),
             Side("Tessera", [runner, directory / name, f"--threads={threads}"]),
             Side("PyTorch", torch)]
    if not quick:
        sides += [Side("TensorFlow jit", [*tensorflow, "--jit"]),
                  Side("PyTorch compiled", [*torch, "--compile"])]
    return sides


def start_tensorflow(name):
    return Side("TensorFlow", [sys.executable, MODELS / "tensorflow_training.py", "run", name,
                               f"--threads={os.cpu_count()}"])


def start_gpu_sides(runner, directory, name):
    losses = directory / name / "losses.json"
    torch = [python_of("torch"), MODELS / "torch_training.py", name, "--device=cuda"]
    return [RecordedSide("TensorFlow", json.loads(losses.read_text())) if losses.exists()
            else start_tensorflow(name),
            Side("Tessera", [runner, directory / name]),
            Side("PyTorch", torch), Side("PyTorch compiled", [*torch, "--compile"])]


def write_packed(names, target):
    """Writes folders for unpack()."""
    directory = make_models(names)
    for name in names:
        folder = target / name
        shutil.copytree(directory / name, folder, ignore=shutil.ignore_patterns("batch_*.pb"))
        left_out_weights.take_out(folder, training_tasks.make_task(name).values)
        side = start_tensorflow(name)
        (folder / "losses.json").write_text(json.dumps(side.run(CHECKED_STEPS[name])[1]))
        side.close()


def unpack(packed, name, target):
    """Writes what make_models() does, of what write_packed() wrote, with TensorFlow's losses."""
    shutil.copytree(packed / name, target / name)
    task = training_tasks.make_task(name)
    left_out_weights.put_back(target / name, task.values)
    batch_files.write(target / name, task.batches)


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def first_losses(name, sides, steps):
    """Makes the first steps of all sides, compares their losses with those of the first side, and
    returns the sides that can train the model."""
    able, reference = [], None
    for side in sides:
        found = side.run(steps)
        if found is None:
            side.close()
            if side.title == "Tessera":
                sys.exit(f"train: train_runner does not train {side.command[1]}")
            continue
        reference = reference or found[1]
        check_losses(name, reference, found[1][:CHECKED_STEPS[name]], side.title)
        able.append(side)
    return able


def measure_row(cells, titles, sides, seconds, rounds):
    """Lets the sides take turns, and prints the row that `cells` begin."""
    interleave(sides, seconds, rounds)
    rates = {}
    for side in sides:
        side.close()
        rates[side.title] = 1 / statistics.median(side.times)
    others = [rate for title, rate in rates.items() if title != "Tessera"]
    print_row([*cells, *(f"{rates[x]:.1f}" if x in rates else "-" for x in titles),
               f"{rates['Tessera'] / max(others):.2f}" if others else "-"])


def train_models(runner, options):
    names = options.names or [x for x in NAMES if not (options.quick and x in SLOW)]
    directory = make_models(names)
    titles = ["Tessera", "TensorFlow", "PyTorch"]
    if not options.quick:
        titles += ["TensorFlow jit", "PyTorch compiled"]
    print_row(["model", "threads", *(f"{title}, steps/s" for title in titles), "ratio to the best"])
    print_row(["---"] * (len(titles) + 3))
    for threads in [1] if options.quick else options.threads:
        for name in names:
            sides = start_sides(runner, directory, name, threads, options.quick)
            able = first_losses(name, sides, FIRST_STEPS)
            measure_row([name, str(threads)], titles, able,
                        2 if options.quick else options.seconds, options.rounds)


def train_on_gpu(runner, options):
    names = options.names or ON_GPU
    if options.packed is None:
        print_gpu_rows(runner, make_models(names), names, options)
        return
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        for name in names:
            unpack(options.packed, name, directory)
        print_gpu_rows(runner, directory, names, options)


def print_gpu_rows(runner, directory, names, options):
    titles = ["Tessera", "PyTorch", "PyTorch compiled"]
    print_row(["model", *(f"{title}, steps/s" for title in titles), "ratio to the best"])
    print_row(["---"] * (len(titles) + 2))
    for name in names:
        able = first_losses(name, start_gpu_sides(runner, directory, name), CHECKED_STEPS[name])
        able[0].close()  # TensorFlow, on the CPU
        measure_row([name], titles, able[1:], options.seconds, options.rounds)


def train_recorded(runner, options):
    print_row(["graph/optimizer", "ours, us", "TensorFlow, us", "ratio"])
    print_row(["---"] * 4)
    script = MODELS / "recorded_training.py"
    for name in options.names or RECORDED:
        graph, optimizer = name.split("/")
        folder = SHARED / "training" / graph
        for threads in options.threads[:1]:
            command = [folder, optimizer, f"--threads={threads}"]
            sides = [Side("Tessera", [runner, *command]),
                     Side("TensorFlow", [sys.executable, script, *command])]
            interleave(sides, options.seconds, options.rounds)
            ours, theirs = (statistics.median(side.times) for side in sides)
            for side in sides:
                side.close()
            print_row([name, f"{ours * 1e6:.1f}", f"{theirs * 1e6:.1f}", f"{theirs / ours:.1f}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--threads", type=lambda x: [int(y) for y in x.split(",")], default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10, help="of each side and model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--packed", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.write is not None:
        write_packed(options.names or ON_GPU, options.write)
        return
    runner = os.environ.get("TESSERA_TRAIN_RUNNER")
    if runner is None:
        subprocess.run(["bazel", "build", "//benchmarks:train_runner"], cwd=ROOT, check=True)
        runner = ROOT / "bazel-bin/benchmarks/train_runner"
    if options.recorded:
        train_recorded(runner, options)
    elif options.gpu:
        train_on_gpu(runner, options)
    else:
        train_models(runner, options)


if __name__ == "__main__":
    main()
