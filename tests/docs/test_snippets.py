"""The C++ of pages that say they show code of this repository is there, but for white space."""

import re

import pytest

from clients.server import REPOSITORY

PAGES = ("docs/adding-an-op.md", "docs/custom-ops.md")
FENCED = re.compile(r"^```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SOURCES = ("*.h", "*.cc", "*.cu")


def squeezed(text):
    return re.sub(r"\s", "", text)


def statements(snippet):
    """The parts of a snippet that must each stand in one file: declarations, cut where `...` is."""
    parts = re.split(r"\n(?=[^\s}):])|\.\.\.", snippet)
    return [part.strip() for part in parts if squeezed(part).strip(";})")]


def missing(page, sources):
    return [
        statement
        for snippet in FENCED.findall(page)
        for statement in statements(snippet)
        if not any(squeezed(statement) in source for source in sources)
    ]


@pytest.fixture(name="sources", scope="module")
def _sources():
    folders = [REPOSITORY / top for top in ("runtime", "tests/custom_op")]
    files = [path for folder in folders for kind in SOURCES for path in folder.rglob(kind)]
    return [squeezed(path.read_text(encoding="utf-8")) for path in files]


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_is_in_the_repository(page, sources):
    assert missing((REPOSITORY / page).read_text(encoding="utf-8"), sources) == []


def test_other_code_is_found():
    page = "```cpp\nint x = 1;\nvoid F() {\n  ...\n  G(x);\n}\n```\n"
    assert statements("int x = 1;\nvoid F() {\n  ...\n  G(x);\n}\n") == [
        "int x = 1;",
        "void F() {",
        "G(x);\n}",
    ]
    assert missing(page, [squeezed("int x = 1; void F() { H(); G(x); }")]) == []
    assert missing(page, [squeezed("int x = 2; void F() { G(x); }")]) == ["int x = 1;"]
