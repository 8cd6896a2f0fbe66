"""Takes values that can be made anew out of a SavedModel, and puts them back.

    take_out(folder, arrays)     # before the model is packed
    put_back(folder, arrays)     # where it is unpacked: the same arrays, by the same names

A model whose weights are random numbers of a known seed so travels as its graph. Zeros are not kept
either. The index of the variables stays, and with it their checksums: other values are an error when
the model is loaded.
"""
import base64
import json

import numpy as np

HEAD = 64  # the bytes by which an array is found
ZEROS = bytes(HEAD)
NAME = "left_out.json"


def end_of_zeros(data, position, step=1 << 24):
    while position < len(data):
        found = np.flatnonzero(data[position:position + step])
        if found.size:
            return position + int(found[0])
        position += step
    return len(data)


def find(data, arrays):
    """The places of the arrays in `data`, and those of the bytes that are neither theirs nor zeros."""
    by_head = {}
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        head = content[:HEAD].tobytes()
        if len(head) == HEAD and head != ZEROS:
            by_head.setdefault(head, []).append((name, content))
    places, literals, position = [], [], 0
    while position < len(data):
        head = data[position:position + HEAD].tobytes()
        name = next((name for name, content in by_head.get(head, ())
                     if np.array_equal(data[position:position + len(content)], content)), None)
        if name is not None:
            places.append((position, name))
            position += arrays[name].nbytes
        elif head == ZEROS:
            # The first bytes of the next array may be zeros too.
            position = max(position + 1, end_of_zeros(data, position) - 8)
        else:
            if not literals or literals[-1][1] != position:
                literals.append([position, position])
            literals[-1][1] = position = position + 1
    return places, literals


def take_out(folder, arrays):
    variables = folder / "variables"
    file, = variables.glob("variables.data-*")
    # An empty file cannot be mapped.
    data = np.memmap(file, np.uint8, "r") if file.stat().st_size else np.zeros(0, np.uint8)
    places, literals = find(data, arrays)
    (variables / NAME).write_text(json.dumps({
        "file": file.name,
        "size": len(data),
        "arrays": places,
        "literals": [(begin, base64.b64encode(data[begin:end].tobytes()).decode())
                     for begin, end in literals],
    }))
    file.unlink()


def put_back(folder, arrays):
    variables = folder / "variables"
    left_out = json.loads((variables / NAME).read_text())
    with open(variables / left_out["file"], "wb") as file:
        file.truncate(left_out["size"])
        for position, name in left_out["arrays"]:
            file.seek(position)
            file.write(arrays[name].tobytes())
        for position, literal in left_out["literals"]:
            file.seek(position)
            file.write(base64.b64decode(literal))
    (variables / NAME).unlink()
