"""Comments in public headers name what they are about.

A comment that begins with "Of the GPU" or "What the policy sees" leaves its reader to find the noun:
it says "Returns the statistics of the GPU" or "The state of a version, as the policy sees it".
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"^\s*// ?(.*)$")
RIDDLE = re.compile(r"(Of|That of|As|What|Where|Whose|Who|Which|By|From|Its|Until)\b")
# These point at a noun further up: "Returns those of all results", "To be told of each request".
RIDDLE_OF_VERB = re.compile(
    r"(Adds|Calls|Computes|Returns|Sets|Writes) (it|that|them|those)\b(?! (is|are)\b)|To be\b"
)
# Such a comment points at another one. In headers that may be the declaration of the overload above.
POINTER = re.compile(r"(The same|Likewise|Whether)\b")
# Here it never may: these files are read one by one.
WHOLE_SENTENCES = "runtime/kernels/primitives/"


def first_lines(text):
    """Yields the number and the text of the first line of each comment."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        match = COMMENT.match(line)
        if match and not inside:
            yield number, match[1]
        inside = match is not None


def riddles(text, may_point=True):
    return [
        f"{number}: {line}"
        for number, line in first_lines(text)
        if RIDDLE.match(line)
        or RIDDLE_OF_VERB.match(line)
        or (not may_point and POINTER.match(line))
    ]


def public_files(root):
    """Yields what others include, and the implementations of the CPU's primitives."""
    files = [file for top in ("runtime", "serving") for file in (root / top).rglob("*.h")]
    files += (root / "runtime/kernels/primitives/cpu").glob("*.cc")
    for file in sorted(files):
        path = file.relative_to(root).as_posix()
        if "/testing/" not in path and not path.endswith(("_test.cc", "_benchmark.cc")):
            yield path, file.read_text()


def test_comments_name_what_they_are_about():
    found = [
        f"{path}:{line}"
        for path, text in public_files(ROOT)
        for line in riddles(text, not path.startswith(WHOLE_SENTENCES))
    ]
    assert found == []


def test_a_comment_without_its_noun_is_found():
    assert riddles("// Of the GPU: all sessions.\nint x;\n  // What the policy sees.\nint y;\n") == [
        "1: Of the GPU: all sessions.",
        "3: What the policy sees.",
    ]
    assert riddles("// Returns the size.\n// Of what is kept, half.\nint x;\n") == []
    assert riddles("// Returns those of all results.\n") == ["1: Returns those of all results."]
    assert riddles("// Calls that are answered.\n// To be exact.\n") == []
    assert riddles("// To be told of each request.\n") == ["1: To be told of each request."]
    assert riddles("// Likewise for rows.\n") == []
    assert riddles("// Likewise for rows.\n", may_point=False) == ["1: Likewise for rows."]
