"""Records all cases that are made here; run by tests/data/record."""

import pathlib
import sys

from conformance import boundary_cases, device_kernel_cases, edge_cases, found_cases
from conformance import gradient_cases, graph_cases
from conformance import large_cases, micro_frontend_cases, op_cases, pipeline_cases
from conformance import quantized_cases, rare_cases, reader_cases, reference_cases
from conformance import training_cases, xla_cases


def main(directory):
    """Writes all files below DIRECTORY."""
    directory = pathlib.Path(directory)
    paths = op_cases.record(directory / "ops")
    paths += edge_cases.record(directory / "ops")
    paths += rare_cases.record(directory / "ops")
    paths += quantized_cases.record(directory / "ops")
    paths += xla_cases.record(directory / "ops")
    paths += found_cases.record(directory / "ops")
    paths += boundary_cases.record(directory / "ops")
    paths += micro_frontend_cases.record(directory / "ops")
    paths += device_kernel_cases.record(directory)
    paths += graph_cases.record(directory / "graphs", graph_cases.cases())
    paths += graph_cases.record(directory / "graphs", reference_cases.cases())
    paths += reader_cases.record(directory / "graphs")
    paths += pipeline_cases.record(directory / "graphs")
    paths += large_cases.record(directory / "large")
    paths += training_cases.record(directory / "training")
    # The last, since it switches between TensorFlow's two kinds of control flow.
    paths += gradient_cases.record(directory / "gradients")
    for path in paths:
        print(f"{path.stat().st_size:8} {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
