"""The shell commands of a page of documentation, as blocks, and one run of them.

Blocks are fenced as ```sh. All blocks of a page run one after the other in one shell, as somebody
would paste them who reads the page from its top. A block fenced as ```sh manual is not run: it takes
long, or needs what a test has not. A block fenced as ```text after a block is what that block prints
on its standard output; `...` in it stands for any text.
"""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess

from clients.server import environment

FENCE = re.compile(r"^```(.*)$")
# Ports of the pages; a test puts free ones in their places.
PORT = re.compile(r"\b(8500|8501|8502)\b")
MARK = "@@ block "


@dataclasses.dataclass
class Block:
    """One fenced block. `line` is that of its first command."""

    line: int
    text: str
    expected: str | None = None


def blocks(page):
    """The blocks of a page that are to be run. Raises ValueError for output that follows none."""
    found, fence, start, lines = [], None, 0, []
    for number, line in enumerate(page.splitlines(), 1):
        match = FENCE.match(line)
        if match is None:
            lines.append(line)
        elif fence is None:
            fence, start, lines = match[1], number + 1, []
        else:
            if fence == "sh":
                found.append(Block(start, "\n".join(lines) + "\n"))
            elif fence == "text":
                if not found or found[-1].expected is not None:
                    raise ValueError(f"line {start}: output without a block that prints it")
                found[-1].expected = "\n".join(lines) + "\n"
            fence = None
    return found


def prints(expected, printed):
    """Whether `printed` is what a page says, with any text for `...` and at the ends of lines."""
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    trimmed = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, trimmed, re.DOTALL) is not None


class Failure(Exception):
    """A block that failed, or printed something else than its page says."""


def link_repository(repository, binary, work):
    """Makes `work` look like the repository, with this binary as bazel-bin/tessera."""
    (work / "bazel-bin").mkdir(parents=True)
    (work / "bazel-bin" / "tessera").symlink_to(binary)
    for entry in repository.iterdir():
        if entry.name != "bazel-bin":
            (work / entry.name).symlink_to(entry)


def run(name, page, folder, ports, seconds=300):
    """Runs the blocks of a page in `folder`/work, where link_repository() has been.

    `ports` says which port stands for each port of the page. Files in /tmp are made in `folder`.
    Raises Failure with the line of the block. Whatever the page started and left has ended then.
    """
    found = blocks(page)

    def own_ports(text):
        return PORT.sub(lambda match: str(ports[match[1]]), text)

    (folder / "tmp").mkdir()
    # curl tells of an HTTP error by its exit code.
    (folder / ".curlrc").write_text("fail\n", encoding="utf-8")
    script = "set -eu\n"
    for index, block in enumerate(found):
        script += f"echo; echo '{MARK}{index}'; echo '{MARK}{index}' >&2\n{block.text}"
    script = own_ports(script).replace("/tmp/", f"{folder}/tmp/")
    script += f"echo; echo '{MARK}{len(found)}'\n"
    out, err = folder / "out", folder / "err"
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder / "work",
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=environment() | {"CURL_HOME": str(folder)},
            start_new_session=True,
        )
        try:
            code = shell.wait(seconds)
        except subprocess.TimeoutExpired:
            code = f"not after {seconds} s"
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            shell.wait()
    printed = [
        part.split("\n", 1)[1] for part in out.read_text("utf-8", "replace").split(MARK)[1:]
    ]
    tail = err.read_text("utf-8", "replace")[-2000:]
    for index, (block, text) in enumerate(zip(found, printed)):
        where = f"{name}:{block.line}"
        if index + 1 == len(printed):
            raise Failure(f"{where}: ended with {code}:\n{block.text}\n{text}\n{tail}")
        text = text.removesuffix("\n")
        if block.expected is not None and not prints(own_ports(block.expected), text):
            raise Failure(f"{where} says:\n{block.expected}\nbut prints:\n{text}\n{tail}")


def pages(repository):
    """The pages of a repository that have blocks to run."""
    candidates = [repository / "README.md", *sorted((repository / "docs").glob("*.md"))]
    return [page for page in candidates if blocks(page.read_text(encoding="utf-8"))]


def relative(page: pathlib.Path, repository):
    return page.relative_to(repository).as_posix()
