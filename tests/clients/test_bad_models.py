"""Models that cannot be loaded, beside one that is served: it must go on undisturbed."""

import shutil
import time

import pytest
from tensorflow.core.protobuf import saved_model_pb2

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.server import Model, Server, StartError


def rewrite_graph(version, change):
    """Applies `change` to the GraphDef of a version's saved_model.pb."""
    path = version / "saved_model.pb"
    saved_model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    change(saved_model.meta_graphs[0].graph_def)
    path.write_bytes(saved_model.SerializeToString())


def node(graph, name):
    return next(node for node in graph.node if node.name == name)


def truncate(path, keep):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def flip_byte(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x40
    path.write_bytes(bytes(data))


def truncated_graph(version):
    truncate(version / "saved_model.pb", 0.6)


def garbage_graph(version):
    (version / "saved_model.pb").write_bytes(b"\xff" * 5000)


def empty_graph(version):
    (version / "saved_model.pb").write_bytes(b"")


def no_graph(version):
    (version / "saved_model.pb").unlink()


def wrong_crc_of_a_tensor(version):
    flip_byte(version / "variables" / "variables.data-00000-of-00001", 5)


def wrong_crc_of_the_index(version):
    flip_byte(version / "variables" / "variables.index", 20)


def truncated_index(version):
    truncate(version / "variables" / "variables.index", 0.7)


def truncated_data(version):
    truncate(version / "variables" / "variables.data-00000-of-00001", 0.5)


def no_data(version):
    (version / "variables" / "variables.data-00000-of-00001").unlink()


def no_index(version):
    (version / "variables" / "variables.index").unlink()


def missing_variable(version):
    def ask_for_another(graph):
        names = node(graph, "save/RestoreV2/tensor_names").attr["value"].tensor
        assert b"a" in names.string_val
        names.string_val[list(names.string_val).index(b"a")] = b"absent_variable"

    rewrite_graph(version, ask_for_another)


def unknown_op(version):
    def rename_op(graph):
        node(graph, "Mul").op = "NoSuchOp"

    rewrite_graph(version, rename_op)


def edge_to_nowhere(version):
    def cut(graph):
        node(graph, "Mul").input[0] = "no_such_node"

    rewrite_graph(version, cut)


def cycle(version):
    def close(graph):
        node(graph, "Mul").input[0] = "y"

    rewrite_graph(version, close)


def wrong_output_index(version):
    def point_beyond(graph):
        node(graph, "Mul").input[0] = "a/read:7"

    rewrite_graph(version, point_beyond)


def repeated_node_name(version):
    def repeat(graph):
        graph.node.add().CopyFrom(node(graph, "Mul"))

    rewrite_graph(version, repeat)


def shape_of_a_constant_overflows(version):
    def enlarge(graph):
        shape = node(graph, "a/initial_value").attr["value"].tensor.tensor_shape
        shape.dim.add(size=2**62)
        shape.dim.add(size=2**62)

    rewrite_graph(version, enlarge)


# What is spoiled, and the word that must stand in the error ("" where no word is certain).
SPOILED = [
    (truncated_graph, ""),
    (garbage_graph, ""),
    (empty_graph, ""),
    (no_graph, ""),
    (wrong_crc_of_a_tensor, ""),
    (wrong_crc_of_the_index, ""),
    (truncated_index, ""),
    (truncated_data, ""),
    (no_data, ""),
    (no_index, ""),
    (missing_variable, "absent_variable"),
    (unknown_op, "NoSuchOp"),
    (edge_to_nowhere, "no_such_node"),
    (cycle, ""),
    (wrong_output_index, ""),
    (repeated_node_name, "Mul"),
    (shape_of_a_constant_overflows, ""),
]
DATA_LOSS = 15
NOT_FOUND = 5
CODES = {
    wrong_crc_of_a_tensor: DATA_LOSS,
    wrong_crc_of_the_index: DATA_LOSS,
    no_graph: NOT_FOUND,
    missing_variable: NOT_FOUND,
}


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bad_models") / "half_plus_two"


@pytest.fixture(scope="module", name="server")
def _server(folder):
    shutil.copytree(HALF_PLUS_TWO, folder)
    with Server(models=[Model("m", folder)]) as server:
        yield server


def wait_for_end(client, version, seconds=30):
    """The status of a version that failed to load: (error code, message)."""
    deadline = time.monotonic() + seconds
    while True:
        state, code, message = client.version_states("m").get(version, ("not seen", 0, ""))
        if state == "END" and code:
            return code, message
        assert time.monotonic() < deadline, f"version {version} is {state}"
        time.sleep(0.1)


@pytest.mark.parametrize(
    "number, spoil, word",
    [(200 + i, *entry) for i, entry in enumerate(SPOILED)],
    ids=[entry[0].__name__ for entry in SPOILED],
)
def test_a_spoiled_version_leaves_the_old_one_serving(server, folder, number, spoil, word):
    hidden = folder / f"{number}.tmp"
    shutil.copytree(folder / "00000123", hidden)
    spoil(hidden)
    hidden.rename(folder / str(number))

    with Client(server) as client:
        code, message = wait_for_end(client, number)
        assert message and word in message
        assert code == CODES.get(spoil, code)
        states = client.version_states("m")
        assert states[123] == ("AVAILABLE", 0, "")
        assert_serves(server, client)


@pytest.mark.parametrize(
    "spoil", [garbage_graph, wrong_crc_of_a_tensor, unknown_op], ids=lambda spoil: spoil.__name__
)
def test_a_server_does_not_start_on_a_spoiled_model(half_plus_two_copy, spoil):
    spoil(half_plus_two_copy / "00000123")
    with pytest.raises(StartError) as error:
        with Server(models=[Model("spoiled", half_plus_two_copy)]):
            pass
    assert "ended with code 255" in str(error.value)
    assert "spoiled" in str(error.value)
