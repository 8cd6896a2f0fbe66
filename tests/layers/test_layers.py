"""No file includes a header of a package that stands above its own, and no op class the loops of the
CPU.

LAYERS is the one table; docs/architecture.md shows the same packages in the same order. Tests,
benchmarks and the helpers of tests (folders named `testing`) may include anything.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# From the bottom to the top. A folder belongs to the longest entry that it starts with.
LAYERS = (
    "runtime/base",
    "runtime/profile",
    "runtime/host",
    "runtime/tensor",
    "runtime/framework",
    "runtime/device",
    "runtime/ops",
    "runtime/graph",
    "runtime/training/gradients",
    "runtime/stablehlo",
    "runtime/optimize",
    "runtime/checkpoint",
    "runtime/summary",
    "runtime/data",
    "runtime/kernels/primitives",
    "runtime/kernels",
    "runtime/exec",
    "runtime/session",
    "runtime/training/metrics",
    "runtime/training/pipeline",
    "runtime/training/program",
    "runtime/training/job",
    "serving/core",
    "serving/admission",
    "serving/sources",
    "serving/batching",
    "serving/servables",
    "serving/rollout",
    "serving/logging",
    "serving/frontend",
    "serving/server",
    "serving/commands",
)

# The implementations of the primitives on the CPU. What op classes include are the contracts beside
# this folder, so that they run on every device that implements these.
CPU_PRIMITIVES = "runtime/kernels/primitives/cpu"

INCLUDE = re.compile(r'\s*#\s*include\s+"((?:runtime|serving)/[^"]+)"')
ROW = re.compile(r"\|\s*`((?:runtime|serving)/[^`]*?)/?`\s*\|")


def layer_of(path):
    """Returns the layer of a file, or None for a folder that no layer has."""
    matches = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(matches, key=len, default=None)


def may_include_anything(path):
    return path.endswith(("_test.cc", "_benchmark.cc")) or "testing" in path.split("/")[:-1]


def includes(root):
    """Yields the path of each file that rules apply to, with its (line number, header) pairs."""
    files = [file for top in ("runtime", "serving") for file in (root / top).rglob("*")]
    for file in sorted(files):
        path = file.relative_to(root).as_posix()
        if file.suffix not in (".cc", ".h", ".cu") or may_include_anything(path):
            continue
        lines = enumerate(file.read_text().splitlines(), 1)
        matches = ((number, INCLUDE.match(line)) for number, line in lines)
        yield path, [(number, match[1]) for number, match in matches if match]


def broken_rules(root):
    """Returns one line for each include under `root` that breaks a rule, and for each lost file."""
    found = []
    for path, headers in includes(root):
        own = layer_of(path)
        if own is None:
            found.append(f"{path}: its folder is in no layer")
            continue
        for number, header in headers:
            where = f"{path}:{number}: includes {header}"
            other = layer_of(header)
            if other is None:
                found.append(f"{where}, whose folder is in no layer")
            elif LAYERS.index(other) > LAYERS.index(own):
                found.append(f"{where}, but {other} stands above {own}")
            elif may_include_anything(header):
                found.append(f"{where}, which is for tests only")
    return found


def users_of_cpu_primitives(root):
    """Returns the files outside of CPU_PRIMITIVES that include something in there."""
    return [
        path
        for path, headers in includes(root)
        if not path.startswith(CPU_PRIMITIVES + "/")
        and any(header.startswith(CPU_PRIMITIVES + "/") for _, header in headers)
    ]


def write(root, path, *headers):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("// A file.\n" + "".join(f'#include "{header}"\n' for header in headers))


def test_no_include_points_up():
    assert broken_rules(ROOT) == []


def test_op_classes_include_the_contracts_of_primitives_alone():
    assert users_of_cpu_primitives(ROOT) == []


def test_the_documentation_shows_the_same_layers():
    text = (ROOT / "docs/architecture.md").read_text()
    assert tuple(ROW.findall(text)) == LAYERS


def test_an_upward_include_is_found(tmp_path):
    write(tmp_path, "runtime/tensor/shape.h", "runtime/base/status.h", "runtime/graph/graph.h")
    assert broken_rules(tmp_path) == [
        "runtime/tensor/shape.h:3: includes runtime/graph/graph.h, "
        "but runtime/graph stands above runtime/tensor"
    ]


def test_the_longest_entry_is_the_layer(tmp_path):
    write(tmp_path, "runtime/kernels/math/matmul.cc", "runtime/kernels/primitives/cpu/matmul.h")
    write(tmp_path, "runtime/kernels/primitives/cpu/matmul.cc", "runtime/kernels/broadcast.h")
    assert broken_rules(tmp_path) == [
        "runtime/kernels/primitives/cpu/matmul.cc:2: includes runtime/kernels/broadcast.h, "
        "but runtime/kernels stands above runtime/kernels/primitives"
    ]


def test_the_runtime_does_not_know_the_server(tmp_path):
    write(tmp_path, "runtime/session/session.cc", "serving/core/loader.h")
    assert broken_rules(tmp_path) == [
        "runtime/session/session.cc:2: includes serving/core/loader.h, "
        "but serving/core stands above runtime/session"
    ]


def test_tests_may_include_anything_and_nothing_else_includes_their_helpers(tmp_path):
    write(tmp_path, "runtime/graph/graph_test.cc", "runtime/exec/executor.h")
    write(tmp_path, "runtime/optimize/testing/pass_graph.cc", "runtime/exec/executor.h")
    write(tmp_path, "runtime/exec/executor.cc", "runtime/optimize/testing/pass_graph.h")
    assert broken_rules(tmp_path) == [
        "runtime/exec/executor.cc:2: includes runtime/optimize/testing/pass_graph.h, "
        "which is for tests only"
    ]


def test_an_op_class_that_includes_a_loop_of_the_cpu_is_found(tmp_path):
    write(tmp_path, "runtime/kernels/array/tile.cc", CPU_PRIMITIVES + "/chunks.h")
    write(tmp_path, "runtime/kernels/array/tile_test.cc", CPU_PRIMITIVES + "/chunks.h")
    write(tmp_path, "runtime/kernels/array/split.cc", "runtime/kernels/primitives/strided_copy.h")
    write(tmp_path, CPU_PRIMITIVES + "/strided_copy.cc", CPU_PRIMITIVES + "/chunks.h")
    assert users_of_cpu_primitives(tmp_path) == ["runtime/kernels/array/tile.cc"]


def test_a_folder_without_a_layer_is_found(tmp_path):
    write(tmp_path, "runtime/extras/more.cc")
    write(tmp_path, "runtime/graph/graph.cc", "runtime/extras/more.h")
    assert broken_rules(tmp_path) == [
        "runtime/extras/more.cc: its folder is in no layer",
        "runtime/graph/graph.cc:2: includes runtime/extras/more.h, whose folder is in no layer",
    ]
