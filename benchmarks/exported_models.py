"""Steps of models that one library exports as SavedModels, next to TensorFlow's: what benchmarks of
such models have in common. Turns and columns are those of `scripts/bench model`."""
import argparse
import pathlib
import sys

import model
import programs
import tensorflow as tf
from model_process import ModelProcess


def milliseconds(pair):
    """Minimum and median. Some steps take microseconds."""
    return f"{pair[0] * 1e3:.4f} / {pair[1] * 1e3:.4f}"


def main(name, doc, models, export, input_of, batches, peers=()):
    """Measures each of the `models`, which export(model, directory) writes to directory/model/1,
    with the inputs that input_of(model, batch) gives. `peers` are classes of contestants beside
    TensorFlow, as model.Timed is one, that take the directory, the model and the threads."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=lambda text: [int(x) for x in text.split(",")],
                        default=batches)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="of measuring, a contestant")
    parser.add_argument("--runner", help="a model_runner that is built already")
    parser.add_argument("--directory", type=pathlib.Path,
                        default=model.make_models.default_directory() / name)
    args = parser.parse_args()
    runner = args.runner or programs.build(model.RUNNER) / model.RUNNER
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    labels = ["TensorFlow", *(peer.LABEL for peer in peers)]
    programs.print_head("model", "batch", "threads", "Tessera", *labels,
                        *(f"ratio to {label}" for label in labels), "error")
    errors = []
    for each in models:
        export(each, args.directory)
        tessera = ModelProcess(runner, args.directory / each / "1", args.threads)
        contestants = {
            "Tessera": tessera,
            "TensorFlow": model.Timed(model.TensorFlow(args.directory, each, args.threads)),
            **{peer.LABEL: peer(args.directory, each, args.threads) for peer in peers}}
        for batch in args.batches:
            result = model.compare(contestants, input_of(each, batch), args.seconds)
            ours = result["Tessera"]
            programs.print_row(each, batch, args.threads, milliseconds(ours),
                               *(milliseconds(result[label]) for label in labels),
                               *(model.ratio(ours, result[label]) for label in labels),
                               f"{ours[2]:.0e}")
            errors.append(ours[2])
        tessera.close()
    if max(errors) > model.TOLERANCE:
        sys.exit("an output differs from TensorFlow's")
