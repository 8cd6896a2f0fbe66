"""Starts on odd folders, names, files and ports: served as TensorFlow Serving would, or refused with
a sentence that names the culprit."""

import json
import os
import shutil

import pytest

from clients.conftest import HALF_PLUS_TWO
from clients.server import Server, free_port
from clients.test_starts import run

VERSION = HALF_PLUS_TWO / "00000123"


def by_flags(base_path):
    return [f"--model_base_path={base_path}", "--model_name=m"]


def by_config(folder, text, encoding="utf-8"):
    """A file of models in which `{model}` is the folder of one."""
    config = folder / "models.config"
    model = f'base_path: "{folder / "model"}" model_platform: "tensorflow"'
    config.write_bytes(text.replace("{model}", model).encode(encoding))
    return [f"--model_config_file={config}"]


def linked(folder):
    (folder / "link").symlink_to(folder / "model")
    return by_flags(folder / "link")


def version_linked(folder):
    (folder / "linked").mkdir()
    (folder / "linked" / "1").symlink_to(VERSION)
    return by_flags(folder / "linked")


def beside_odd_names(folder):
    for name in ("-2", "1.5", "v300", "9" * 30, "0x500", ".700"):
        shutil.copytree(VERSION, folder / "model" / name)
    return by_flags(folder / "model")


def beside_a_pipe(folder):
    os.mkfifo(folder / "model" / "123" / "pipe")
    return by_flags(folder / "model")


@pytest.mark.parametrize(
    "flags",
    [
        linked,
        version_linked,
        beside_odd_names,
        beside_a_pipe,
        lambda folder: by_flags(f"/{folder}//model///"),
        lambda folder: by_config(folder, 'model_config_list {\r\n config { name: "m" {model} }\r\n}'),
        lambda folder: by_config(folder, 'model_config_list { config { name: "m" {model} '
                                 "model_version_policy { latest { num_versions: 0 } } } }"),
        lambda folder: by_flags(folder / "model") + ["--saved_model_tags="],
        lambda folder: by_flags(folder / "model") + ["--file_system_poll_wait_seconds=0"],
        lambda folder: ["--model_name=other", *by_flags(folder / "model")],
    ],
    ids=["linked base path", "linked version", "odd names", "pipe", "slashes", "CRLF", "latest 0",
         "no tags", "no polling", "flag twice"],
)  # fmt: skip
def test_odd_starts_that_serve(tmp_path, flags):
    shutil.copytree(VERSION, tmp_path / "model" / "123")
    with Server(*flags(tmp_path)) as server:
        status, _, body = server.http("POST", "/v1/models/m:predict", b'{"instances": [4.0]}')
        assert (status, json.loads(body)) == (200, {"predictions": [4.0]})


ONE = 'config { name: "m" {model} }'


@pytest.mark.parametrize(
    "flags, told",
    [
        (lambda folder: ["--model_name=m", "--model_base_path=model"], "absolute path"),
        (lambda folder: by_config(folder, f"model_config_list {{ {ONE} {ONE} }}"), "multiple times"),
        (lambda folder: by_config(folder, ""), "models.config"),
        (lambda folder: by_config(folder, "model_config_list { \x01 }"), "models.config:1:"),
        (lambda folder: by_config(folder, ONE, encoding="utf-16"), "models.config"),
        (lambda folder: [f"--model_config_file={folder}"], "it is a directory"),
        (lambda folder: by_flags(folder / "model") + ["--saved_model_tags=gpu"], "{ serve }"),
        (lambda folder: by_flags(folder / "model") + ["--port=http"], "http"),
        (lambda folder: by_flags(folder / "model") + [f"--token_file={folder}"], "token_file"),
        (lambda folder: by_flags(folder / "model") + ["--admin_port=18556", "--rest_api_port=18556"],
         "admin_port is that of rest_api_port, 18556"),
        (lambda folder: by_flags(folder / "model") + ["--admin_port=18556", "--admin_address=localhost"],
         "is no IP address"),
        (lambda folder: by_flags(folder / "model") + ["--admin_ssl"], "admin_ssl needs a certificate"),
    ],
    ids=["relative path", "name twice", "empty file", "control byte", "UTF-16", "folder for a file",
         "unknown tags", "port of letters", "folder of tokens", "admin port of REST", "admin name",
         "TLS without a certificate"],
)  # fmt: skip
def test_odd_starts_that_are_refused(tmp_path, flags, told):
    shutil.copytree(VERSION, tmp_path / "model" / "123")
    code, text = run(
        f"--port={free_port()}", "--max_num_load_retries=0", *flags(tmp_path)
    )
    assert code == 255
    assert told in text
