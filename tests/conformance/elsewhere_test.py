import json

import pytest

from conformance import elsewhere
from clients.server import REPOSITORY

SHARED = REPOSITORY.parent / "shared"


def test_the_table_lists_what_the_repository_lacks():
    if not (SHARED / "models").is_dir():
        pytest.skip("the shared folder is not there")
    rows = [tuple(map(str, row)) for row in elsewhere.missing(SHARED, elsewhere.DATA)]
    assert elsewhere.read(elsewhere.TABLE) == rows


def test_a_model_is_asked_over_grpc_and_where_it_has_a_body_over_rest(tmp_path):
    golden = tmp_path / "shared/models/m/golden"
    golden.mkdir(parents=True)
    cases = [{"file": "case_0"}, {"file": "case_1", "rest": "POST /v1/models/m:predict"}]
    (golden / "manifest.json").write_text(json.dumps({"cases": cases}))
    (tmp_path / "shared/golden/ops").mkdir(parents=True)
    (tmp_path / "shared/golden/ops/Add.pb").touch()
    (tmp_path / "data/golden/ops").mkdir(parents=True)

    rows = elsewhere.missing(tmp_path / "shared", tmp_path / "data")
    assert rows == [("models", "m", 3), ("ops", "Add", 1)]

    (tmp_path / "data/models/m").mkdir(parents=True)
    (tmp_path / "data/golden/ops/Add.pb").touch()
    assert elsewhere.missing(tmp_path / "shared", tmp_path / "data") == []


def test_what_is_not_there_is_skipped_with_its_reason():
    rows = [("models", "a", "3"), ("ops", "Add", "1"), ("models", "b", "2")]
    assert str(elsewhere.skipped("models", rows)) == (
        "5 skipped: recorded in the shared folder alone (models: 2)\n"
        "0 passed, 0 failed, 5 skipped"
    )
    assert str(elsewhere.skipped("graphs", rows)) == "0 passed, 0 failed, 0 skipped"
