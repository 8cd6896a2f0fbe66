"""The dashboard as a browser shows it, of real servers with real models."""

import json
import re
import shutil

import pytest

from clients.conftest import DIGITS, HALF_PLUS_TWO
from clients.server import Model
from dashboard.browser import CONTROL, SHIFT
from dashboard.conftest import HOSTILE, DashboardServer
from rollouts.version_folders import push

VIEWS = ["overview", "history", "rollouts", "request", "config"]
LIVE = "document.querySelector('#link').dataset.state === 'live'"


def row(model, version):
    """JavaScript: the row of a version."""
    key = json.dumps(json.dumps([model, str(version)], separators=(",", ":"), ensure_ascii=False))
    return f"[...document.querySelectorAll('#versions tr')].find((r) => r.dataset.key === {key})"


def cell(model, version, label):
    return f"{row(model, version)}.querySelector('[data-label=\"{label}\"]').innerText"


def fill(page, model, body):
    """Chooses a model, and replaces the request that the page proposes."""
    page.choose("#f-model", model)
    page.wait("document.querySelector('#f-body').value.includes('signature_name')")
    page.write("#f-body", body)


def ask(server, model, body, count=1):
    for _ in range(count):
        server.http("POST", f"/v1/models/{model}:predict", json.dumps(body).encode())


def test_models_and_their_states(server, show):
    page = show(server.url)
    for model, version in (("half", 123), ("digits", 1), ("digits", 2), (HOSTILE, 123)):
        page.wait(f"{cell(model, version, 'State')}.startsWith('AVAILABLE')")
    assert "stable" in page.value(cell("half", 123, "Version"))
    assert "canary" in page.value(cell("digits", 2, "Version"))
    assert re.search(r"\d (K|M)iB", page.value(cell("digits", 1, "Memory")))
    assert page.text("#link") == "live"
    page.wait("document.querySelector('#tiles').innerText.includes('GiB')"
              " || document.querySelector('#tiles').innerText.includes('MiB')")


def test_numbers_follow_the_requests(server, show):
    page = show(server.url)
    page.wait(row("half", 123))
    page.wait("ticks.length > 1")
    half = "now.models.find((m) => m.name === 'half').versions[0].traffic"
    before = page.value(f"{half}.errors.INVALID_ARGUMENT ?? 0")
    ask(server, "half", {"instances": [1.0]}, count=40)
    ask(server, "half", {"instances": [["not a number"]]}, count=10)
    page.wait(f"{half}.errors.INVALID_ARGUMENT === {before + 10}")
    page.wait(f"parseFloat({cell('half', 123, 'Requests/s')}) > 0")
    page.wait(f"/µs|ms/.test({cell('half', 123, 'p50')}) && /µs|ms/.test({cell('half', 123, 'p99')})")
    page.wait(f"parseFloat({cell('half', 123, 'Errors')}) > 0")
    traffic = page.value(half)
    assert sum(traffic["latency"]) == traffic["requests"] - sum(traffic["errors"].values())
    assert "INVALID_ARGUMENT" in page.value(cell("half", 123, "State"))
    # The chart of requests has a line for the version, and says its number.
    page.wait("charts.rate.legend.innerText.includes('half · 123')")
    page.wait("charts.rate.plot.getAttribute('aria-label').includes('half · 123')")


def test_quantiles_are_interpolated(server, show):
    page = show(server.url)
    page.wait(LIVE)
    # Ten samples up to 10 and ten from 10 to 30: the median is 10, three quarters are below 20.
    assert page.value("quantile([10, 10, 0], 0.5, [10, 30])") == 10
    assert page.value("quantile([10, 10, 0], 0.75, [10, 30])") == 20
    assert page.value("quantile([0, 0, 5], 0.5, [10, 30])") == 30
    assert page.value("quantile([0, 0, 0], 0.5, [10, 30])") is None


def test_a_version_that_is_loaded_anew_counts_from_zero(server, show):
    page = show(server.url)
    page.wait(LIVE)
    assert page.value("[rise(7, 5), rise(5, 5), rise(3, 5), rise(3, undefined)]") == [2, 0, 3, 3]


def test_a_request_by_the_form_gets_the_right_answer(server, show):
    page = show(f"{server.url}#request")
    page.choose("#f-model", "half")
    page.wait("document.querySelector('#f-body').value.includes('instances')")
    assert json.loads(page.value("document.querySelector('#f-body').value")) == {
        "signature_name": "serving_default",
        "instances": [0],
    }
    page.write("#f-body", '{"instances": [1.0, 2.0, 10]}')
    page.click("#f-send")
    page.wait("document.querySelector('#f-status').innerText.startsWith('200')")
    assert json.loads(page.text("#f-answer")) == {"predictions": [2.5, 3.0, 7.0]}
    assert re.match(r"[\d.]+ ms", page.text("#f-time"))
    # The same by the keyboard, to one version.
    page.choose("#f-version", "v:123")
    page.write("#f-body", '{"instances": [4.0]}')
    page.press("Enter", CONTROL)
    page.wait("document.querySelector('#f-answer').innerText.includes('4')")


@pytest.mark.parametrize("model", ["digits", "bert", "wide"])
def test_a_request_of_zeros_fits_the_signatures(server, show, model):
    page = show(f"{server.url}#request")
    page.choose("#f-model", model)
    page.wait(f"formKey.includes('\"{model}\"') && Object.keys(signatures).length")
    for name in page.value("[...document.querySelector('#f-signature').options].map((o) => o.value)"):
        page.choose("#f-signature", name)
        page.click("#f-sample")
        page.value("document.querySelector('#f-status').hidden = true")
        page.click("#f-send")
        page.wait("!document.querySelector('#f-status').hidden")
        assert page.text("#f-status").startswith("200"), page.text("#f-answer")


def test_a_refused_request_shows_why(server, show):
    page = show(f"{server.url}#request")
    fill(page, "half", json.dumps({"instances": [HOSTILE], "signature_name": HOSTILE}))
    page.click("#f-send")
    page.wait("document.querySelector('#f-status').dataset.kind === 'bad'")
    assert HOSTILE in json.loads(page.text("#f-answer"))["error"]
    page.write("#f-body", "{")
    page.wait("document.querySelector('#f-body').getAttribute('aria-invalid') === 'true'")
    page.click("#f-send")
    page.wait("document.querySelector('#f-status').innerText.startsWith('400')")
    assert page.value("document.querySelector('#f-answer img') === null && window.hacked === undefined")


def test_hostile_names_stay_text(server, show):
    page = show(server.url)
    page.wait(row(HOSTILE, 123))
    for view in VIEWS:
        page.value(f"go('{view}')")
        page.wait(f"!document.querySelector('#panel-{view}').hidden")
    page.wait(f"document.querySelector('#config').innerText.includes('onerror')")
    page.value("go('request')")
    fill(page, HOSTILE, '{"instances": [2.0]}')
    page.click("#f-send")
    page.wait("document.querySelector('#f-answer').innerText.includes('3.0')")
    assert page.value("document.querySelectorAll('img').length") == 0
    assert page.value("window.hacked") is None
    assert page.value("document.body.innerText.length") > 0


def test_scripts_and_markup_from_elsewhere_are_refused(server, browser):
    page = browser.open(server.url)  # not by `show`: refusals are logged
    page.wait(LIVE)
    refused = page.value("(() => { try { document.body.innerHTML = '<b>x</b>'; } catch { return true; } })()")
    assert refused
    page.value("document.body.append(Object.assign(document.createElement('style'), {textContent: 'body{color:red}'}))")
    assert page.value("document.styleSheets.length") == 1
    page.close()


def test_versions_come_and_go(show, half_plus_two_copy):
    with DashboardServer("--version_settle_seconds=0", models=[Model("m", half_plus_two_copy)]) as server:
        page = show(server.url)
        page.wait(f"{cell('m', 123, 'State')}.startsWith('AVAILABLE')")
        shutil.copytree(half_plus_two_copy / "00000123", half_plus_two_copy / "124")
        page.wait(f"{cell('m', 124, 'State')}.startsWith('AVAILABLE')")
        page.wait(f"!{row('m', 123)}")  # unloaded, and of the past
        (half_plus_two_copy / "125").mkdir()
        (half_plus_two_copy / "125" / "saved_model.pb").write_bytes(b"no model")
        page.wait(f"{cell('m', 125, 'State')}.startsWith('FAILED')")
        assert "DATA_LOSS" in page.value(cell("m", 125, "State"))

        page.press("2")
        page.wait("document.querySelectorAll('#loads tr').length === 3")
        failed, second, first = page.value(
            "[...document.querySelectorAll('#loads tr')].map((r) => r.innerText)"
        )
        assert "124" in second and "123" in first and "failed" in failed
        for stage in ("estimate", "read", "import", "compile", "warm_up"):
            assert re.search(rf"{stage} [\d.]+ (µs|ms|s)", second), second
        events = page.text("#events")
        for state in ("START", "LOADING", "AVAILABLE", "UNLOADING", "END", "FAILED"):
            assert state in events
        assert page.value("document.querySelectorAll('#lanes .lane').length") == 3


def test_the_configuration_in_effect(server, show):
    page = show(f"{server.url}#config")
    page.wait("document.querySelector('#config').innerText.includes('name: half')")
    text = page.text("#config")
    assert f"rest_api_port: {server.rest_port}" in text
    assert f"base_path: {HALF_PLUS_TWO}" in text
    assert "# num_load_threads: 0" in text


def focused(page):
    return page.value("document.activeElement.id || document.activeElement.tagName")


def test_everything_is_reached_by_the_keyboard(server, show):
    page = show(server.url)
    page.wait(LIVE)
    seen = []
    for _ in range(5):
        page.press("Tab")
        seen.append(focused(page))
    assert seen[1:] == ["filter", "theme", "help-button", "tab-overview"]
    page.press("ArrowRight")
    assert focused(page) == "tab-history"
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    assert focused(page) == "tab-config"
    for number, view in enumerate(VIEWS, 1):
        page.press(str(number))
        assert page.value(f"document.querySelector('#panel-{view}').checkVisibility()")
        assert page.value("location.hash") == f"#{view}"
    page.press("?", SHIFT)
    assert page.value("document.querySelector('#help').open")
    page.press("Escape")
    page.wait("!document.querySelector('#help').open")
    page.press("m")
    assert focused(page) == "filter"
    # What has the focus is marked.
    assert page.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_every_control_has_a_name(server, show):
    page = show(server.url)
    page.wait(LIVE)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    controls = ("button", "combobox", "textbox", "tab", "link", "image", "table", "region")
    unnamed = [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node["role"]["value"] in controls
        and not node.get("name", {}).get("value")
    ]
    assert unnamed == []
    assert any(node["role"]["value"] == "tabpanel" for node in nodes)


def test_narrow_windows_show_one_column_and_lose_nothing(server, show):
    page = show(server.url, width=360, height=700)
    page.wait(row(HOSTILE, 123))
    for view in VIEWS:
        page.value(f"go('{view}')")
        page.wait(f"document.querySelector('#panel-{view}').checkVisibility()")
        assert page.value("document.documentElement.scrollWidth") <= 360, view
    page.value("go('overview')")
    tops = page.value(
        "[...document.querySelectorAll('#charts figure')].map((f) => f.getBoundingClientRect().left)"
    )
    assert len(tops) == 3 and len(set(tops)) == 1


def luminance(page):
    """Of the page's background, from 0 to 255."""
    numbers = re.findall(r"[\d.]+", page.value("getComputedStyle(document.body).backgroundColor"))
    return sum(map(float, numbers[:3])) / 3


def test_light_and_dark(server, show):
    page = show(server.url)
    page.wait(LIVE)
    page.prefer(prefers_color_scheme="light")
    assert luminance(page) > 200
    page.prefer(prefers_color_scheme="dark")
    assert luminance(page) < 50
    page.press("t")
    assert page.text("#theme") == "Light" and luminance(page) > 200
    page.go(server.url)  # the choice is kept
    page.wait(LIVE)
    assert page.text("#theme") == "Light" and luminance(page) > 200
    page.press("t")
    page.prefer(prefers_color_scheme="light")
    assert page.text("#theme") == "Dark" and luminance(page) < 50


def test_nothing_jumps_while_numbers_change(server, show):
    page = show(server.url)
    page.wait("ticks.length > 1")
    height = "document.querySelector('#tiles').offsetHeight + document.querySelector('#charts').offsetHeight"
    before = page.value(height)
    ask(server, "digits", {"instances": [[0.0]]}, count=3)
    ask(server, "half", {"instances": [1.0]}, count=3)
    count = page.value("ticks.length")
    page.wait(f"ticks.length > {count} + 1")
    assert page.value(height) == before


def test_the_rest_port_shows_and_changes_nothing(server, show):
    page = show(server.read_only_url)
    page.wait(LIVE)
    assert "read-only" in page.text("#about")
    page.press("3")
    assert page.value("document.querySelectorAll('[data-action]').length") == 0
    page.press("4")
    fill(page, "half", '{"instances": [2.0]}')
    page.click("#f-send")
    page.wait("document.querySelector('#f-answer').innerText.includes('3.0')")
    status, _, _ = server.http("POST", "/admin/v1/rollouts/half:promote", b"{}")
    assert status == 404


def test_a_server_that_goes_and_comes_back(show):
    models = [Model("digits", DIGITS)]
    with DashboardServer(models=models) as server:
        page = show(server.url)
        page.wait("document.querySelector('#versions tr')")
        assert server.stop() == 0
    page.wait("document.querySelector('#link').dataset.state === 'lost'")
    page.wait("document.querySelector('#notice').checkVisibility()")
    assert "No connection; these are the numbers of" in page.text("#notice-text")
    assert page.value("document.querySelectorAll('#versions tr').length") == 1
    with DashboardServer(f"--admin_port={server.admin_port}", models=models):
        page.press("r")
        page.wait(LIVE)
        assert not page.value("document.querySelector('#notice').checkVisibility()")


def test_a_token_is_asked_for(show, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret-and-long-enough\n", encoding="utf-8")
    token.chmod(0o600)
    with DashboardServer(f"--admin_token_file={token}", models=[Model("m", HALF_PLUS_TWO)]) as server:
        page = show(server.url)
        page.wait("document.querySelector('#login').open")
        page.write("#token", "a wrong one")
        page.press("Enter")
        page.wait("document.querySelector('#login').open"
                  " && document.querySelector('#login-why').innerText.includes('refused')")
        page.write("#token", "s3cret-and-long-enough")
        page.press("Enter")
        page.wait(LIVE)
        page.wait(row("m", 123))
        # A token that is taken out counts for pages that are open, too.
        token.write_text("another-one\n", encoding="utf-8")
        page.wait("document.querySelector('#login').open")


ROLLOUT = """
file_system_poll_wait_seconds: 1
version_settle_seconds: 0
models:
  - name: m
    base_path: {base_path}
    rollout:
      steps: [{{share_percent: 25, duration_seconds: 100000}}, {{share_percent: 100}}]
      conditions: {{min_requests: 1, max_p99_ratio: 1000}}
"""


def test_a_rollout_is_steered_by_buttons(show, half_plus_two_copy, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(ROLLOUT.format(base_path=half_plus_two_copy), encoding="utf-8")
    with DashboardServer(f"--config={config}") as server:
        page = show(f"{server.url}#rollouts")
        page.wait("document.querySelector('#rollouts').innerText.includes('Version 123 has all traffic')")
        push(half_plus_two_copy / "00000123", half_plus_two_copy, 124)
        page.wait("document.querySelector('#rollouts').innerText"
                  ".includes('Version 124 has 25 % of the traffic beside version 123')")
        ask(server, "m", {"instances": [1.0]}, count=40)
        page.wait("Number(now.rollouts[0].live.requests) + Number(now.rollouts[0].candidate.requests) === 40")

        def act(action, answer="yes"):
            page.click(f"[data-action={action}]")
            page.wait("document.querySelector('#confirm').open")
            page.click("#confirm-yes" if answer == "yes" else "#confirm button")
            page.wait("!document.querySelector('#confirm').open")

        act("pause", answer="no")
        act("pause")
        page.wait("now.rollouts[0].phase === 'ROLLOUT_PAUSED'")
        page.wait("document.querySelector('[data-action=pause]').disabled")
        act("resume")
        page.wait("now.rollouts[0].phase === 'ROLLOUT_STEP'")
        act("promote")
        page.wait("document.querySelector('#rollouts').innerText.includes('Version 124 has all traffic')")
        act("rollback")  # of what was promoted
        page.wait("document.querySelector('#rollouts').innerText.includes('Version 123 has all traffic')")
        page.wait("document.querySelector('#rollouts').innerText.includes('Rejected: 124')")

        page.press("2")
        page.wait("['started', 'paused, by hand', 'resumed, by hand', 'promoted, by hand',"
                  " 'rolled back, by hand'].every((kind) =>"
                  " document.querySelector('#events').innerText.includes(kind))")
        assert page.value("document.querySelector('#events').innerText.match(/paused, by hand/g).length") == 1

        # Everybody may look at the REST port, without buttons.
        page = show(f"{server.read_only_url}#rollouts")
        page.wait("document.querySelector('#rollouts').innerText.includes('Version 123 has all traffic')")
        assert page.value("document.querySelectorAll('[data-action]').length") == 0


def test_an_action_that_comes_too_late_shows_why(show, half_plus_two_copy, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(ROLLOUT.format(base_path=half_plus_two_copy), encoding="utf-8")
    with DashboardServer(f"--config={config}") as server:
        page = show(f"{server.url}#rollouts")
        push(half_plus_two_copy / "00000123", half_plus_two_copy, 124)
        page.wait("now.rollouts[0].phase === 'ROLLOUT_STEP'")
        page.click("[data-action=promote]")
        page.wait("document.querySelector('#confirm').open")
        # While it was asked, another version came, superseded the candidate.
        push(half_plus_two_copy / "00000123", half_plus_two_copy, 125)
        page.wait("now.rollouts[0].candidate_version === '125'")
        page.click("#confirm-yes")
        page.wait("document.querySelector('#notice').checkVisibility()")
        assert "125" in page.text("#notice-text")
        assert page.value("now.rollouts[0].stable_version") == "123"
