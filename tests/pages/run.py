"""Opens HTML reports in a headless Chromium: no errors, rows expand, a click shows a region, the search finds, names are no markup.

    tests/pages/run.py target/debug/magneton-ir [--keep FOLDER]

Screenshots are kept in FOLDER. Without Chromium, which Debian has as `chromium`, this says so and checks nothing. The browser
is driven through its own protocol over a pipe, so that nothing else is needed.
"""

import argparse
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
TIMEOUT_S = 60
MAX_BYTES = 5_000_000
MAX_PAINT_MS = 2_000

MARKUP = "<img src=x onerror=window.wrong=1><!--'&"
HOSTILE = """graph g(x: f32[64, 64]) {{
  y = relu({x}) @ "{m}.py":3 fn "{m}" code "{m}" in "{m}.{m}"
  return y
}}
"""

ROWS = "document.querySelectorAll('#tree .row').length"
EXPAND = """for (let i = 0; i < 3; i++)
  for (const row of [...document.querySelectorAll('#tree .row[aria-expanded="false"]')].slice(0, 20)) row.click();"""
OPEN = "[...document.querySelectorAll('#tree .row:not([aria-expanded])')].at(-1)?.click()"
SEARCH = """{ const field = document.querySelector('#search'); field.value = 'no such operator';
  field.dispatchEvent(new Event('input')); }"""


class Browser:
    """A Chromium that takes messages over a pipe, ended by a zero byte each."""

    def __init__(self, program, profile):
        to_it, self.out = os.pipe()
        self.into, from_it = os.pipe()

        def pipes():
            # The browser reads from 3 and writes to 4.
            first, second = os.dup(to_it), os.dup(from_it)
            os.dup2(first, 3)
            os.dup2(second, 4)

        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            [program, *options, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it)
        os.close(from_it)
        self.number, self.rest, self.events = 0, b"", []

    def message(self):
        end = time.monotonic() + TIMEOUT_S
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.into], [], [], max(0, end - time.monotonic()))
            data = os.read(self.into, 1 << 16) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self.rest += data
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.message())

    def errors(self):
        """What pages have complained about so far."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"]["text"])
        return found

    def close(self):
        try:
            self.call("Browser.close")
        finally:
            self.process.wait(TIMEOUT_S)


class Page:
    """A report that is open, `width` pixels wide."""

    def __init__(self, browser, file, width, scheme):
        self.browser = browser
        browser.events.clear()
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log"]:
            self.call(f"{domain}.enable")
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=media)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Page.navigate", url=file.resolve().as_uri())
        browser.wait_for("Page.loadEventFired")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def value(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1}
        data = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))


def check(browser, file, folder):
    """What is wrong with a page, in words."""
    wrong = []
    for width, scheme in [(1200, "light"), (1200, "dark"), (400, "light")]:
        page = Page(browser, file, width, scheme)
        page.screenshot(folder / f"{file.stem}-{width}-{scheme}.png")
        if page.value("document.documentElement.scrollWidth > window.innerWidth"):
            wrong.append(f"wider than {width} pixels")
        if page.value("Boolean(window.wrong) || document.images.length > 0"):
            wrong.append("a name became markup")
        if (paint := page.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")) > MAX_PAINT_MS:
            wrong.append(f"first paint after {paint:.0f} ms")
        if page.value("Boolean(document.querySelector('#tree'))"):
            before = page.value(ROWS)
            page.value(EXPAND)
            if before == 0 or page.value(ROWS) < before:
                wrong.append(f"{before} rows, {page.value(ROWS)} when expanded")
            page.value(OPEN)
            if not page.value("document.querySelector('#panel').open"):
                wrong.append("a click opens nothing")
            page.screenshot(folder / f"{file.stem}-{width}-{scheme}-open.png")
            page.value("document.querySelector('#panel').close()")
            page.value(SEARCH)
            time.sleep(0.5)
            if page.value(ROWS) >= before and before > 1:
                wrong.append("the search leaves everything")
        wrong += browser.errors()
    if file.stat().st_size > MAX_BYTES:
        wrong.append(f"{file.stat().st_size} bytes")
    return wrong


def reports(command, folder):
    """Pages of all kinds: of models, of a different pair, and of graphs whose names hold markup."""
    exports = Path(__file__).parents[2] / "corpus/exports"
    hostile = [folder / f"{MARKUP.replace('/', '')}{side}.mir" for side in "ab"]
    hostile[0].write_text(HOSTILE.format(x="x", m=MARKUP))
    hostile[1].write_text(HOSTILE.format(x="relu(x)", m=MARKUP))
    different = [folder / "different-a.mir", folder / "different-b.mir"]
    different[0].write_text("graph g(x: f32[8]) { y = exp(x) z = add(y, x) return z }")
    different[1].write_text("graph g(x: f32[8]) { y = exp(x) z = sub(y, x) return z }")
    pairs = {name: [exports / f"{name}-{side}.pt2" for side in ["eager", "sdpa"]] for name in ["gpt2", "llama3-405b"]}
    pairs |= {"hostile": hostile, "different": different}
    commands = {name: ["check", *pair] for name, pair in pairs.items()}
    commands["explain"] = ["explain", *hostile, "1"]
    commands["optimize"] = ["optimize", pairs["gpt2"][1]]
    for name, words in commands.items():
        file = folder / f"{name}.html"
        words = [str(word) for word in [command, *words, "--format", "html", "--report", file]]
        run = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
        assert run.returncode in (0, 1) and file.exists(), words
        yield file


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", type=Path)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("SKIPPED: no Chromium here, pages are not opened")
        return
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        keep = arguments.keep or folder
        keep.mkdir(parents=True, exist_ok=True)
        browser = Browser(program, folder / "profile")
        try:
            for file in reports(arguments.command.resolve(), folder):
                wrong = check(browser, file, keep)
                print(f"{file.stem}: {'; '.join(wrong) if wrong else 'ok'}")
                failed |= bool(wrong)
        finally:
            browser.close()
    sys.exit(failed)


if __name__ == "__main__":
    main()
