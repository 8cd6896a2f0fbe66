"""`tessera serve --check-config`, `--print-config` and `--help`, as one types them."""

import json
import os
import pty
import re
import shutil
import subprocess

import pytest

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import wait_for_state, wait_until
from clients.server import Model, Server, binary, config_text
from clients.test_command_line import done, tessera

BROKEN = """\
prot: 1
rest_api_port: many
numerics: wild
models:
  - {name: a, base_path: /nowhere/a}
  - {name: b, base_path: BASE, version_labels: {x: 7}}
"""


def test_check_config_tells_everything_at_once(tmp_path):
    path = tmp_path / "server.yaml"
    path.write_text(BROKEN.replace("BASE", str(HALF_PLUS_TWO)), encoding="utf-8")
    arguments = ("serve", "--port=0", f"--config={path}", "--memory_limit=lots", "--prot=1")
    code, out, err = tessera(*arguments, "--check-config")
    assert (code, err) == (3, "")
    lines = out.splitlines()
    for start in (
        f"{path}:1: error: prot: unknown key 'prot' in the server's configuration; did you mean",
        f"{path}:2: error: rest_api_port: Couldn't interpret value many",
        "--port: error: nothing to listen on",
        f"{path}:3: error: numerics: numerics is 'wild'; it must be",
        "--memory_limit: error: 'lots' is no size",
        "command line: warning: unknown argument: --prot=1 is passed over; did you mean 'port'?",
        f"{path}:5: error: models[0].base_path: cannot list '/nowhere/a'",
        f"{path}:6: error: models[1].version_labels.x: label 'x' of model 'b' names version 7",
        "7 errors, 1 warning",
    ):
        assert any(line.startswith(start) for line in lines), (start, out)
    assert len(lines) == 9

    code, out, err = tessera(*arguments, "--check_config", "--json")
    report = json.loads(out)
    assert (code, err, report["errors"], report["warnings"]) == (3, "", 7, 1)
    assert report["findings"][0] == {
        "severity": "error",
        "file": str(path),
        "line": 1,
        "key": "prot",
        "message": "unknown key 'prot' in the server's configuration; did you mean 'port'?",
    }


@pytest.mark.parametrize("text", ["port: 1\nmodels: [\n  - a: b\n", "- port\n", None])
def test_a_file_that_cannot_be_read_is_the_only_error(text, tmp_path):
    path = tmp_path / "server.yaml"
    if text:
        path.write_text(text, encoding="utf-8")
    code, out, _ = tessera("serve", f"--config={path}", "--check-config")
    assert code == 3
    assert out.startswith(str(path)) and out.endswith("\n1 error, 0 warnings\n"), out


def test_check_config_of_what_can_be_served(tmp_path):
    path = tmp_path / "models.config"
    path.write_text(config_text([Model("m", HALF_PLUS_TWO)]), encoding="utf-8")
    with Server(f"--model_config_file={path}") as server:
        flags = (f"--model_config_file={path}", "--check-config")
        assert done("serve", "--grpc_socket_path=s", "--port=0", *flags) == "0 errors, 0 warnings\n"
        # Whoever checks a file before a restart has the server of the old one running.
        out = done("serve", f"--port={server.grpc_port}", *flags)
        assert out.startswith("--port: warning: cannot listen on port")
        assert out.endswith("0 errors, 1 warning\n")


def test_print_config_is_a_configuration(tmp_path):
    given = tmp_path / "given.yaml"
    given.write_text(
        "models:\n"
        f"  - {{name: m, base_path: {HALF_PLUS_TWO}}}\n"
        "batching: {max_batch_size: 8, mode: adaptive}\n"
        "ssl: {server_key: hush, server_cert: c}\n",
        encoding="utf-8",
    )
    printed = done("serve", f"--config={given}", "--print-config", "--numerics=strict")
    assert "hush" not in printed
    again = tmp_path / "again.yaml"
    again.write_text(printed, encoding="utf-8")
    assert done("serve", f"--config={again}", "--print_config") == printed.replace(
        "# ssl.server_key is secret, and left out.\n", ""
    )


def test_a_broken_file_is_logged_once_until_it_changes(tmp_path):
    path = tmp_path / "models.config"
    base = tmp_path / "m"
    shutil.copytree(HALF_PLUS_TWO / "00000123", base / "1")
    good = config_text([Model("m", base)])
    path.write_text(good, encoding="utf-8")
    with Server(
        f"--model_config_file={path}", "--model_config_file_poll_wait_seconds=1"
    ) as server, Client(server) as client:
        path.write_text("model_config_list {\n  nonsense: 1\n}\n", encoding="utf-8")
        wait_until(lambda: "were not applied" in server.log(), server.log)
        # Base paths are looked at each second, as the file is, so that the second version comes
        # after another look at the file.
        for version in (2, 3):
            shutil.copytree(base / "1", base / str(version))
            wait_for_state(client, "m", version, "AVAILABLE")
        assert server.log().count("Error parsing text-format") == 1, server.log()
        path.write_text("model_config_list {\n  nonsense: 2\n}\n", encoding="utf-8")
        wait_until(lambda: server.log().count("were not applied") == 2, server.log)
        assert re.search(r"models\.config', line 2, column \d+: Error parsing", server.log())
        path.write_text(good, encoding="utf-8")
        wait_until(lambda: "all is well again" in server.log(), server.log)


def tessera_health(server):
    """The exit code of a probe by gRPC."""
    command = [binary(), "health", f"--address={server.grpc_address}"]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


def test_all_is_well_once_each_model_of_a_reload_has_a_version(tmp_path):
    path = tmp_path / "models.config"
    base, broken = tmp_path / "m", tmp_path / "broken"
    shutil.copytree(HALF_PLUS_TWO / "00000123", base / "1")
    (broken / "1").mkdir(parents=True)
    (broken / "1" / "saved_model.pb").write_bytes(b"no model")
    path.write_text(config_text([Model("m", base)]), encoding="utf-8")
    with Server(
        f"--model_config_file={path}", "--model_config_file_poll_wait_seconds=1"
    ) as server, Client(server) as client:
        path.write_text(config_text([Model("m", base), Model("b", broken)]), encoding="utf-8")
        wait_until(lambda: "did not become available" in server.log(), server.log)
        # The file is looked at as often as the base paths are.
        for version in (2, 3):
            shutil.copytree(base / "1", base / str(version))
            wait_for_state(client, "m", version, "AVAILABLE")
        assert "all is well again" not in server.log()
        assert tessera_health(server) == 1
        shutil.copytree(base / "1", broken / "2")
        wait_until(lambda: "all is well again" in server.log(), server.log)
        assert tessera_health(server) == 0


def at_terminal(arguments, **variables):
    """What a run prints to a terminal."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    with subprocess.Popen(
        [str(binary()), *arguments], stdout=slave, stdin=slave, env=environment
    ) as run:
        os.close(slave)
        printed = b""
        try:
            while part := os.read(master, 65536):
                printed += part
        except OSError:  # the end of a terminal
            pass
        assert run.wait(60) == 0
    os.close(master)
    return printed.decode().replace("\r\n", "\n")


def test_help_has_groups_and_colours_on_a_terminal_only():
    plain = done("serve", "--help")
    for group in ("Protocols", "Models", "Loading", "Running", "The program"):
        assert f"\n\n{group}:\n  --" in plain
    assert "Running, beyond tensorflow_model_server:\n" in plain
    coloured = at_terminal(["serve", "--help"])
    assert "\033[1mModels:\033[0m\n" in coloured
    assert re.sub("\033\\[[0-9]*m", "", coloured) == plain
    assert at_terminal(["serve", "--help"], NO_COLOR="1") == plain
    assert at_terminal(["serve", "--help"], TERM="dumb") == plain


@pytest.mark.parametrize(
    "arguments", [("serve", "--help=batching-mode"), ("help", "serve", "batching_mode")]
)
def test_help_of_a_flag(arguments):
    out = done(*arguments)
    assert out.startswith("--batching_mode=TEXT\n\nupstream (the default): ")
    for line in (
        "  type                     string",
        "  example                  --batching_mode=adaptive",
        "  YAML key                 batching_mode, or mode under batching",
        "  tensorflow_model_server  has no such flag",
    ):
        assert line in out.splitlines()


def test_help_of_an_unknown_flag_names_the_nearest():
    assert tessera("serve", "--help=batchng_mode") == (
        2,
        "",
        "tessera serve: there is no flag 'batchng_mode'; did you mean 'batching_mode'?\n",
    )
