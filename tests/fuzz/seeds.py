#!/usr/bin/env python3
"""Writes the inputs that a fuzz target starts from: those below, and its corpus of inputs that once
failed.

    tests/fuzz/seeds.py TARGET FOLDER
"""
import base64
import gzip
import json
import pathlib
import shutil
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data"


def tensor_protos():
    """A TensorProto of each dtype, by typed field and by content."""
    shape = bytes([0x12, 0x04, 0x12, 0x02, 0x08, 0x02])  # tensor_shape { dim { size: 2 } }
    fields = {  # dtype: a field with two values
        1: b"\x2a\x08" + struct.pack("<2f", 1, 2),
        2: b"\x32\x10" + struct.pack("<2d", 1, 2),
        3: b"\x3a\x02\x01\x02",
        7: b"\x42\x01a\x42\x02bc",
        8: b"\x4a\x10" + struct.pack("<4f", 1, 2, 3, 4),
        9: b"\x52\x02\x01\x02",
        10: b"\x5a\x02\x01\x00",
        18: b"\x62\x20" + struct.pack("<4d", 1, 2, 3, 4),
        19: b"\x6a\x04\x80\x78\x80\x78",
        20: b"\x72\x03\x0a\x01d\x72\x03\x1a\x01n",
        21: b"\x7a\x0a\x0a\x01t\x12\x01m\x1a\x02\x08\x03",
        22: b"\x82\x01\x02\x01\x02",
        23: b"\x8a\x01\x02\x01\x02",
        24: b"\x92\x01\x02\x3c\x40",
    }
    for dtype in range(1, 33):
        head = bytes([0x08, dtype]) + shape
        yield head + fields.get(dtype, fields[3])
        yield head + b"\x22\x08" + bytes(8)  # tensor_content
    yield bytes([0x08, 7]) + shape + b"\x22\x05\x01\x02abc"


def checkpoints():
    """The index's size, the index, and the data of recorded checkpoints."""
    for index in sorted(DATA.rglob("variables.index")):
        data = index.with_name("variables.data-00000-of-00001").read_bytes()
        if len(data) < 4000:
            contents = index.read_bytes()
            yield struct.pack("<I", len(contents)) + contents + data


def version_1_checkpoints():
    """Two slices of a vector and a vector of strings, by the op SaveSlices of TensorFlow."""
    yield base64.b64decode(
        "AAA1CjMKGQoBcxIEEgIIAxgBIgQKAhABIgYKBAgBEAIKEgoEdGV4dBIEEgIIARgHIgIKABICCAEACBMAcwABAQGA"
        "gRIRCgFzEgQKAhABGgYqBAAAgD8GAhmBghIXCgFzEgYKBAgBEAIaCioIAAAAQAAAQEABChJ0ZXh0AAEBAYB/EhAK"
        "BHRleHQSAgoAGgRCAmFiAAAAAAEAAAAAzLufMAAAAAABAAAAAMDyobAAAQMBAJsBAAAAAAEAAAAAtkxkrKABCK0B"
        "DwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABX+4CLJHVH2w=="
    )


def checkpoint_states():
    """As TensorFlow's savers write them."""
    yield b'model_checkpoint_path: "ckpt-17"\nall_model_checkpoint_paths: "ckpt-17"\n'
    yield (
        b'model_checkpoint_path: "/train/model.ckpt-20000"\n'
        b'all_model_checkpoint_paths: "/train/model.ckpt-10000"\n'
        b'all_model_checkpoint_paths: "/train/model.ckpt-20000"\n'
        b"all_model_checkpoint_timestamps: 1700000000.125\n"
        b"all_model_checkpoint_timestamps: 1700000001\nlast_preserved_timestamp: 1699999999.5\n"
    )


def record_files():
    """A choice of compression and form, and records with checksums that nobody looks at."""
    records = b"".join(
        struct.pack("<QI", len(record), 0) + record + bytes(4) for record in (b"one", b"", b"x" * 99)
    )
    yield b"\0" + records
    yield b"\1" + zlib.compress(records)
    yield b"\2" + gzip.compress(records, mtime=0)
    yield b"\3one\r\n\ntwo"
    yield b"\5" + gzip.compress(b"one\ntwo\n", mtime=0) * 2


def graphs():
    """Small recorded graphs: functions, loops, variables."""
    for path in sorted((DATA / "golden" / "graphs").glob("*.pb")):
        if path.stat().st_size < 4000:
            yield path.read_bytes()


def rest_bodies():
    """A choice of signature, and a recorded body; some of them packed."""
    with open(DATA / "tfserving" / "rest_cases.jsonl", encoding="utf-8") as cases:
        inputs = [json.loads(line)["input"] for line in cases]
    bodies = [entry["body"].encode() for entry in inputs if isinstance(entry.get("body"), str)]
    for i, body in enumerate(bodies):
        yield bytes([i & 0x7F]) + body
        if i % 16 == 0:
            yield bytes([0x80 | i & 0x7F]) + gzip.compress(body)
    # Numbers are read 64 bytes at a time where there are as many: floats, and integers of each type.
    for choice in range(9):
        row = [0, -1, 255, 1e-05, -0.57, 12.34, 123456.789012] if choice < 2 else [0, 7, 12, 255, 98765]
        for separators in ((",", ":"), (", ", ": ")):
            body = json.dumps({"instances": [row] * 12}, separators=separators)
            yield bytes([choice]) + body.encode()


def v2_bodies():
    """The length of the JSON, and a recorded body."""
    with open(DATA / "kserve_v2" / "rest_cases.jsonl", encoding="utf-8") as cases:
        for line in cases:
            parts = [
                bytes.fromhex(part["hex"])
                if "hex" in part
                else (part["text"] if "text" in part else json.dumps(part["json"])).encode()
                for part in json.loads(line).get("body", [])
            ]
            if len(parts) > 1:
                yield struct.pack("<H", len(parts[0])) + b"".join(parts)
            yield b"\xff\xff" + b"".join(parts)
    yield b"\0\0" + struct.pack("<4f", 1, 2, 3, 4)


def v2_messages():
    """Inferences with typed and with raw contents, in one piece and in pieces of three bytes."""
    def field(number, contents):
        return bytes([number << 3 | 2, len(contents)]) + contents

    def packed(number, values):
        return field(number, bytes(values))

    typed = {
        b"BOOL": packed(1, [1, 0]),
        b"INT8": packed(2, [1, 2]),
        b"INT64": packed(3, [1, 2]),
        b"UINT16": packed(4, [1, 2]),
        b"UINT64": packed(5, [1, 2]),
        b"FP32": field(6, struct.pack("<2f", 1, 2)),
        b"FP64": field(7, struct.pack("<2d", 1, 2)),
        b"BYTES": field(8, b"a") + field(8, b""),
    }
    raw = {
        b"FP32": struct.pack("<2f", 1, 2),
        b"BF16": b"\x80\x3f\0\x40",
        b"BOOL": b"\1\2",
        b"BYTES": struct.pack("<I2sI", 2, b"ab", 0),
    }
    parameter = field(1, b"p") + field(2, b"\x08\1")
    head = field(1, b"m") + field(2, b"1") + field(3, b"id") + field(4, parameter)
    wanted = field(6, field(1, b"y") + field(2, field(1, b"binary_data") + field(2, b"\x08\1")))

    def tensor(datatype, contents=b""):
        named = field(1, b"x") + field(2, datatype) + packed(3, [2])
        return field(5, named + (field(5, contents) if contents else b""))

    for pieces in (b"\0", b"\3"):
        for datatype, contents in typed.items():
            yield pieces + head + tensor(datatype, contents) + wanted
        for datatype, contents in raw.items():
            yield pieces + head + tensor(datatype) + field(7, contents)
        yield pieces + tensor(b"INT32", packed(2, [1, 2])) + field(7, bytes(8))


def saved_models():
    """Recorded models whose graph is small."""
    for path in sorted(DATA.rglob("saved_model.pb")):
        if path.stat().st_size < 20000:
            yield path.read_bytes()


def stablehlo_modules():
    """The modules of the recorded models from JAX: the values of attributes named module."""
    for path in sorted((DATA / "stablehlo").glob("*/1/saved_model.pb")):
        contents = path.read_bytes()
        start = contents.find(b"ML\xefR")
        while start >= 0:
            size, shift = 0, 0
            # The length stands before the module, a varint behind the field's key.
            key = contents.rindex(b"\x12", start - 6, start)
            for byte in contents[key + 1 : start]:
                size |= (byte & 0x7F) << shift
                shift += 7
            yield contents[start : start + size]
            start = contents.find(b"ML\xefR", start + 4)


def predict_requests():
    """The tensors above as inputs, in one piece and in pieces of three bytes."""
    def field(number, contents):
        return bytes([number << 3 | 2, len(contents)]) + contents

    spec = field(1, field(1, b"m") + field(2, b"\x08\x01") + field(3, b"s") + field(4, b"l"))
    for pieces in (b"\0", b"\3"):
        yield pieces + spec + field(3, b"y") + b"\x4b\x4c"
        for tensor in tensor_protos():
            yield pieces + field(2, field(1, b"x") + field(2, tensor))


def rollouts():
    """A block, a state and events: a good version, a bad one, and orders by hand."""
    blocks = (
        {},
        {"steps": [{"share_percent": 1, "duration_seconds": 2}, {"share_percent": 100}]},
        {"mirror_percent": 5, "sticky_key": "x-user", "conditions": {"max_psi": 0.2}},
    )
    model = {"stable_version": "2", "candidate_version": "3", "candidate_revision": "7", "step": 1}
    rejected = {"version": "4", "revision": "9", "reason": "slow"}
    states = ({}, {"models": {"m": model | {"rejected": [rejected]}}})
    up = bytes([0x10, 1, 0x12, 2])  # version 2 is on disk, and available
    up_next = bytes([0x20, 1, 0x22, 2])
    for block in blocks:
        for state in states:
            for events in (bytes([15, 15 + 1]) * 12, bytes([15, 2]), bytes([9, 0, 10, 0, 7, 0, 8, 0])):
                texts = [json.dumps(block).encode(), json.dumps(state).encode()]
                yield b"\0".join(texts + [up + up_next + events])


def admin_requests():
    """Token files, and a request of each kind to the admin address."""
    tokens = (b"secret", b"# a comment\n\nab.c== 2030-12-31T23:59:59Z\r\nother\n")
    hosts = (b"127.0.0.1:8502", b"[::1]:80", b"LocalHost", b"evil.example")
    folder = b"/admin/v1/rollouts"
    requests = [(b"GET", folder, b""), (b"GET", folder + b"/%6d?a=b", b""),
                (b"GET", b"http://a/admin/v1/events?since_start=true&model=m", b"")]
    for action in (b"promote", b"rollback", b"pause", b"resume", b"explode"):
        requests.append((b"POST", folder + b"/m:" + action, b'{"version": "4"}'))
    for file in tokens:
        for i, (method, target, body) in enumerate(requests):
            yield b"\0".join([file, method, target, hosts[i % len(hosts)], b"Bearer secret", body])
            yield b"\0".join([file, method, target, hosts[0], b"", body])


def npy_files():
    """Arrays of each kind of element, in either order of memory and of bytes, and of each version."""
    types = (("<f4", 4), (">i8", 8), ("|b1", 1), ("<c16", 16), ("|V2", 2), ("|S3", 3), (">U2", 8))
    for version in (1, 2, 3):
        for descr, size in types:
            for order in (False, True):
                header = repr({"descr": descr, "fortran_order": order, "shape": (2, 3)}).encode() + b"\n"
                length = struct.pack("<H" if version == 1 else "<I", len(header))
                yield b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(6 * size)


def input_pipelines():
    """Chains of each op of the fuzzer, with small numbers, and some of pairs."""
    for op in range(27):
        for number in (3, 4, 7):
            yield bytes([op, 0] + [number] * 8 + [1, op + 1, 1] + [number] * 8 + [0, 5])


def decision_forests():
    """Boosted and bagged trees that ask for a number, a category, a set and a weighted sum."""

    def message(*fields):
        encoded = b""
        for number, value in fields:
            if isinstance(value, float):
                encoded += bytes([number << 3 | 5]) + struct.pack("<f", value)
            elif isinstance(value, int):
                encoded += bytes([number << 3, value])
            else:
                encoded += bytes([number << 3 | 2, len(value)]) + value
        return encoded

    columns = b"".join(
        message((1, message((1, kind), (2, b"c"), (6, message((2, 3))))))
        for kind in (1, 4, 5, 7)
    )
    weights = struct.pack("<2f", 1, -1)
    conditions = (
        (0, message((2, message((1, 0.25))))),
        (1, message((4, message((1, b"\1\2"))))),
        (2, message((5, message((1, b"\5"))))),
        (0, message((7, message((1, b"\0\3"), (2, weights), (3, 0.5), (4, weights))))),
        (3, message((3, b""))),
        (1, message((1, b""))),
    )
    for kind, leaf, header in (
        (b"GRADIENT_BOOSTED_TREES", (2, message((1, 0.5))), ((4, 0.5), (7, b"BLOB_SEQUENCE"))),
        (b"RANDOM_FOREST", (1, message((1, 1))), ((3, 1), (7, b"BLOB_SEQUENCE"))),
    ):
        task = 2 if kind[0] == ord("G") else 1
        parts = (
            message((1, kind), (2, task), (3, 1), *((5, i) for i in range(4))),
            columns,
            message((1, 1), (2, len(conditions)), *header),
        )
        nodes = b"BS\1\0\0\0\0\0"
        for attribute, condition in conditions:
            node = message((3, message((1, 1), (2, attribute), (3, condition))))
            for record in (node, message(leaf), message(leaf)):
                nodes += struct.pack("<I", len(record)) + record
        yield b"".join(struct.pack("<H", len(part)) + part for part in parts) + nodes


def traceparents():
    """A header as of today, and one of a version to come."""
    ids = b"-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    yield b"00" + ids
    yield b"cc" + ids + b"-more"


SEEDS = {
    "traceparent_fuzzer": traceparents,
    "tensor_proto_fuzzer": tensor_protos,
    "predict_request_fuzzer": predict_requests,
    "checkpoint_fuzzer": checkpoints,
    "checkpoint_v1_fuzzer": version_1_checkpoints,
    "checkpoint_state_fuzzer": checkpoint_states,
    "decision_forest_fuzzer": decision_forests,
    "record_file_fuzzer": record_files,
    "graph_import_fuzzer": graphs,
    "input_pipeline_fuzzer": input_pipelines,
    "rest_body_fuzzer": rest_bodies,
    "saved_model_fuzzer": saved_models,
    "npy_fuzzer": npy_files,
    "stablehlo_fuzzer": stablehlo_modules,
    "rollout_fuzzer": rollouts,
    "admin_fuzzer": admin_requests,
    "v2_body_fuzzer": v2_bodies,
    "v2_message_fuzzer": v2_messages,
}


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(SEEDS.get(target, list)()):
        (folder / f"seed{i:03}").write_bytes(seed)
    for path in sorted((HERE / "corpus" / target).glob("*")):
        shutil.copy(path, folder)


if __name__ == "__main__":
    main()
