"""A browser for all tests, and servers whose dashboards it looks at."""

import pytest

from clients.conftest import DIGITS, HALF_PLUS_TWO, half_plus_two_copy
from clients.server import DATA, Model, Server, free_port
from dashboard import browser as browsers

__all__ = ["half_plus_two_copy"]  # a fixture

HOSTILE = "<img src=x onerror=hacked=1>\"'&amp;"


@pytest.fixture(scope="session")
def browser():
    if browsers.program() is None:
        pytest.skip("there is no Chromium: scripts/setup installs it")
    with browsers.Browser() as started:
        yield started


@pytest.fixture
def show(browser):
    """show(url) -> page, which by the end of the test must have had no problem, and have asked
    nobody but its server."""
    pages = []

    def open_page(url, **size):
        page = browser.open(url, **size)
        pages.append((page, url.split("/dashboard")[0] + "/"))
        return page

    yield open_page
    for page, origin in pages:
        assert page.problems() == []
        asked = page.requested()
        assert asked and [url for url in asked if not url.startswith((origin, "data:"))] == []
        page.close()


class DashboardServer(Server):
    """A server with an admin address, and with the dashboard on its REST port, too."""

    def __init__(self, *flags, **options):
        self.admin_port = free_port()
        super().__init__(
            f"--admin_port={self.admin_port}", "--enable_dashboard", *flags, **options
        )
        self.url = f"http://127.0.0.1:{self.admin_port}/dashboard"
        self.read_only_url = f"http://127.0.0.1:{self.rest_port}/dashboard"


@pytest.fixture(scope="session")
def server():
    models = [
        Model("half", HALF_PLUS_TWO, labels={"stable": 123}),
        Model("digits", DIGITS, versions=[1, 2], labels={"canary": 2}),
        Model("bert", DATA / "models" / "bert_tiny"),
        Model("wide", DATA / "models" / "keras_multi_io"),
        Model(HOSTILE.replace('"', '\\"'), HALF_PLUS_TWO),
    ]
    with DashboardServer(
        "--allow_version_labels_for_unavailable_models", models=models
    ) as started:
        yield started
