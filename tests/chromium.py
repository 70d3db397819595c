"""Chromium without a window, driven through its DevTools pipe: JSON ended by NUL on file descriptors 3 and 4."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 60

# Puts the two pipes where Chromium looks for them, and becomes Chromium.
PLUMBING = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find():
    """Path of a Chromium, from $CHROMIUM or the search path; None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. Use as a context manager."""

    def __init__(self, path):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        command = (
            path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--disable-extensions", "--hide-scrollbars", f"--user-data-dir={self._profile.name}", "about:blank",
        )  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", PLUMBING, str(to_read), str(to_write), *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._numbers, self._rest, self._session = itertools.count(1), b"", None
        self.console, self.requests = [], []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self):
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        os.close(self._to)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)
        self._profile.cleanup()

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium said nothing for {SECONDS} s")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        method, about = event.get("method"), event.get("params", {})
        if method == "Log.entryAdded":
            self.console.append(about["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(str(about["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(about["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def open(self, path, *, width=1280, height=900, phone=False, dark=False, media=""):
        """Load a file and wait until it is drawn."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.evaluate("new Promise(done => { const look = () => document.readyState == 'complete' && "
                      "location.protocol == 'file:' ? requestAnimationFrame(() => requestAnimationFrame(done)) "
                      ": setTimeout(look, 20); look(); })")  # fmt: skip

    def evaluate(self, expression):
        """Value of a piece of JavaScript, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def screenshot(self, path):
        """Picture of the whole page, below the fold, too."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def pdf(self, path):
        """The page as it is printed."""
        Path(path).write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
