"""Graphs that ask decision forests, small ones that are trained here; tests/data/record lets the
package ydf-tf answer them."""

import pathlib
import struct
import sys
import tempfile

import numpy as np
import tensorflow as tf
import ydf
import ydf_tf  # noqa: F401, registers the ops
from tensorflow.python.framework import op_def_library
from yggdrasil_decision_forests.dataset import data_spec_pb2
from yggdrasil_decision_forests.model import abstract_model_pb2
from yggdrasil_decision_forests.model.decision_tree import decision_tree_pb2
from yggdrasil_decision_forests.model.gradient_boosted_trees import gradient_boosted_trees_pb2
from yggdrasil_decision_forests.model.random_forest import random_forest_pb2

from conformance import graph_cases

_ROWS = 300


def _table():
    """A table with all kinds of columns, some of whose values are missing, and labels."""
    random = np.random.RandomState(1)
    numbers = [random.standard_normal(_ROWS).astype(np.float32) for _ in range(3)]
    for column in numbers[:2]:
        column[random.rand(_ROWS) < 0.15] = np.nan
    truth = random.rand(_ROWS) > 0.5
    letters = np.array(["a", "b", "c", "d", ""])[random.randint(0, 5, _ROWS)]
    many = np.array([f"v{i}" for i in range(40)])[random.randint(0, 40, _ROWS)]
    sets = np.empty(_ROWS, object)
    for i in range(_ROWS):
        sets[i] = random.choice(list("xyzw"), random.randint(0, 4), replace=False).astype(object)
    target = np.nan_to_num(numbers[0]) + np.nan_to_num(numbers[1]) * numbers[2] + truth
    target += (letters == "a") + np.array(["x" in value for value in sets])
    target += np.char.find(many, "3") * 0.7
    return {
        "n0": numbers[0],
        "n1": numbers[1],
        "n2": numbers[2],
        "b": truth,
        "c": letters,
        "m": many,
        "s": sets,
        "is_high": np.array(["no", "yes"])[(target > np.median(target)).astype(int)],
        "third": np.array(["lo", "mid", "hi"])[np.digitize(target, np.percentile(target, [33, 66]))],
        "target": target.astype(np.float32),
        "count": np.floor(np.abs(target)).astype(np.float32),
        "treatment": np.array(["none", "pill"])[random.randint(0, 2, _ROWS)],
    }


def _models():
    """The learners by name."""
    numbers = ["n0", "n1", "n2"]
    semantic, task = ydf.Semantic, ydf.Task
    category = {"semantic": semantic.CATEGORICAL, "min_vocab_frequency": 1}
    everything = [
        *numbers,
        "b",
        ydf.Feature("c", **category),
        ydf.Feature("m", **category),
        ydf.Feature("s", semantic.CATEGORICAL_SET, min_vocab_frequency=1),
    ]
    few = [*numbers, "b", ydf.Feature("c", **category)]
    small = {"num_trees": 2, "max_depth": 4, "min_examples": 10}
    boosted, bagged = ydf.GradientBoostedTreesLearner, ydf.RandomForestLearner
    small_boosted = {"validation_ratio": 0.0, **small}
    return {
        "votes": bagged(label="is_high", features=everything, **small),
        "shares": bagged(label="third", features=few, winner_take_all=False, **small),
        "number": bagged(
            label="target", task=task.REGRESSION, features=numbers, num_trees=1, max_depth=3
        ),
        "missing": bagged(
            label="is_high",
            features=few,
            missing_value_policy="LOCAL_IMPUTATION",
            allow_na_conditions=True,
            **small,
        ),
        "oblique": bagged(label="is_high", features=numbers, split_axis="SPARSE_OBLIQUE", **small),
        "uplift": bagged(
            label="is_high",
            uplift_treatment="treatment",
            task=task.CATEGORICAL_UPLIFT,
            features=numbers,
            **small,
        ),
        "binomial": boosted(label="is_high", features=everything, **small_boosted),
        "multinomial": boosted(label="third", features=few, **small_boosted),
        "logit": boosted(
            label="is_high", features=numbers, apply_link_function=False, **small_boosted
        ),
        "bins": boosted(
            label="target",
            task=task.REGRESSION,
            features=numbers,
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=8,
            **small_boosted,
        ),
        "poisson": boosted(
            label="count",
            task=task.REGRESSION,
            loss="POISSON",
            features=numbers,
            **small_boosted,
        ),
    }


def _shortened_nodes(contents):
    """A file of nodes without what training counted."""
    shortened = contents[:8]
    position = len(shortened)
    while position < len(contents):
        (size,) = struct.unpack_from("<I", contents, position)
        position += 4
        node = decision_tree_pb2.Node.FromString(contents[position : position + size])
        position += size
        node.ClearField("num_pos_training_examples_without_weight")
        if node.HasField("condition"):  # what a node would say as a leaf
            node.ClearField("output")
            for field in node.condition.DESCRIPTOR.fields:
                if "training" in field.name or field.name == "split_score":
                    node.condition.ClearField(field.name)
        for field in ("distribution", "sum_gradients", "sum_hessians", "sum_weights"):
            if node.HasField("regressor"):
                node.regressor.ClearField(field)
        record = node.SerializeToString(deterministic=True)
        shortened += struct.pack("<I", len(record)) + record
    return shortened


def _shortened(name, contents):
    """A file of a model without what only training looks at."""
    if name == "header.pb":
        header = abstract_model_pb2.AbstractModel.FromString(contents)
        header.ClearField("metadata")
        header.ClearField("precomputed_variable_importances")
        return header.SerializeToString(deterministic=True)
    if name == "random_forest_header.pb":
        header = random_forest_pb2.Header.FromString(contents)
        header.ClearField("out_of_bag_evaluations")
        return header.SerializeToString(deterministic=True)
    if name == "gradient_boosted_trees_header.pb":
        header = gradient_boosted_trees_pb2.Header.FromString(contents)
        header.ClearField("training_logs")
        return header.SerializeToString(deterministic=True)
    if name.startswith("nodes-"):
        return _shortened_nodes(contents)
    return contents


def model_files(model):
    """The files of a model by name."""
    with tempfile.TemporaryDirectory() as directory:
        model.save(directory)
        return {
            path.name: _shortened(path.name, path.read_bytes())
            for path in sorted(pathlib.Path(directory).iterdir())
        }


def _numbers(random, rows, columns):
    values = random.standard_normal((rows, columns)).astype(np.float32)
    values[random.rand(rows, columns) < 0.2] = np.nan
    values[random.rand(rows, columns) < 0.05] = np.inf
    return values


def examples(files, rows, seed, truth_values):
    """The inputs of the ops: random values, missing ones and ones that nobody knows."""
    random = np.random.RandomState(seed)
    header = abstract_model_pb2.AbstractModel.FromString(files["header.pb"])
    data = data_spec_pb2.DataSpecification.FromString(files["data_spec.pb"])
    columns = [data.columns[i] for i in sorted(header.input_features)]

    def of_type(*names):
        wanted = [data_spec_pb2.ColumnType.Value(name) for name in names]
        return [column for column in columns if column.type in wanted]

    def values(column, count):
        return random.randint(-1, column.categorical.number_of_unique_values + 1, count)

    numbers = of_type("NUMERICAL", "DISCRETIZED_NUMERICAL")
    truths = of_type("BOOLEAN")
    categories = of_type("CATEGORICAL")
    kinds_of_sets = of_type("CATEGORICAL_SET")
    booleans = random.choice(truth_values, (rows, len(truths))).astype(np.float32)
    categorical = [values(column, rows) for column in categories]
    sets = [
        np.maximum(values(column, random.randint(0, 4)), 0) if random.rand() < 0.9 else [-1]
        for _ in range(rows)
        for column in kinds_of_sets
    ]
    in_row = len(kinds_of_sets)
    return {
        "numerical_features": _numbers(random, rows, len(numbers)),
        "boolean_features": booleans if truths else np.zeros((0, 0), np.float32),
        "categorical_int_features": np.array(categorical, np.int32).T
        if categories
        else np.zeros((0, 0), np.int32),
        "categorical_set_int_features_values": np.concatenate([*sets, []]).astype(np.int32),
        "categorical_set_int_features_row_splits_dim_1": np.cumsum(
            [0, *map(len, sets)], dtype=np.int64
        ),
        "categorical_set_int_features_row_splits_dim_2": np.arange(rows + 1, dtype=np.int64)
        * in_row
        if in_row
        else np.zeros(1, np.int64),
    }


def output_dim(files):
    """The number of predictions for an example."""
    header = abstract_model_pb2.AbstractModel.FromString(files["header.pb"])
    data = data_spec_pb2.DataSpecification.FromString(files["data_spec.pb"])
    size = data.columns[header.label_col_idx].categorical.number_of_unique_values
    if header.task == abstract_model_pb2.CLASSIFICATION:
        return size - 1 if header.classification_outputs_probabilities or size != 3 else 1
    if header.task == abstract_model_pb2.CATEGORICAL_UPLIFT:
        return size - 2
    return 1


def graph(name, files, counts_of_rows=(12,), by_identifier=False, asks_leaves=False):
    """Writes the files of a model, loads it, and asks for predictions and, by handle, leaves."""

    def build():
        folder = f"/tmp/tessera_pipeline_forest_{name}"
        runs = [
            tf.raw_ops.WriteFile(filename=f"{folder}/{file}", contents=tf.constant(contents))
            for file, contents in files.items()
        ]

        def call(op, **args):
            return op_def_library.apply_op(op, **args)

        model = {"model_identifier": name}
        if by_identifier:
            runs.append(call("SimpleMLLoadModelFromPath", path=folder + "/", **model))
        else:
            handle = call("SimpleMLCreateModelResource", container="", shared_name=name)
            model = {"model_handle": handle}
            runs.append(
                call(
                    "SimpleMLLoadModelFromPathWithHandle",
                    path=folder + "/",
                    output_types=["LEAVES"] if asks_leaves else [],
                    file_prefix="",
                    allow_slow_inference=True,
                    **model,
                )
            )
        # Where leaves are asked for, the library uses an engine that takes 0.25 for false.
        truth_values = [0, 1, np.nan, 0.5] + ([] if asks_leaves else [0.25])
        op = "SimpleMLInferenceOp" + ("" if by_identifier else "WithHandle")
        expect = []
        for rows in counts_of_rows:
            inputs = examples(files, rows, rows, truth_values)
            expect += call(op, dense_output_dim=output_dim(files), **inputs, **model)
            if asks_leaves:
                expect.append(call("SimpleMLInferenceLeafIndexOpWithHandle", **inputs, **model))
        return graph_cases.Plan(runs, expect)

    return build


def graphs():
    """All cases by name."""
    table = _table()
    files = {
        name: model_files(learner.train(table, verbose=0)) for name, learner in _models().items()
    }
    cases = {
        f"forest_{name}": graph(name, of_model, asks_leaves=name == "votes")
        for name, of_model in files.items()
        if name != "logit"
    }
    cases["forest_logit"] = graph("logit", files["logit"], (12, 3), by_identifier=True)
    return cases


def record(directory):
    """Writes all files below DIRECTORY, and returns their paths."""
    return graph_cases.record(pathlib.Path(directory) / "graphs", graphs())


if __name__ == "__main__":
    for path in record(sys.argv[1]):
        print(f"{path.stat().st_size:8} {path}")
