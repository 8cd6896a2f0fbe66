"""Lists the recorded data of the shared folder that tests/data does not hold.

    python3 -m conformance.elsewhere SHARED        what is there and not in tests/data, as a table
    python3 -m conformance.elsewhere --skip KIND   counts the cases of a kind as skipped

The table is tests/data/elsewhere.tsv: kind, name and number of cases, separated by tabs. Where the
shared folder is not there, `scripts/test` counts these cases as skipped, by --skip.
"""

import collections
import json
import pathlib
import sys

from counting.counts import Counts

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
TABLE = DATA / "elsewhere.tsv"


def model_cases(folder):
    """How often check_models asks a model: each case over gRPC, and over REST where it has a body."""
    manifests = [json.loads(path.read_text()) for path in folder.glob("golden*/manifest.json")]
    return sum(1 + ("rest" in case) for manifest in manifests for case in manifest["cases"])


def missing(shared, data):
    """The rows of the table."""
    rows = []
    for folder in sorted(shared.glob("models/*/")):
        if not (data / "models" / folder.name).is_dir():
            rows.append(("models", folder.name, model_cases(folder)))
    for kind in ("ops", "graphs"):
        for path in sorted((shared / "golden" / kind).glob("*.pb")):
            if not (data / "golden" / kind / path.name).is_file():
                rows.append((kind, path.stem, 1))
    # Each of these is counted once, whatever is compared of it.
    rows += [
        ("trainings", path.parent.name, 1)
        for path in sorted(shared.glob("training/*/info.json"))
        if path.parent.name != "data"
    ]
    return rows


def skipped(kind, rows):
    """The Counts of a check that has nothing to read."""
    of_kind = [row for row in rows if row[0] == kind]
    cases = sum(int(row[2]) for row in of_kind)
    reason = f"recorded in the shared folder alone ({kind}: {len(of_kind)})"
    return Counts(skipped=collections.Counter({reason: cases} if cases else {}))


def read(table):
    return [tuple(line.split("\t")) for line in table.read_text().splitlines()]


def main():
    if sys.argv[1] == "--skip":
        print(skipped(sys.argv[2], read(TABLE)))
        return
    for row in missing(pathlib.Path(sys.argv[1]), DATA):
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
