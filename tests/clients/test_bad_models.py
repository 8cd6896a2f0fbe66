"""Models that cannot be loaded, beside one that is served: it must go on undisturbed."""

import shutil
import time

import numpy as np
import pytest
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import error_codes_pb2, saved_model_pb2

from clients.client import Client, predict_request, refused
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.server import Model, Server, StartError


def rewrite_meta_graph(version, change):
    """Applies `change` to the MetaGraphDef of a version's saved_model.pb."""
    path = version / "saved_model.pb"
    saved_model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    change(saved_model.meta_graphs[0])
    path.write_bytes(saved_model.SerializeToString())


def rewrite_graph(version, change):
    rewrite_meta_graph(version, lambda meta_graph: change(meta_graph.graph_def))


def node(graph, name):
    return next(node for node in graph.node if node.name == name)


def truncate(path, keep):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def flip_byte(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x40
    path.write_bytes(bytes(data))


# Each spoils the model in a folder and returns the code of the load's error and what its message
# must contain: the culprit, and where there is one the remedy. `{}` is the folder.


def truncated_graph(version):
    truncate(version / "saved_model.pb", 0.6)
    return "DATA_LOSS", ["{}/saved_model.pb", "damaged, or was cut short", "anew"]


def garbage_graph(version):
    (version / "saved_model.pb").write_bytes(b"\xff" * 5000)
    return "DATA_LOSS", ["{}/saved_model.pb", "damaged, or was cut short", "anew"]


def empty_graph(version):
    (version / "saved_model.pb").write_bytes(b"")
    return "NOT_FOUND", ["{}", "without any meta graph", "copy it again"]


def no_graph(version):
    (version / "saved_model.pb").unlink()
    shutil.rmtree(version / "variables")
    return "NOT_FOUND", ["{}", "should have a file called `saved_model.pb`"]


def no_graph_beside_its_fingerprint(version):
    (version / "saved_model.pb").unlink()
    (version / "fingerprint.pb").write_bytes(b"")
    return "NOT_FOUND", ["{}", "should have a file called `saved_model.pb`", "copied here in part"]


def graph_is_a_folder(version):
    (version / "saved_model.pb").unlink()
    (version / "saved_model.pb").mkdir()
    return "FAILED_PRECONDITION", ["{}/saved_model.pb"]


def text_that_is_no_graph(version):
    (version / "saved_model.pb").unlink()
    (version / "saved_model.pbtxt").write_text("meta_graphs {\n  graph: 1 }")
    return "DATA_LOSS", ["{}/saved_model.pbtxt", "line 2", "graph"]


def text_half_a_million_levels_deep(version):
    (version / "saved_model.pb").unlink()
    levels = 500_000
    (version / "saved_model.pbtxt").write_text(
        'meta_graphs { graph_def { node { attr { key: "a" value '
        + '{ func { attr { key: "a" value ' * levels
        + "{}"
        + " } } }" * levels
        + " } } } }"
    )
    return "DATA_LOSS", ["{}/saved_model.pbtxt", "too deep"]


def other_tags(version):
    def tag(meta_graph):
        meta_graph.meta_info_def.tags[:] = ["train"]

    rewrite_meta_graph(version, tag)
    return "NOT_FOUND", ["{ serve }", "{ train }", "--saved_model_tags"]


def wrong_crc_of_a_tensor(version):
    flip_byte(version / "variables" / "variables.data-00000-of-00001", 5)
    return "DATA_LOSS", ["tensor 'b'", "{}/variables/variables.data", "checksum", "copy it anew"]


def wrong_crc_of_the_index(version):
    flip_byte(version / "variables" / "variables.index", 20)
    return "DATA_LOSS", ["{}/variables/variables.index", "checksum", "copy the file anew"]


def truncated_index(version):
    truncate(version / "variables" / "variables.index", 0.7)
    return "DATA_LOSS", ["{}/variables/variables.index", "copy the file anew"]


def truncated_data(version):
    truncate(version / "variables" / "variables.data-00000-of-00001", 0.5)
    return "DATA_LOSS", ["tensor 'b'", "{}/variables/variables.data", "the file is cut off"]


def no_data(version):
    (version / "variables" / "variables.data-00000-of-00001").unlink()
    return "DATA_LOSS", ["tensor 'a'", "{}/variables/variables.data", "the file is missing"]


def no_index(version):
    (version / "variables" / "variables.index").unlink()
    return "NOT_FOUND", ["{}/variables/variables.index", "was the model copied whole?"]


def missing_variable(version):
    def ask_for_another(graph):
        names = node(graph, "save/RestoreV2/tensor_names").attr["value"].tensor
        assert b"a" in names.string_val
        names.string_val[list(names.string_val).index(b"a")] = b"absent_variable"

    rewrite_graph(version, ask_for_another)
    return "NOT_FOUND", ["'absent_variable'", "`tessera inspect {}/variables/variables`"]


def variable_of_another_type(version):
    def ask_for_integers(graph):
        node(graph, "save/RestoreV2").attr["dtypes"].list.type[0] = types_pb2.DT_INT64

    rewrite_graph(version, ask_for_integers)
    return "INVALID_ARGUMENT", ["save/RestoreV2", "int64", "float"]


def variable_of_another_shape(version):
    def widen(graph):
        shape = node(graph, "a").attr["shape"].shape
        shape.ClearField("dim")
        shape.dim.add(size=3)
        value = node(graph, "a/initial_value").attr["value"].tensor
        value.tensor_shape.dim.add(size=3)

    rewrite_graph(version, widen)
    return "INVALID_ARGUMENT", ["save/Assign", "[3]"]


def ops_without_a_kernel(version):
    def add_unknown_ops(graph):
        node(graph, "Mul").op = "NoSuchOp"
        node(graph, "y").op = "NoSuchOpEither"
        node(graph, "y2").op = "NoSuchOp"
        function = graph.library.function.add()
        function.signature.name = "inner"
        function.signature.input_arg.add(name="in", type=types_pb2.DT_FLOAT)
        function.signature.output_arg.add(name="out", type=types_pb2.DT_FLOAT)
        function.ret["out"] = "deep:z:0"
        function.node_def.add(name="deep", op="NoSuchOpInAFunction", input=["in"])
        call = node(graph, "y3")
        call.op = "inner"
        del call.input[1:]
        call.attr.clear()

    rewrite_graph(version, add_unknown_ops)
    return "UNIMPLEMENTED", [
        "3 ops have no kernel",
        "NoSuchOp (nodes 'Mul', 'y2')",
        "NoSuchOpEither (node 'y')",
        "NoSuchOpInAFunction (node 'y3/deep')",
        "--op_library=FILE.so",
        "`tessera inspect --ops {}`",
    ]


def edge_to_nowhere(version):
    def cut(graph):
        node(graph, "Mul").input[0] = "no_such_node"

    rewrite_graph(version, cut)
    return "INVALID_ARGUMENT", ["node 'Mul'", "'no_such_node' is not in the graph"]


def cycle(version):
    def close(graph):
        node(graph, "Mul").input[0] = "y"

    rewrite_graph(version, close)
    return "INVALID_ARGUMENT", ["cycle", "'Mul'", "'y'"]


def edge_of_another_type(version):
    def feed_text(graph):
        node(graph, "Mul").input[0] = "tf_example"

    rewrite_graph(version, feed_text)
    return "INVALID_ARGUMENT", ["'Mul'", "'tf_example'", "string", "float"]


def wrong_output_index(version):
    def point_beyond(graph):
        node(graph, "Mul").input[0] = "a/read:7"

    rewrite_graph(version, point_beyond)
    return "INVALID_ARGUMENT", ["node 'Mul'", "output 7", "'a/read'"]


def repeated_node_name(version):
    def repeat(graph):
        graph.node.add().CopyFrom(node(graph, "Mul"))

    rewrite_graph(version, repeat)
    return "INVALID_ARGUMENT", ["two nodes 'Mul'"]


def missing_attribute(version):
    def forget(graph):
        del node(graph, "a").attr["dtype"]

    rewrite_graph(version, forget)
    return "INVALID_ARGUMENT", ["node 'a'", "dtype"]


def graph_of_a_later_tensorflow(version):
    def demand(graph):
        graph.versions.min_consumer = 99999

    rewrite_graph(version, demand)
    return "INVALID_ARGUMENT", ["99999"]


def constant(sizes):
    def spoil(version):
        def enlarge(graph):
            shape = node(graph, "a/initial_value").attr["value"].tensor.tensor_shape
            for size in sizes:
                shape.dim.add(size=size)

        rewrite_graph(version, enlarge)
        code = "RESOURCE_EXHAUSTED" if sizes == [2**40] else "INVALID_ARGUMENT"
        return code, ["node 'a/initial_value'", "'value'"]

    return spoil


SPOILED = {
    spoil.__name__: spoil
    for spoil in (
        truncated_graph,
        garbage_graph,
        empty_graph,
        no_graph,
        no_graph_beside_its_fingerprint,
        graph_is_a_folder,
        text_that_is_no_graph,
        text_half_a_million_levels_deep,
        other_tags,
        wrong_crc_of_a_tensor,
        wrong_crc_of_the_index,
        truncated_index,
        truncated_data,
        no_data,
        no_index,
        missing_variable,
        variable_of_another_type,
        variable_of_another_shape,
        ops_without_a_kernel,
        edge_to_nowhere,
        edge_of_another_type,
        cycle,
        wrong_output_index,
        repeated_node_name,
        missing_attribute,
        graph_of_a_later_tensorflow,
    )
} | {
    "constant_of_a_terabyte": constant([2**40]),
    "constant_that_overflows": constant([2**62, 2**62]),
    "constant_of_a_negative_size": constant([-5]),
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


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_version_leaves_the_old_one_serving(server, folder, name):
    number = 200 + list(SPOILED).index(name)
    hidden = folder / f"{number}.tmp"
    shutil.copytree(folder / "00000123", hidden)
    code, words = SPOILED[name](hidden)
    hidden.rename(folder / str(number))

    with Client(server) as client:
        got_code, message = wait_for_end(client, number)
        assert error_codes_pb2.Code.Name(got_code) == code, message
        for word in words:
            assert word.replace("{}", str(folder / str(number))) in message
        states = client.version_states("m")
        assert states[123] == ("AVAILABLE", 0, "")
        assert_serves(server, client)
        shutil.rmtree(folder / str(number))


@pytest.mark.parametrize("spoil", [garbage_graph, wrong_crc_of_a_tensor, ops_without_a_kernel])
def test_a_server_does_not_start_on_a_spoiled_model(half_plus_two_copy, spoil):
    version = half_plus_two_copy / "00000123"
    code, words = spoil(version)
    with pytest.raises(StartError) as error:
        with Server(models=[Model("spoiled", half_plus_two_copy)]):
            pass
    text = str(error.value)
    assert "ended with code 255" in text
    assert "Failed to start server. Error: UNKNOWN: 1 servable(s) did not become available" in text
    assert f"name: spoiled version: 123}} due to error: {code}" in text
    for word in words:
        assert word.replace("{}", str(version)) in text


def test_a_function_that_calls_itself_is_an_error_of_the_request(half_plus_two_copy):
    def recurse(graph):
        function = graph.library.function.add()
        function.signature.name = "round"
        function.signature.input_arg.add(name="in", type=types_pb2.DT_FLOAT)
        function.signature.output_arg.add(name="out", type=types_pb2.DT_FLOAT)
        function.ret["out"] = "again:out:0"
        function.node_def.add(name="again", op="round", input=["in"])
        call = node(graph, "y3")
        call.op = "round"
        del call.input[1:]
        call.attr.clear()

    rewrite_graph(half_plus_two_copy / "00000123", recurse)
    with Server(models=[Model("m", half_plus_two_copy)]) as server, Client(server) as client:
        request = predict_request(
            "m", {"inputs": np.array([1], np.float32)}, signature="regress_x2_to_y3"
        )
        with refused("RESOURCE_EXHAUSTED", "function 'round' is called at depth"):
            client.predict(request)
        assert_serves(server, client)
