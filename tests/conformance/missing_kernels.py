"""Which ops are known to have no kernel, and what the runtime says of a graph that needs some."""

import functools
import pathlib
import re

LIST = pathlib.Path(__file__).with_name("ops_without_kernel.txt")
_SENTENCE = re.compile(r"\d+ ops? ha(?:s|ve) no kernel: (.*); custom ops load with")
# "Op (node 'a')" or "Op (nodes 'a', 'b' and 3 more: detail)"; names of nodes hold no quotes.
_OP = re.compile(r"(?:^|, )([A-Za-z_][\w>.]*) \(nodes? '")


@functools.cache
def known():
    """The ops that LIST names, one a line."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def ops_in(message):
    """The ops that an error of the runtime says to lack kernels, sorted."""
    sentence = _SENTENCE.search(message)
    return sorted(_OP.findall(sentence[1])) if sentence else []


def expected_reason(message):
    """Why a model may be skipped whose load ended with this error; None if it must not be.

    It may if kernels are all that it lacks, and none of an op that once had one.
    """
    ops = ops_in(message)
    if not ops or not known().issuperset(ops):
        return None
    return f"no kernel for op{'s' if len(ops) > 1 else ''} {', '.join(ops)}"
