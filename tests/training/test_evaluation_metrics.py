"""The metrics of evaluations against tf.keras.metrics, on the same outputs and labels.

The graph gives its inputs back, so that a job evaluates on numbers chosen here: scores with ties,
outputs that equal thresholds, weights, and a last batch that is not full.
"""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training.train_jobs import records, train  # noqa: E402

v1 = tf.compat.v1
CLASSES = 5
METRICS = tf.keras.metrics

# By name: the job's metric, and Keras's with the fields that it compares.
CASES = {
    "accuracy": ("{type: accuracy, output: scores, label: class}",
                 METRICS.SparseCategoricalAccuracy(), "class", "scores"),
    "accuracy_weighted": ("{type: accuracy, output: scores, label: class, weight: weight}",
                          METRICS.SparseCategoricalAccuracy(), "class", "scores"),
    "accuracy_of_one_hot": ("{type: accuracy, output: scores, label: one_hot}",
                            METRICS.CategoricalAccuracy(), "one_hot", "scores"),
    "accuracy_binary": ("{type: accuracy, output: chance, label: truth}",
                        METRICS.BinaryAccuracy(), "truth", "chance"),
    "accuracy_of_each": ("{type: accuracy, output: scores, label: one_hot, threshold: 0.25}",
                         METRICS.BinaryAccuracy(threshold=0.25), "one_hot", "scores"),
    "top_1": ("{type: top_k_accuracy, k: 1, output: scores, label: class}",
              METRICS.SparseTopKCategoricalAccuracy(k=1), "class", "scores"),
    "top_3": ("{type: top_k_accuracy, k: 3, output: scores, label: class, weight: weight}",
              METRICS.SparseTopKCategoricalAccuracy(k=3), "class", "scores"),
    "top_all": ("{type: top_k_accuracy, k: 9, output: scores, label: class}",
                METRICS.SparseTopKCategoricalAccuracy(k=9), "class", "scores"),
    "auc": ("{type: auc, output: chance, label: truth}", METRICS.AUC(), "truth", "chance"),
    "auc_weighted": ("{type: auc, output: chance, label: truth, weight: weight}",
                     METRICS.AUC(), "truth", "chance"),
    "auc_of_each": ("{type: auc, output: scores, label: one_hot}", METRICS.AUC(), "one_hot",
                    "scores"),
    "precision": ("{type: precision, output: chance, label: truth}",
                  METRICS.Precision(), "truth", "chance"),
    "precision_0.75": ("{type: precision, output: chance, label: truth, threshold: 0.75, "
                       "weight: weight}", METRICS.Precision(0.75), "truth", "chance"),
    "precision_of_2": ("{type: precision, output: scores, label: one_hot, class_id: 2, "
                       "threshold: 0.5}", METRICS.Precision(0.5, class_id=2), "one_hot", "scores"),
    "precision_of_none": ("{type: precision, output: chance, label: truth, threshold: 1}",
                          METRICS.Precision(1.0), "truth", "chance"),
    "recall": ("{type: recall, output: chance, label: truth}",
               METRICS.Recall(), "truth", "chance"),
    "recall_0.25": ("{type: recall, output: chance, label: truth, threshold: 0.25, "
                    "weight: weight}", METRICS.Recall(0.25), "truth", "chance"),
    "recall_of_0": ("{type: recall, output: scores, label: one_hot, class_id: 0, threshold: 0.3}",
                    METRICS.Recall(0.3, class_id=0), "one_hot", "scores"),
    "mse": ("{type: mean_squared_error, output: scores, label: one_hot}",
            METRICS.MeanSquaredError(), "one_hot", "scores"),
    "mse_weighted": ("{type: mean_squared_error, output: scores, label: one_hot, weight: weight}",
                     METRICS.MeanSquaredError(), "one_hot", "scores"),
    "mae": ("{type: mean_absolute_error, output: chance, label: truth, weight: weight}",
            METRICS.MeanAbsoluteError(), "truth", "chance"),
}


def rows(count):
    random = np.random.default_rng(5)
    # Few different numbers, so that scores are equal to each other and to thresholds.
    scores = (random.integers(0, 9, (count, CLASSES)) / 8).astype(np.float32)
    chance = (random.integers(0, 21, count) / 20).astype(np.float32)
    chance[::7] = 0.5
    labels = random.integers(0, CLASSES, count)
    return {
        "scores": scores,
        "chance": chance,
        "class": labels.astype(np.int64),
        "one_hot": np.eye(CLASSES, dtype=np.float32)[labels],
        "truth": (random.random(count) < chance).astype(np.float32),
        "weight": (random.integers(0, 4, count) / 2).astype(np.float32),
    }


def write_rows(path, columns):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(len(columns["class"])):
            feature = {}
            for name, column in columns.items():
                values = np.ravel(column[i])
                feature[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=values)) \
                    if column.dtype == np.int64 else \
                    tf.train.Feature(float_list=tf.train.FloatList(value=values))
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())


def write_job(folder, cases, columns):
    graph = v1.Graph()
    with graph.as_default():
        factor = v1.get_variable("factor", initializer=np.float32(1))
        scores = v1.placeholder(tf.float32, [None, CLASSES], name="scores")
        chance = v1.placeholder(tf.float32, [None], name="chance")
        tf.multiply(scores, factor, name="out_scores")
        tf.multiply(chance, factor, name="out_chance")
        v1.train.export_meta_graph(str(folder / "forward.meta"))
    write_rows(folder / "rows.tfrecord", columns)
    fields = ["{name: scores, shape: [%d], dtype: float32}" % CLASSES,
              "{name: one_hot, shape: [%d], dtype: float32}" % CLASSES,
              "{name: class, dtype: int64}",
              *(f"{{name: {name}, dtype: float32}}" for name in ("chance", "truth", "weight"))]
    metrics = [spec.replace("{", f"{{name: {name}, ", 1) for name, (spec, *_) in cases.items()]
    data = f"{{files: [rows.tfrecord], fields: [{', '.join(fields)}]}}"
    # The rate is too small to move the factor, so that the outputs are what is fed.
    (folder / "job.yaml").write_text(
        "graph:\n  meta_graph: forward.meta\n"
        "  outputs: {scores: out_scores, chance: out_chance}\n"
        "  loss: {type: mean_squared_error, output: out_chance, label: truth}\n"
        "  optimizer: {type: sgd, learning_rate: 1.0e-30}\n"
        f"data:\n  train: {data}\n  eval: {data}\n"
        "batch: 16\nsteps: 1\n"
        f"eval: {{metrics: [{', '.join(metrics)}]}}\n", encoding="utf-8")
    return folder / "job.yaml"


# A single row; some full batches; some with rows left over for the last one.
@pytest.mark.parametrize("count", [1, 48, 83])
def test_metrics_are_keras(count, tmp_path):
    columns = rows(max(count, 16))
    job = write_job(tmp_path, CASES, columns)
    columns = {name: column[:count] for name, column in columns.items()}
    write_rows(tmp_path / "evaluated.tfrecord", columns)
    process = train(job, data__eval__files="[evaluated.tfrecord]")
    assert process.returncode == 0, process.stderr
    (ours,) = [each for each in records(process) if each["event"] == "eval"]
    for name, (spec, metric, label, output) in CASES.items():
        metric.reset_state()
        for first in range(0, count, 16):
            batch = {key: column[first:first + 16] for key, column in columns.items()}
            # Keras takes the last axis of labels and outputs as that of the classes.
            wide = [batch[key][:, None] if batch[key].ndim == 1 else batch[key]
                    for key in (label, output)]
            metric.update_state(*wide,
                                sample_weight=batch["weight"] if "weight: weight" in spec else None)
        assert ours[name] == pytest.approx(float(metric.result()), rel=1e-5, abs=1e-7), name
