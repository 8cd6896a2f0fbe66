"""Configurations read again: by SIGHUP, at an interval, good ones and bad ones."""

import signal

import pytest

from clients.client import Client, refused
from clients.conftest import DIGITS, HALF_PLUS_TWO, assert_serves
from clients.fault_steps import wait_for_state, wait_until
from clients.server import Model, Server, config_text

M = Model("m", HALF_PLUS_TWO)


def yaml_text(*models):
    lines = ["models:"]
    for model in models:
        lines += [f"  - name: {model.name}", f"    base_path: {model.base_path}"]
    return "\n".join(lines) + "\n"


FORMS = {
    "text proto": ("model_config_file", lambda *models: config_text(models)),
    "yaml": ("config", yaml_text),
}


def test_sighup_is_no_error_where_the_models_come_from_flags():
    with Server("--model_name=m", f"--model_base_path={HALF_PLUS_TWO}") as server, Client(server) as client:
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the models come from flags, which do not change" in server.log(), "log")
        assert "were not applied" not in server.log()
        assert_serves(server, client)


@pytest.mark.parametrize("form", FORMS)
def test_sighup_reads_the_models_again(tmp_path, form):
    flag, text = FORMS[form]
    path = tmp_path / "models"
    path.write_text(text(M), encoding="utf-8")
    with Server(f"--{flag}={path}") as server, Client(server) as client:
        with refused("NOT_FOUND"):
            client.version_states("digits")
        path.write_text(text(M, Model("digits", DIGITS)), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.http("GET", "/v1/models/digits")[0] == 200, "no digits")
        wait_for_state(client, "digits", 2, "AVAILABLE")
        assert_serves(server, client)

        path.write_text(text(Model("n", HALF_PLUS_TWO), M, M), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "were not applied, what was served stays" in server.log(), server.log)
        assert "multiple times" in server.log()
        assert_serves(server, client)
        assert server.http("GET", "/v1/models/n")[0] == 404, "nothing of a bad one is applied"

        path.write_text("nonsense [", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        path.unlink()
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log().count("were not applied") >= 2, server.log)
        assert_serves(server, client)

        path.write_text(text(M), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_for_state(client, "digits", 2, "END")
        assert_serves(server, client)


@pytest.mark.parametrize("form", FORMS)
def test_files_are_read_again_at_an_interval(tmp_path, form):
    flag, text = FORMS[form]
    path = tmp_path / "models"
    path.write_text(text(M), encoding="utf-8")
    with Server(f"--{flag}={path}", "--model_config_file_poll_wait_seconds=1") as server, Client(
        server
    ) as client:
        path.write_text(text(M, Model("digits", DIGITS)), encoding="utf-8")
        wait_until(lambda: server.http("GET", "/v1/models/digits")[0] == 200, "no digits")
        wait_for_state(client, "digits", 2, "AVAILABLE")
        path.write_text("x: [", encoding="utf-8")
        wait_until(lambda: "were not applied" in server.log(), server.log)
        assert_serves(server, client)


def test_a_model_that_never_comes_does_not_block_later_reloads(tmp_path):
    path = tmp_path / "models"
    path.write_text(config_text([M]), encoding="utf-8")
    with Server(
        f"--model_config_file={path}", "--model_config_file_poll_wait_seconds=1"
    ) as server, Client(server) as client:
        path.write_text(config_text([M, Model("absent", tmp_path / "no")]), encoding="utf-8")
        wait_until(lambda: "have no version yet" in server.log(), server.log)
        path.write_text(config_text([M, Model("digits", DIGITS)]), encoding="utf-8")
        wait_until(lambda: server.http("GET", "/v1/models/digits")[0] == 200, "no digits")
        assert_serves(server, client)


def test_sighup_without_a_file_changes_nothing():
    flags = ("--model_name=m", f"--model_base_path={HALF_PLUS_TWO}")
    with Server(*flags) as server, Client(server) as client:
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the models come from flags" in server.log(), server.log)
        assert_serves(server, client)
