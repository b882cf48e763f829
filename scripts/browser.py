"""Drives a headless Chromium over pipes with the DevTools protocol, without a driver or a library.

As a program it serves commands on loopback, for the tests: `browser.py FOLDER` writes its port to FOLDER/port. A command
is a JSON object in the body of a POST, such as {"do": "open", "url": "http://…"}. The response describes the page.
"""

import base64
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time


NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable",
         "/Applications/Chromium.app/Contents/MacOS/Chromium",
         "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def find():
    """Returns the path of the browser, or exits if none is installed."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if not program:
        sys.exit(f"browser: Chromium not found; looked for {', '.join(NAMES)}. scripts/test_libraries.sh installs it "
                 "where there is apt-get; else install one by hand (snap install chromium, dnf install chromium, "
                 "apk add chromium, brew install --cask chromium)")
    return program


class Browser:
    """One browser with one page."""

    def __init__(self):
        program = find()
        self.folder = tempfile.mkdtemp(prefix="roost-browser-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def connect():
            # The browser reads commands from descriptor 3 and writes responses to 4.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
             "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={self.folder}",
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=connect, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.buffer = b""
        self.events = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(domain + ".enable")

    session = None

    def read(self, deadline):
        """Returns the browser's next message."""
        while b"\0" not in self.buffer:
            if time.monotonic() > deadline:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.input, 1 << 20)
            if not more:
                raise EOFError("the browser ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """Calls a method of the protocol and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 30
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Records an event. Closes dialogs opened by scripts."""
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":
            self.number += 1
            os.write(self.output, json.dumps({
                "id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True},
                "sessionId": self.session}).encode() + b"\0")

    def wait_for_load(self):
        """Waits until a page and its resources are loaded."""
        deadline = time.monotonic() + 30
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.note(self.read(deadline))

    def value(self, expression):
        """Returns the value of an expression in the page. Awaits promises."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def state(self):
        """Returns the state of the page and the requests since it was opened."""
        shown = self.value("""({
            url: location.href, title: document.title, language: document.documentElement.lang,
            page: document.querySelector('meta[name=page]')?.content ?? '', text: document.body?.innerText ?? '',
            scripts: document.scripts.length, ran: window.ran ?? false,
            inputs: Object.fromEntries([...document.querySelectorAll('input')].map(i => [i.name, i.value])),
            style: document.styleSheets.length, background: getComputedStyle(document.body).backgroundColor,
        })""")
        requests = [event["params"]["request"] for event in self.events
                    if event.get("method") == "Network.requestWillBeSent"]
        # Browsers request an icon on their own at any time.
        requests = [request for request in requests if not request["url"].endswith("/favicon.ico")]
        shown["requests"] = [request["url"] for request in requests]
        shown["referrers"] = [value for request in requests for name, value in request["headers"].items()
                              if name.lower() == "referer" and value]
        shown["dialogs"] = sum(event.get("method") == "Page.javascriptDialogOpening" for event in self.events)
        return shown

    def open(self, url):
        """Opens a URL."""
        self.events = []
        self.call("Page.navigate", url=url)
        self.wait_for_load()
        return self.state()

    def fill(self, selector, text):
        """Focuses a field and inserts text."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks an element, and waits for the page that opens."""
        self.events = []
        place = self.value(f"""(() => {{
            const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        self.wait_for_load()
        return self.state()

    def look(self, width, dark=False):
        """Returns a screenshot, and whether the page is wider than the window."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=640 if width < 600 else 720,
                  deviceScaleFactor=1, mobile=width < 600)
        is_wide = self.value("document.documentElement.scrollWidth > window.innerWidth")
        picture = self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(picture["data"]), is_wide

    KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39,
            "Delete": 46, "End": 35, "Home": 36, "PageDown": 34, "PageUp": 33, "F2": 113, "Backspace": 8, " ": 32}
    MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

    def press(self, *combinations):
        """Presses keys, such as "Enter" or "Control+Shift+End"."""
        for combination in combinations:
            *held, key = combination.split("+") if combination != "+" else ["+"]
            key = " " if key == "Space" else key
            modifiers = sum(self.MODIFIERS[name] for name in held)
            code = self.KEYS.get(key) or ord(key.upper())
            text = "\r" if key == "Enter" else key if len(key) == 1 and not modifiers & 7 else None
            event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        """Inserts text into the focused element."""
        self.call("Input.insertText", text=text)

    NAVIGATIONS = ("Inspected target navigated or closed", "Execution context was destroyed",
                   "Cannot find default execution context")

    def wait(self, condition, seconds=30):
        """Waits until an expression is true in the page, and returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                value = self.value(f"(() => {{ const v = ({condition}); return v instanceof Node ? true : v; }})()")
            except RuntimeError as problem:
                # Evaluation fails during a navigation. The next page can evaluate the expression.
                if not any(text in str(problem) for text in self.NAVIGATIONS):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > deadline:
                raise TimeoutError(f"this did not become true: {condition}")
            time.sleep(0.01)

    def close(self):
        """Kills the browser and all its processes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def serve(folder):
    """Serves commands until FOLDER/stop exists or the parent process ends."""
    browser = Browser()

    class Commands(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            command = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = command.pop("do")
            try:
                if name == "look":
                    _, is_wide = browser.look(**command)
                    answer = {"isWide": is_wide}
                else:
                    answer = getattr(browser, name)(**command) or {}
            except Exception as problem:
                answer = {"problem": f"{type(problem).__name__}: {problem}"}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Commands)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(folder + "/port.new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(folder + "/port.new", folder + "/port")
    parent = os.getppid()
    while os.getppid() == parent and not os.path.exists(folder + "/stop"):
        time.sleep(0.1)
    browser.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--find"]:
        print(find())
    else:
        serve(sys.argv[1])
