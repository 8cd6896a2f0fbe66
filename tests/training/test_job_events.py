"""Event files that jobs write: TensorBoard shows every kind of what is in them."""

import json
import time

import pytest

tf = pytest.importorskip("tensorflow")

from clients.tensorboard import TensorBoard  # noqa: E402
from training.files import write  # noqa: E402


@pytest.fixture(scope="module", name="logdir")
def _logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    pixels = tf.constant([[[0], [100], [200]], [[1], [2], [3]]], tf.uint8)
    (folder / "image.png").write_bytes(tf.io.encode_png(pixels).numpy())
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0, name="scope/one")
    (folder / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    write("events", folder / "logs", folder / "image.png", folder / "graph.pb")
    return folder / "logs"


def events(logdir):
    path, = logdir.iterdir()
    return list(tf.compat.v1.train.summary_iterator(str(path)))


def test_tensorflow_reads_them(logdir):
    values = {(event.step, value.tag): value for event in events(logdir)
              for value in event.summary.value}
    assert values[0, "loss"].simple_value == 0.5
    assert values[1, "loss"].simple_value == -0.5
    assert values[0, "job"].tensor.string_val == [b"a *job*"]
    assert values[1, "weights"].histo.num == 3  # a NaN has no bucket
    image = values[0, "digit"].image
    assert tf.io.decode_png(image.encoded_image_string).shape == (
        image.height, image.width, image.colorspace)


def ask_until_there(board, tool, plugin, **parameters):
    """TensorBoard reads files in the background."""
    deadline = time.monotonic() + 60
    while not (answer := board.ask(tool, plugin=plugin, **parameters)):
        assert time.monotonic() < deadline, f"TensorBoard shows no {plugin}"
        time.sleep(0.2)
    return answer


def test_tensorboard_shows_them(logdir):
    with TensorBoard(logdir) as board:
        for plugin, tag in (("scalars", "loss"), ("histograms", "weights"), ("images", "digit"),
                            ("text", "job")):
            assert list(ask_until_there(board, "tags", plugin)["."]) == [tag]
        assert ask_until_there(board, "info", "graphs")["."]["run_graph"]


def test_tensorboard_shows_hyperparameters(logdir):
    statuses = ["STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING", "STATUS_UNKNOWN"]
    request = {"startIndex": 0, "sliceSize": 10, "allowedStatuses": statuses, "colParams": [
        {"hparam": name} for name in ("rate", "optimizer", "nesterov")]}
    with TensorBoard(logdir) as board:
        ask_until_there(board, "tags", "scalars")
        answer = board.ask("session_groups", plugin="hparams", request=json.dumps(request))
    group, = answer["sessionGroups"]
    assert group["name"] == "trial"
    assert group["hparams"] == {"rate": 0.5, "optimizer": "adam", "nesterov": True}
    session, = group["sessions"]
    assert session["status"] == "STATUS_SUCCESS"
    assert session["endTimeSecs"] - session["startTimeSecs"] == 5
