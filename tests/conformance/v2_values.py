"""Values of KServe's protocol, version 2: elements as bytes, and the comparison with recordings."""

import math
import struct

_FORMATS = {
    "BOOL": "?",
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    "INT64": "q",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    "UINT64": "Q",
    "FP16": "e",
    "FP32": "f",
    "FP64": "d",
}
MISSING = object()


def _bfloat16(value):
    """The two bytes of a number that a bfloat16 holds exactly."""
    return struct.pack("<f", value)[2:]


def encode(datatype, elements):
    """A flat list of elements as raw bytes. Numbers may be the strings NaN and Infinity."""
    if datatype == "BYTES":
        texts = [text.encode() if isinstance(text, str) else text for text in elements]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    if datatype == "BF16":
        return b"".join(_bfloat16(float(value)) for value in elements)
    if datatype.startswith("FP"):
        elements = [float(value) for value in elements]
    return struct.pack(f"<{len(elements)}{_FORMATS[datatype]}", *elements)


def decode(datatype, raw):
    """Raw bytes as a list of elements, each of which compares equal to itself, NaN as well."""
    if datatype == "BYTES":
        elements, at = [], 0
        while at < len(raw):
            (size,) = struct.unpack_from("<I", raw, at)
            elements.append(raw[at + 4 : at + 4 + size])
            at += 4 + size
        return elements
    if datatype == "BF16":
        raw = b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2))
        datatype = "FP32"
    size = struct.calcsize(_FORMATS[datatype])
    values = struct.unpack(f"<{len(raw) // size}{_FORMATS[datatype]}", raw)
    return ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]


def flat(data):
    """Nested lists as one."""
    if not isinstance(data, list):
        return [data]
    return [element for part in data for element in flat(part)]


def outputs_difference(got, want):
    """`got` has datatype, shape, raw bytes and form of each output by its name."""
    if set(got) != set(want):
        return f"outputs are {sorted(got)}, expected {sorted(want)}"
    for name, expected in want.items():
        output = got[name]
        for key in ("datatype", "shape"):
            if output[key] != expected[key]:
                return f"output {name}: {key} is {output[key]}, expected {expected[key]}"
        if "form" in expected and output["form"] != expected["form"]:
            return f"output {name} is {output['form']}, expected {expected['form']}"
        if "hex" in expected:
            if output["raw"].hex() != expected["hex"]:
                return f"output {name} is {output['raw'].hex()}, expected {expected['hex']}"
            continue
        datatype = expected["datatype"]
        values = decode(datatype, output["raw"])
        wanted = decode(datatype, encode(datatype, expected["data"]))
        if values != wanted:
            return f"output {name} is {values}, expected {wanted}"
    return None


def _matches_operator(got, operator, operand):
    if operator == "$any":
        return True
    if operator == "$absent":
        return got is MISSING or not got
    if got is MISSING:
        return False
    if operator == "$nonempty":
        return bool(got)
    if operator == "$contains":
        return operand in got
    if operator == "$oneof":
        return got in operand
    if operator == "$atleast":
        return float(got) >= operand
    if operator == "$keys":
        return set(operand) <= set(got)
    if operator == "$has":
        return all(any(not difference(e, wanted, "") for e in got) for wanted in operand)
    if operator == "$lacks":
        return not any(not difference(e, wanted, "") for e in got for wanted in operand)
    raise ValueError(f"unknown operator {operator}")


def difference(got, want, where="the answer"):
    """None if `got` is as `want` says: members that `want` does not name are free, lists are not."""
    shown = "missing" if got is MISSING else repr(got)[:300]
    wrong = f"{where} is {shown}, expected {want!r}"
    if isinstance(want, dict) and len(want) == 1 and next(iter(want)).startswith("$"):
        ((operator, operand),) = want.items()
        return None if _matches_operator(got, operator, operand) else wrong
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return wrong
        parts = [(got.get(key, MISSING), value, f"{where}.{key}") for key, value in want.items()]
    elif isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return wrong
        parts = [(one, other, f"{where}[{i}]") for i, (one, other) in enumerate(zip(got, want))]
    else:
        # The JSON of protocol buffers has strings for numbers of 64 bits.
        is_number = isinstance(want, int) and not isinstance(want, bool) and isinstance(got, str)
        return None if (got == str(want) if is_number else got == want) else wrong
    return next((found for part in parts if (found := difference(*part))), None)
