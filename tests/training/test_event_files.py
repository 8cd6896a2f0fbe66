"""Event files that graphs write: TensorFlow reads them, and TensorBoard shows them."""

import json
import subprocess
import time

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from clients.server import binary, environment  # noqa: E402
from clients.tensorboard import TensorBoard  # noqa: E402


def text_plugin():
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    return metadata.SerializeToString()


class Logger(tf.Module):
    """Writes one summary of each kind, as tf.summary's functions do in a graph."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x"),
                                  tf.TensorSpec([], tf.string, "logdir"),
                                  tf.TensorSpec([], tf.int64, "step")])
    def log(self, x, logdir, step):
        raw = tf.raw_ops
        writer = raw.SummaryWriter(shared_name="events")
        raw.CreateSummaryFileWriter(writer=writer, logdir=logdir, max_queue=100,
                                    flush_millis=60_000, filename_suffix=".v2")
        raw.WriteScalarSummary(writer=writer, step=step, tag="loss", value=tf.reduce_sum(x))
        raw.WriteHistogramSummary(writer=writer, step=step, tag="weights", values=x)
        image = tf.reshape(x, [1, 1, -1, 1])
        raw.WriteImageSummary(writer=writer, step=step, tag="picture", tensor=image,
                              bad_color=tf.constant([255, 0, 0, 255], tf.uint8))
        raw.WriteAudioSummary(writer=writer, step=step, tag="sound",
                              tensor=tf.reshape(x, [1, -1, 1]), sample_rate=8000.0)
        raw.WriteSummary(writer=writer, step=step, tensor=tf.constant(["some *text*"]), tag="note",
                         summary_metadata=text_plugin())
        merged = raw.MergeSummary(inputs=[raw.ScalarSummary(tags="accuracy", values=0.5)])
        raw.WriteRawProtoSummary(writer=writer, step=step, tensor=merged)
        event = tf.compat.v1.Event(wall_time=1.0, step=77)
        event.summary.value.add(tag="imported", simple_value=3.0)
        raw.ImportEvent(writer=writer, event=event.SerializeToString())
        raw.CloseSummaryWriter(writer=writer)
        return {"sum": tf.reduce_sum(x)}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    """A folder with the event files of two steps."""
    folder = tmp_path_factory.mktemp("events")
    module = Logger()
    tf.saved_model.save(module, str(folder / "model"), signatures=module.log)
    logs = folder / "logs"
    for step, values in ((1, [0.0, 1.0, 3.0]), (2, [-1.0, 0.5])):
        subprocess.run(
            [str(binary()), "run", str(folder / "model"), f"--input=x={values}",
             f"--input=logdir={json.dumps(str(logs))}", f"--input=step={step}"],
            check=True, capture_output=True, env=environment(), timeout=60)
    return logs


def events(logdir):
    return [event for path in sorted(logdir.iterdir())
            for event in tf.compat.v1.train.summary_iterator(str(path))]


def values(logdir, tag):
    return {event.step: value for event in events(logdir) for value in event.summary.value
            if value.tag == tag}


def test_tensorflow_reads_every_kind(logdir):
    assert [e.file_version for e in events(logdir) if e.file_version] == ["brain.Event:2"] * 2
    losses = values(logdir, "loss")
    assert {step: value.simple_value for step, value in losses.items()} == {1: 4.0, 2: -0.5}
    picture = values(logdir, "picture/image/0")[1].image
    pixels = tf.io.decode_png(picture.encoded_image_string).numpy()
    np.testing.assert_array_equal(pixels.flatten(), [0, 85, 255])
    sound = values(logdir, "sound/audio/0")[2].audio
    decoded, rate = tf.audio.decode_wav(sound.encoded_audio_string)
    np.testing.assert_allclose(decoded.numpy().flatten(), [-1.0, 0.5], atol=1e-4)
    assert rate == 8000
    assert values(logdir, "note")[1].tensor.string_val == [b"some *text*"]
    assert values(logdir, "accuracy")[2].simple_value == 0.5
    assert values(logdir, "imported")[77].simple_value == 3.0


def test_histograms_are_tensorflows(logdir):
    ours = values(logdir, "weights")[1].histo
    theirs = tf.compat.v1.Summary.FromString(
        tf.raw_ops.HistogramSummary(tag="weights", values=[0.0, 1.0, 3.0]).numpy()).value[0].histo
    assert ours == theirs


def wait_for_tags(board):
    """TensorBoard reads files in the background."""
    deadline = time.monotonic() + 60
    while not board.ask("tags", plugin="scalars").get("."):
        assert time.monotonic() < deadline, "TensorBoard does not find the event files"
        time.sleep(0.2)


def test_tensorboard_shows_them(logdir):
    with TensorBoard(logdir) as board:
        wait_for_tags(board)
        assert set(board.ask("tags", plugin="scalars")["."]) == {"loss", "accuracy", "imported"}
        points = board.ask("scalars", plugin="scalars", run=".", tag="loss")
        assert sorted(point[1:] for point in points) == [[1, 4.0], [2, -0.5]]
        for plugin, tag in (
            ("histograms", "weights"),
            ("images", "picture/image/0"),
            ("audio", "sound/audio/0"),
            ("text", "note"),
        ):
            assert list(board.ask("tags", plugin=plugin)["."]) == [tag]
