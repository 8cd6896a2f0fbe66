"""The programs that benchmarks run: those of this checkout and, beside them, those of another one.

With --baseline=DIR, the bazel-bin folder of another checkout, such as one of the commit before, its
programs take turns with ours in the same run, and the table compares the two.
"""

import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def add_baseline_argument(parser):
    parser.add_argument(
        "--baseline", type=pathlib.Path, metavar="DIR",
        help="bazel-bin of another checkout, whose programs are measured in turn with ours")


def build(*names):
    """Builds programs of this checkout and returns its bazel-bin. A name is a path in there."""
    labels = ["//" + str(pathlib.PurePath(name).parent).removeprefix(".") + ":"
              + pathlib.PurePath(name).name for name in names]
    subprocess.run(["bazel", "build", *labels], cwd=ROOT, check=True, stdout=sys.stderr)
    return ROOT / "bazel-bin"


def of_baseline(folder, *names):
    """`folder` if it is a bazel-bin with all programs; ends the benchmark if one is not there."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}: build them in that checkout")
    return folder


def best_and_median(seconds, unit):
    """'best (median)' in units of `unit` seconds."""
    return f"{min(seconds) / unit:.1f} ({statistics.median(seconds) / unit:.1f})"


def ratio(ours, other):
    """'best (median)' of ours over the other's."""
    return (f"{min(ours) / min(other):.3f} "
            f"({statistics.median(ours) / statistics.median(other):.3f})")


def print_row(*cells):
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def print_head(*cells):
    print_row(*cells)
    print_row(*["---"] * len(cells))
