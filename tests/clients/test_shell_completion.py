"""Completion in real shells, and the manual page, both made by the binary from its own tables."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess

import pytest

from clients.server import binary
from clients.test_command_line import done


def need(program):
    """Skips a test where a shell or formatter is not installed; scripts/setup installs all."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def run_shell(*command, cwd=None):
    """The lines that a shell prints, which must succeed and say nothing else."""
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=cwd
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.splitlines()


def bash(words, cwd=None):
    """What bash offers for the last word. `=` is a word of its own, as in bash."""
    script = f"""
      source <({shlex.quote(str(binary()))} completion bash) || exit 1
      COMP_WORDS=({' '.join(map(shlex.quote, words))})
      COMP_CWORD={len(words) - 1}
      _tessera
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return sorted(line for line in run_shell("bash", "-uc", script, cwd=cwd) if line)


def fish(line, cwd=None):
    """What fish offers for the last word of a line."""
    need("fish")
    script = (
        f"{shlex.quote(str(binary()))} completion fish | source; "
        f"complete -C {shlex.quote(line)}"
    )
    found = run_shell("fish", "--no-config", "-c", script, cwd=cwd)
    return sorted(entry.split("\t")[0] for entry in found)


def commands():
    return re.findall("^  ([a-z]+)  ", done("help"), re.MULTILINE)


def flags_in_help(command):
    return re.findall(r"^  (--\w+)", done("help", command), re.MULTILINE)


def test_bash_completes_every_command_and_flag():
    assert bash(["tessera", ""]) == sorted(commands() + ["help", "--help", "--version"])
    assert bash(["tessera", "inspe"]) == ["inspect"]
    assert bash(["tessera", "help", "inspe"]) == ["inspect"]
    for command in commands():
        offered = [flag.rstrip("=") for flag in bash(["tessera", command, "--"])]
        assert offered == sorted(flags_in_help(command) + ["--help"])


def test_bash_completes_values_and_files(tmp_path):
    (tmp_path / "model.pbtxt").touch()
    assert bash(["tessera", "run", "--numerics", "=", "s"]) == ["strict"]
    assert bash(["tessera", "run", "--numerics", "="]) == ["fast", "strict"]
    assert bash(["tessera", "inspect", "mod"], cwd=tmp_path) == ["model.pbtxt"]
    assert bash(["tessera", "run", "--op_library", "=", "mod"], cwd=tmp_path) == ["model.pbtxt"]
    assert bash(["tessera", "run", "--tags", "=", "mod"], cwd=tmp_path) == []
    assert bash(["tessera", "completion", ""]) == ["bash", "fish", "zsh"]
    assert bash(["tessera", "nonsense", "x"]) == []


def test_fish_completes_every_command_and_flag():
    assert set(commands()) <= set(fish("tessera "))
    for command in commands():
        assert set(flags_in_help(command)) <= set(fish(f"tessera {command} --"))


def test_fish_completes_values_and_files(tmp_path):
    (tmp_path / "model.pbtxt").touch()
    assert fish("tessera run --numerics=s") == ["--numerics=strict"]
    assert fish("tessera inspect mod", cwd=tmp_path) == ["model.pbtxt"]
    assert fish("tessera completion ") == ["bash", "fish", "zsh"]


def test_zsh_takes_its_script():
    """zsh completes only at a terminal; here its own parser reads the specifications."""
    need("zsh")
    script = f"""
      autoload -Uz compinit && compinit -D -u
      source <({shlex.quote(str(binary()))} completion zsh) || exit 1
      _arguments() {{ printf '%s\\n' "$@" }}
      _describe() {{ printf '%s\\n' "${{(@P)3:-${{(@P)2}}}}" }}
      for line in {' '.join(commands())}; do
        words=(tessera $line --) CURRENT=3
        print "== $line"
        _tessera
      done
    """
    sections = "\n".join(run_shell("zsh", "-fc", script)).split("== ")[1:]
    assert len(sections) == len(commands())
    for command, section in zip(commands(), sections):
        specs = re.findall(r"^\*?(--\w+)", section, re.MULTILINE)
        assert sorted(specs) == sorted(flags_in_help(command) + ["--help"])


def read_until(terminal, text):
    """What a program at a pseudo terminal prints, up to and with `text`."""
    printed = b""
    while text not in printed:
        readable, _, _ = select.select([terminal], [], [], 60)
        assert readable, printed
        printed += os.read(terminal, 4096)
    return printed


def test_zsh_completes_at_a_terminal(tmp_path):
    need("zsh")
    (tmp_path / "script").write_text(done("completion", "zsh"), encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        setup = f"PROMPT=; autoload -Uz compinit && compinit -D -u; source {tmp_path}/script"
        os.write(terminal, f"{setup}; print rea''dy\n".encode())
        read_until(terminal, b"ready\r\n")
        os.write(terminal, b"tessera inspe\t --op_l\t")
        assert b"inspect" in read_until(terminal, b"--op_library=")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def test_manual_page_has_every_command_and_flag_and_no_fault(tmp_path):
    page = tmp_path / "tessera.1"
    page.write_text(done("man"), encoding="utf-8")
    text = page.read_text(encoding="utf-8").replace("\\-", "-")
    for command in commands():
        assert f".SS tessera {command}" in text
        for flag in flags_in_help(command):
            assert re.search(rf"^\.B {flag}(=|$)", text, re.MULTILINE), flag
    need("groff")
    formatted = subprocess.run(
        ["groff", "-ww", "-man", "-Tascii", str(page)], capture_output=True, text=True, check=True
    )
    assert formatted.stderr == ""
    need("mandoc")
    assert run_shell("mandoc", "-Tlint", "-Wwarning", str(page)) == []
