"""Compares random graphs of ops with TensorFlow: see scripts/check_random."""

import argparse
import collections
import os
import pathlib
import secrets
import sys
import tempfile
import time

from google.protobuf import text_format
import tensorflow  # pylint: disable=unused-import; before conformance.protos, which does without it otherwise

from counting.counts import Counts
from random_cases import comparing, messages, minimising

_HERE = pathlib.Path(__file__).resolve().parent
_RECORDED = _HERE.parent / "data" / "golden" / "ops"
_SHOWN_OF_ONE = 3


class KnownDifferences:
    """Those of known_differences.tsv."""

    def __init__(self):
        self._rows = []
        for line in (_HERE / "known_differences.tsv").read_text().splitlines():
            if line and not line.startswith("#"):
                op, kind, part, reason = line.split("\t")
                self._rows.append((op, kind, "" if part == "any" else part, reason))

    def reason(self, op, verdict):
        """Why a case of the ops, joined by "+", differs so; None if that is not known."""
        for known_op, kind, part, reason in self._rows:
            if known_op in (*op.split("+"), "any") and kind == verdict.kind and part in verdict.text:
                return reason
        return None


class Report:
    """Prints and keeps what differs, a few cases for each op and kind of difference."""

    def __init__(self, folder, comparison):
        self._folder = pathlib.Path(folder)
        self._known = KnownDifferences()
        self._comparison = comparison
        self._seen = collections.Counter()

    def add(self, name, case, verdict):
        """Makes the case smaller, writes it down if it is one of the first of its kind, and returns
        the verdict on it."""
        case, verdict = minimising.smallest(self._comparison, case, verdict)
        if verdict.kind == "skipped":
            return verdict
        key = ("+".join(comparing.ops(case)), verdict.kind)
        reason = self._known.reason(key[0], verdict)
        if reason is not None:
            return comparing.Verdict("skipped", reason)
        self._seen[key] += 1
        if self._seen[key] <= _SHOWN_OF_ONE:
            self._comparison.judge(case)
            path = self._write(name, case, verdict)
            print(f"{name} {key[0]}: {verdict.kind}: {verdict.text[:400]}\n    {path}", flush=True)
        return verdict

    def _write(self, name, case, verdict):
        ops = comparing.ops(case)
        golden = minimising.golden(case, self._comparison.tensorflow_result)
        folder = self._folder / ("ops" if golden is not None else "cases")
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{ops[0] if ops else 'none'}.{name.replace(' ', '_')}"
        graph = case if golden is None else golden
        (folder / f"{stem}.pb").write_bytes(graph.SerializeToString(deterministic=True))
        text = "".join(f"# {line}\n" for line in verdict.text.splitlines())
        path = folder / f"{stem}.pbtxt"
        path.write_text(f"# {verdict.kind}\n{text}{text_format.MessageToString(graph)}")
        return path

    def summary(self):
        for (op, kind), count in sorted(self._seen.items(), key=lambda item: -item[1]):
            print(f"{count:6} {kind}: {op}")


def main():
    parser = argparse.ArgumentParser(prog="check_random", description=__doc__)
    parser.add_argument("--seed", type=int, help="of the cases; random, and printed, by default")
    parser.add_argument("--count", type=int, default=10000, help="number of cases (10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument(
        "--timeout",
        type=float,
        default=120,
        help="seconds for TensorFlow's answer to a case, its start among them (120); a busy machine "
        "needs more",
    )
    parser.add_argument(
        "--recorded", action="store_true",
        help="leave out cases, other than sequences, of ops without recorded calls"
    )
    parser.add_argument(
        "--sequences", type=float, default=0.25,
        help="share of the cases that are sequences of ops on resources and structures (0.25)"
    )
    parser.add_argument("--crashes", default="crashes/random", help="folder for what differs")
    parser.add_argument("--runner", required=True, help="the program random_cases")
    args = parser.parse_args()
    seed = secrets.randbelow(2**31) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)

    with tempfile.TemporaryDirectory(prefix="check_random_") as folder:
        # Cases that crash leave their files there.
        return compare(args, seed, folder)


def compare(args, seed, folder):
    """Compares the cases of a seed, whose files go to `folder`. Returns 1 if some differ, else 0."""
    maker = messages.Worker([args.runner, "make", _RECORDED, args.sequences])
    # It runs a case twice, and is given twice the time.
    runtime = messages.Worker(
        [args.runner, "run"], {"TMPDIR": folder}, timeout=2 * args.timeout)
    oracle = messages.Worker(
        [sys.executable, "-m", "random_cases.tensorflow_worker"],
        {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": folder},
        timeout=args.timeout,
    )
    comparison = comparing.Comparison(runtime, oracle)
    report = Report(args.crashes, comparison)
    counts = Counts()
    both_succeeded = 0
    compared_ops = set()
    begin = time.monotonic()
    for number in range(args.first, args.first + args.count):
        if args.seconds is not None and time.monotonic() - begin > args.seconds:
            break
        try:
            case = maker.ask(f"{seed} {number}")
        except messages.Crashed as crash:
            print(f"{seed} {number}: the case cannot be made: {crash}")
            counts.failed += 1
            continue
        if args.recorded and not comparing.is_in_order(case) and not all(
            (_RECORDED / f"{op}.pb").exists() for op in comparing.ops(case)
        ):
            counts.skipped["an op without recorded calls"] += 1
            continue
        verdict = comparison.judge(case)
        result = comparison.tensorflow_result
        if not verdict.kind and not result.error:
            both_succeeded += 1
            compared_ops.update(comparing.ops(case))
        if verdict.kind not in ("", "skipped"):
            verdict = report.add(f"{seed} {number}", case, verdict)
        if verdict.kind == "skipped":
            counts.skipped[verdict.text] += 1
        elif verdict.kind:
            counts.failed += 1
        else:
            counts.passed += 1
    report.summary()
    print(f"seed {seed}: {both_succeeded} cases gave results, of {len(compared_ops)} ops; "
          f"{time.monotonic() - begin:.0f} seconds")
    print(counts)
    for worker in (maker, runtime, oracle):
        worker.close()
    return 1 if counts.failed else 0


if __name__ == "__main__":
    if os.environ.get("TF_ENABLE_ONEDNN_OPTS") != "0":
        sys.exit("check_random: start it by scripts/check_random")
    sys.exit(main())
