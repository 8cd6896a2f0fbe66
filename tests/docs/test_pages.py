"""The commands of README.md and docs/ work when they are pasted, and print what the pages say."""

import textwrap

import pytest

from clients.server import REPOSITORY, binary, free_port
from docs.pages import Failure, blocks, link_repository, pages, prints, relative, run


@pytest.fixture(name="ports")
def _ports():
    return {port: free_port() for port in ("8500", "8501", "8502")}


@pytest.fixture(name="folder")
def _folder(tmp_path):
    link_repository(REPOSITORY, binary(), tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize(
    "page", pages(REPOSITORY), ids=lambda page: relative(page, REPOSITORY)
)
def test_commands_of_a_page_work(page, folder, ports):
    run(relative(page, REPOSITORY), page.read_text(encoding="utf-8"), folder, ports)


def test_the_pages_for_newcomers_are_run():
    names = {relative(page, REPOSITORY) for page in pages(REPOSITORY)}
    assert {"README.md", "docs/tour.md", "docs/tuning.md"} <= names


def page_of(text):
    return textwrap.dedent(text).replace("'''", "```")


def test_manual_blocks_and_other_languages_are_left_out():
    page = page_of(
        """\
        '''sh
        echo a
        '''
        '''text
        a
        '''
        '''sh manual
        false
        '''
        '''cpp
        int main();
        '''
        """
    )
    assert [(block.line, block.text, block.expected) for block in blocks(page)] == [
        (2, "echo a\n", "a\n")
    ]


def test_dots_stand_for_any_text():
    assert prints("a ... c\n", "a b\nb c\n")
    assert prints("a\n...\nd\n", "a  \nb\nc\nd\n")
    assert not prints("a ... c\n", "a b\n")
    assert not prints("a.c\n", "abc\n")


@pytest.mark.parametrize(
    "text, seconds, words",
    [
        ("'''sh\necho fine\n'''\n'''sh\nfalse\n'''\n", 60, ["page.md:5", "false"]),
        ("'''sh\necho one\n'''\n'''text\ntwo\n'''\n", 60, ["page.md:2", "two", "one"]),
        ("'''sh\nsleep 600 & sleep 600\n'''\n", 1, ["page.md:2", "not after 1 s"]),
        ("'''sh\necho $missing\n'''\n", 60, ["page.md:2", "missing"]),
    ],
)
def test_a_page_that_is_wrong_is_found(text, seconds, words, folder, ports):
    with pytest.raises(Failure) as failure:
        run("page.md", page_of(text), folder, ports, seconds)
    for word in words:
        assert word in str(failure.value)


def test_pages_get_ports_and_files_of_their_own(folder, ports):
    text = "'''sh\necho 8500 >/tmp/port\ncat /tmp/port\n'''\n'''text\n8500\n'''\n"
    run("page.md", page_of(text), folder, ports)
    assert (folder / "tmp" / "port").read_text() == f"{ports['8500']}\n"
