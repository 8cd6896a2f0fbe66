"""apis/ says the same as the protos that TensorFlow, its serving client and gRPC ship, and messages
of either side are read in full by the other.

Needs the binary //tests/wire:proto_echo, in bazel-bin or named by TESSERA_PROTO_ECHO.
"""

import os
import pathlib
import struct
import subprocess
import tempfile

import pytest
from google.protobuf import descriptor_pb2, text_format

from wire import upstream
from wire.filled_message import filled, variants

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
APIS = REPOSITORY / "apis"
FILES = sorted(str(path.relative_to(APIS)) for path in APIS.rglob("*.proto"))

# No package on PyPI that the tests install has these.
UNPUBLISHED = {
    "inference/grpc_service.proto",
    "inference/model_config.proto",
    "tensorboard/plugins/hparams/api.proto",
    "tensorboard/plugins/hparams/plugin_data.proto",
    "tensorflow_serving/config/monitoring_config.proto",
    "tensorflow_serving/config/ssl_config.proto",
    "tensorflow_serving/servables/tensorflow/saved_model_bundle_source_adapter.proto",
    "tensorflow_serving/servables/tensorflow/session_bundle_config.proto",
}
# Those of tessera/ are nobody else's, and those of decision forests are in the package ydf, which the
# tests do not install; recorded models hold them to it.
PUBLISHED = [
    path
    for path in FILES
    if path not in UNPUBLISHED and not path.startswith(("tessera/", "yggdrasil_decision_forests/"))
]

# Declare some of upstream's messages, those that graphs carry.
EXCERPTS = {"xla/xla_data.proto"}

# Its classes are those of the gRPC library.
NOT_OURS_TO_COMPILE = {"grpc_reflection/v1alpha/reflection.proto"}


def _our_descriptors():
    with tempfile.NamedTemporaryFile() as output:
        subprocess.run(
            ["protoc", f"-I{APIS}", f"--descriptor_set_out={output.name}"] + FILES, check=True
        )
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(output.read())
    return {file.name: file for file in descriptors.file}


@pytest.fixture(scope="module", name="ours")
def _ours():
    return _our_descriptors()


def _field_facts(message, field):
    facts = {
        "name": field.name,
        "label": field.Label.Name(field.label),
        "type": field.Type.Name(field.type),
        "type_name": field.type_name,
        "json_name": field.json_name or _json_name(field.name),
        "default": field.default_value,
        "optional": field.proto3_optional,
        "deprecated": field.options.deprecated,
        "oneof": None,
        # As good as set where proto3 packs unasked.
        "unpacked": field.options.HasField("packed") and not field.options.packed,
    }
    if field.HasField("oneof_index") and not field.proto3_optional:
        facts["oneof"] = message.oneof_decl[field.oneof_index].name
    return facts


def _json_name(name):
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _add_enum(prefix, enum, facts):
    facts[prefix + enum.name] = {
        "values": sorted((value.number, value.name) for value in enum.value),
        "reserved": sorted((r.start, r.end) for r in enum.reserved_range),
        "reserved names": sorted(enum.reserved_name),
    }


def _add_message(prefix, message, facts):
    name = prefix + message.name
    facts[name] = {
        "map": message.options.map_entry,
        "reserved": sorted((r.start, r.end) for r in message.reserved_range),
        "reserved names": sorted(message.reserved_name),
    }
    for field in message.field:
        facts[f"{name} field {field.number}"] = _field_facts(message, field)
    for nested in message.nested_type:
        _add_message(name + ".", nested, facts)
    for enum in message.enum_type:
        _add_enum(name + ".", enum, facts)


def _facts(file):
    """All that matters to programs that exchange messages of this file, by what it is about."""
    facts = {"file": (file.package, file.syntax or "proto2")}
    for message in file.message_type:
        _add_message("message ", message, facts)
    for enum in file.enum_type:
        _add_enum("enum ", enum, facts)
    for service in file.service:
        for method in service.method:
            facts[f"method {service.name}.{method.name}"] = (
                method.input_type,
                method.output_type,
                method.client_streaming,
                method.server_streaming,
            )
    return facts


@pytest.mark.parametrize("path", PUBLISHED)
def test_file_declares_what_upstream_declares(path, ours):
    theirs = upstream.file_descriptor(path)
    assert theirs is not None, f"no installed package has {path}; if that is right, list it"
    declared, wanted = _facts(ours[path]), _facts(theirs)
    if path in EXCERPTS:
        whole = tuple(f"message {message.name}" for message in ours[path].message_type)
        wanted = {
            what: fact for what, fact in wanted.items() if what == "file" or what.startswith(whole)
        }
    assert declared == wanted


class _Echo:
    """Talks to proto_echo: message bytes in; problems, bytes and text out."""

    def __init__(self, binary):
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _read_frame(self):
        (size,) = struct.unpack("<I", self._process.stdout.read(4))
        return self._process.stdout.read(size)

    def __call__(self, type_name, data):
        for frame in (type_name.encode(), data):
            self._process.stdin.write(struct.pack("<I", len(frame)) + frame)
        self._process.stdin.flush()
        problems, answer, text = (self._read_frame() for _ in range(3))
        return problems.decode(), answer, text.decode()

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait(timeout=10)


@pytest.fixture(scope="module", name="echo")
def _echo():
    binary = os.environ.get(
        "TESSERA_PROTO_ECHO", str(REPOSITORY / "bazel-bin" / "tests" / "wire" / "proto_echo")
    )
    if not os.path.isfile(binary):
        pytest.fail(f"{binary} is not there: run `bazel build //tests/wire:proto_echo`")
    echo = _Echo(binary)
    yield echo
    assert echo.close() == 0


def _message_types(descriptor):
    if not descriptor.GetOptions().map_entry:
        yield descriptor
    for nested in descriptor.nested_types:
        yield from _message_types(nested)


@pytest.mark.parametrize("path", [p for p in PUBLISHED if p not in NOT_OURS_TO_COMPILE])
def test_filled_messages_of_upstream_come_back_whole(path, ours, echo):
    declared = {message.name for message in ours[path].message_type}
    for name, top_level in upstream.add(path).message_types_by_name.items():
        if path in EXCERPTS and name not in declared:
            continue
        for descriptor in _message_types(top_level):
            for variant in range(variants(descriptor)):
                message = filled(descriptor, variant)
                where = f"{descriptor.full_name}, variant {variant}"
                problems, answer, text = echo(descriptor.full_name, message.SerializeToString())
                assert problems == "", where
                assert type(message).FromString(answer) == message, where
                parsed = text_format.Parse(
                    text, type(message)(), descriptor_pool=upstream.pool()
                )
                assert parsed == message, where


def test_variants_together_set_every_field():
    left_out = []
    for path in PUBLISHED:
        for top_level in upstream.add(path).message_types_by_name.values():
            for descriptor in _message_types(top_level):
                fields = {field.name for field in descriptor.fields}
                for variant in range(variants(descriptor)):
                    fields -= {field.name for field, _ in filled(descriptor, variant).ListFields()}
                left_out += [f"{descriptor.full_name}.{name}" for name in sorted(fields)]
    assert left_out == []


def test_echo_tells_unknown_fields_with_their_place(echo):
    # Field 1 of a SavedModel, then meta_graphs[0].meta_info_def with a field number 1000.
    unknown = b"\xc0\x3e\x07"
    meta_info_def = b"\x0a" + bytes([len(unknown)]) + unknown
    message = b"\x08\x01\x12" + bytes([len(meta_info_def)]) + meta_info_def
    problems, answer, _ = echo("tensorflow.SavedModel", message)
    assert problems == (
        "tensorflow.SavedModel.meta_graphs[0].meta_info_def: 1 unknown fields, "
        "the first is number 1000\n"
    )
    assert answer == message  # kept, not dropped


def test_echo_tells_a_type_it_does_not_know(echo):
    assert echo("tensorflow.NoSuchMessage", b"")[0] == "no message type tensorflow.NoSuchMessage\n"
