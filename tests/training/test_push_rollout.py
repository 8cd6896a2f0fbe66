"""From a training job to the traffic: what a job exports, a running server takes as its candidate. A
good version is promoted, and one that was trained on shuffled labels is taken back."""

import random
import threading

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from clients.client import Client, array, predict_request  # noqa: E402
from clients.server import Server  # noqa: E402
from rollouts.test_rollout import decisions, wait_until  # noqa: E402
from training.train_jobs import records, train  # noqa: E402

CONFIG = """
file_system_poll_wait_seconds: 1
version_settle_seconds: 0
monitoring: {{prometheus_config: {{enable: true, path: /metrics}}}}
rollout_state_file: {folder}/state.json
models:
  - name: digits
    base_path: {folder}/job/served
    rollout:
      steps: [{{share_percent: 50, duration_seconds: 0.2}}]
      mirror_percent: 100
      conditions: {{min_requests: 20, max_p99_ratio: 1000, min_top1_agreement: 0.8,
                    output: probabilities}}
"""


def read_digits(path):
    """The rows of a file of examples."""
    pixels, labels = [], []
    for record in tf.compat.v1.io.tf_record_iterator(str(path)):
        feature = tf.train.Example.FromString(record).features.feature
        pixels.append(feature["pixels"].float_list.value[:])
        labels.append(feature["label"].int64_list.value[0])
    return np.array(pixels, np.float32), np.array(labels)


def shuffle_labels(source, target):
    examples = [tf.train.Example.FromString(record)
                for record in tf.compat.v1.io.tf_record_iterator(str(source))]
    labels = [each.features.feature["label"].int64_list.value[0] for each in examples]
    random.Random(1).shuffle(labels)
    with tf.io.TFRecordWriter(str(target)) as writer:
        for example, label in zip(examples, labels):
            example.features.feature["label"].int64_list.value[0] = label
            writer.write(example.SerializeToString())


class Asking(threading.Thread):
    """A client that asks for digits without pause, and counts right answers by version."""

    def __init__(self, server, pixels, labels):
        super().__init__()
        self._server, self._pixels, self._labels = server, pixels, labels
        self._stopping = threading.Event()
        self.right = {}

    def run(self):
        with Client(self._server) as client:
            while not self._stopping.is_set():
                for start in range(0, len(self._labels), 20):
                    rows = slice(start, start + 20)
                    reply = client.predict(
                        predict_request("digits", {"pixels": self._pixels[rows]}))
                    version = reply.model_spec.version.value
                    self.right.setdefault(version, []).extend(
                        array(reply.outputs["digit"]) == self._labels[rows])

    def stop(self):
        self._stopping.set()
        self.join()


def push(job, folder, **settings):
    """Trains another version."""
    process = train(job, folder=folder, **settings)
    assert process.returncode == 0, process.stderr
    (export,) = [each for each in records(process) if each["event"] == "export"]
    assert "path" in export, export


def test_good_version_is_promoted_and_one_of_shuffled_labels_taken_back(tmp_path):
    folder = tmp_path / "job"
    job = folder / "job.yaml"
    assert train("--init", "digits", folder).returncode == 0
    shuffle_labels(folder / "data" / "digits_train.tfrecord", folder / "data" / "bad.tfrecord")
    (tmp_path / "config.yaml").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    push(job, "run-1")
    with Server(f"--config={tmp_path / 'config.yaml'}") as server:
        asking = Asking(server, *read_digits(folder / "data" / "digits_test.tfrecord"))
        asking.start()
        try:
            push(job, "run-2", seed=2)
            wait_until(server, lambda made: made.get(("digits", "promoted")) == 2)
            # The condition of the export would refuse it, too.
            push(job, "run-3", data__train__files="[data/bad.tfrecord]", export__at_least=0)
            wait_until(server, lambda made: made.get(("digits", "rolled_back")) == 1)
        finally:
            asking.stop()
        assert decisions(server)[("digits", "promoted")] == 2
        with Client(server) as client:
            assert client.version_states("digits")[2][0] == "AVAILABLE"
    for version in (1, 2):
        assert np.mean(asking.right[version]) > 0.97
