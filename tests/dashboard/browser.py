"""Headless Chromium, driven by the DevTools protocol over a pipe. Needs nothing but the browser.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:8502/dashboard")
        page.wait("document.querySelector('#versions tr')")
        page.press("2")
        page.screenshot(path)
"""

import base64
import contextlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root, in containers
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
}
CONTROL, SHIFT = 2, 8

# An element counts as true; an expression that is too early for the page counts as false.
_ATTEMPT = "(() => { try { const v = %s; return v instanceof Node || v; } catch { return null; } })()"


def program():
    """The browser's path, or None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One process. Calls are made by one thread."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="tessera-browser-")
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash"]
            + [program(), *FLAGS, f"--user-data-dir={self._folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers),
        )
        os.close(commands)
        os.close(answers)
        self._messages = queue.Queue()
        self._events = []
        self._last_id = 0
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._commands)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self):
        left = b""
        while data := os.read(self._answers, 1 << 16):
            *messages, left = (left + data).split(b"\0")
            for message in messages:
                self._messages.put(json.loads(message))
        self._messages.put(None)

    def call(self, method, session=None, timeout=30, **parameters):
        """Calls a method of the protocol and returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self._messages.get(timeout=max(0.001, deadline - time.monotonic()))
            if answer is None:
                raise RuntimeError("the browser has ended")
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self._events.append(answer)

    def events(self, session, *methods):
        """What a page has told so far: the parameters of these events."""
        return [
            event["params"]
            for event in self._events
            if event.get("sessionId") == session and event["method"] in methods
        ]

    def open(self, url, width=1280, height=900):
        """A new page with storage of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, target["targetId"], session["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.go(url)
        return page


class Page:
    """One tab."""

    def __init__(self, browser, target, session):
        self._browser = browser
        self._target = target
        self._session = session

    def call(self, method, **parameters):
        return self._browser.call(method, session=self._session, **parameters)

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)

    def problems(self):
        """Exceptions of the page, and what the browser has refused it."""
        thrown = self._browser.events(self._session, "Runtime.exceptionThrown")
        logged = self._browser.events(self._session, "Log.entryAdded")
        return [json.dumps(event["exceptionDetails"]) for event in thrown] + [
            event["entry"]["text"]
            for event in logged
            if event["entry"]["level"] == "error" and event["entry"]["source"] != "network"
        ]

    def requested(self):
        """The URLs that the page has asked for, itself included."""
        sent = self._browser.events(self._session, "Network.requestWillBeSent")
        return [event["request"]["url"] for event in sent]

    def value(self, expression):
        """The value of a JavaScript expression, or of its promise."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        """Waits until an expression is true, and returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.value(_ATTEMPT % expression)
            if value:
                return value
            if time.monotonic() > deadline:
                text = self.value("document.body.innerText")
                raise AssertionError(f"not in {seconds} s: {expression}\n{text}\n{self.problems()}")
            time.sleep(0.03)

    def text(self, selector):
        """What a reader sees of an element."""
        return self.value(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector):
        """A click of the mouse on the middle of an element, which must be visible and uncovered."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"{find}.checkVisibility() && !{find}.disabled")
        x, y = self.value(
            f"(() => {{ {find}.scrollIntoView({{block: 'center'}});"
            f" const b = {find}.getBoundingClientRect();"
            " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        hit = self.value(f"{find}.contains(document.elementFromPoint({x}, {y}))")
        assert hit, f"{selector} is covered"
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, modifiers=0):
        """A key: a character, or one of KEYS."""
        code, text = KEYS.get(key, (ord(key[0].upper()), key))
        if modifiers & CONTROL:
            text = ""
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, selector, text):
        """Replaces the text of a field, as a user does."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.value(f"{find}.focus(), {find}.select()")
        self.call("Input.insertText", text=text)

    def choose(self, selector, value):
        """Chooses an option of a select."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"[...{find}.options].some((o) => o.value === {json.dumps(value)})")
        self.value(
            f"{find}.value = {json.dumps(value)},"
            f" {find}.dispatchEvent(new Event('change', {{bubbles: true}}))"
        )

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, **features):
        """Media features, such as prefers_color_scheme="dark"."""
        self.call(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": name.replace("_", "-"), "value": value} for name, value in features.items()
            ],
        )

    def screenshot(self, path, height=None):
        """Writes a PNG of the window, or of so much of the page's height."""
        if height:
            self.resize(self.value("innerWidth"), height)
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
