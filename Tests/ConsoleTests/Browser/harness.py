"""The console in a browser, and the REST API of the same server."""

import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))

from browser import Browser  # noqa: E402

# Installed before the page's scripts. Records violations of the content security policy.
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective + ' ' + event.sourceFile));
"""


class REST:
    """The REST API with the master key, for creating and reading data."""

    def __init__(self, url, app, key):
        self.url, self.headers = url.rstrip("/"), {
            "X-Parse-Application-Id": app, "X-Parse-Master-Key": key, "Content-Type": "application/json"}

    def call(self, method, path, body=None, **query):
        url = self.url + path
        if query:
            url += "?" + urllib.parse.urlencode(
                {name: value if isinstance(value, str) else json.dumps(value) for name, value in query.items()})
        request = urllib.request.Request(
            url, None if body is None else json.dumps(body).encode(), self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as problem:
            return {"status": problem.code, **json.loads(problem.read() or b"{}")}

    def create(self, class_name, **values):
        return self.call("POST", f"/classes/{class_name}", values)["objectId"]

    def get(self, class_name, object_id):
        return self.call("GET", f"/classes/{class_name}/{object_id}")

    def update(self, class_name, object_id, **values):
        return self.call("PUT", f"/classes/{class_name}/{object_id}", values)

    def find(self, class_name, where=None, **query):
        return self.call("GET", f"/classes/{class_name}", where=where or {}, **query)["results"]

    def count(self, class_name, where=None):
        return self.call("GET", f"/classes/{class_name}", where=where or {}, count="1", limit="0")["count"]

    def define(self, class_name, **fields):
        self.call("DELETE", f"/purge/{class_name}")
        self.call("DELETE", f"/schemas/{class_name}")
        return self.call("POST", f"/schemas/{class_name}", {"className": class_name, "fields": fields})

    def sql(self, text):
        """Runs a statement, if the scenarios know the database."""
        return subprocess.run(["psql", "-XAtc", text, self.database], check=True, capture_output=True, text=True).stdout.strip()

    def create_many(self, class_name, rows):
        ids = []
        for start in range(0, len(rows), 200):
            answers = self.call("POST", "/batch", {"requests": [
                {"method": "POST", "path": f"{urllib.parse.urlparse(self.url).path}/classes/{class_name}", "body": row}
                for row in rows[start:start + 200]]})
            ids += [answer["success"]["objectId"] for answer in answers]
        return ids

    def insert(self, class_name, rows):
        """Stores rows unchanged, with ids and dates."""
        for start in range(0, len(rows), 1000):
            answer = self.call("POST", f"/import_data/{class_name}", rows[start:start + 1000])
            if "error" in answer:
                raise RuntimeError(answer["error"])


class Console:
    """The console in a separate browser."""

    def __init__(self, url, credentials):
        self.url, self.credentials = url.rstrip("/") + "/", credentials
        self.browser = Browser()
        call = self.browser.call
        call("Log.enable")
        call("Emulation.setFocusEmulationEnabled", enabled=True)
        call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_VIOLATIONS)
        self.size(1440, 900)
        self.press, self.type, self.wait = self.browser.press, self.browser.type, self.browser.wait
        self.value = self.browser.value

    def size(self, width, height, dark=False):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                          mobile=width < 600)
        self.browser.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, **query):
        """Opens a page, and signs in if necessary."""
        if query:
            path += "?" + urllib.parse.urlencode(
                {name: value if isinstance(value, str) else json.dumps(value) for name, value in query.items()})
        self.browser.open(self.url + path)
        self.wait("document.querySelector('main, .signin')")
        if self.value("document.querySelector('.signin') !== null"):
            self.sign_in()

    def sign_in(self):
        self.wait("document.querySelector('.signin input')")
        if "masterKey" in self.credentials and self.value("document.querySelector('[name=masterKey]') === null"):
            self.click_text("Use the master key")
        for name, value in self.credentials.items():
            self.browser.fill(f".signin [name={name}]", value)
        self.press("Enter")
        try:
            self.wait("document.querySelector('.signin') === null && document.querySelector('main')")
        except TimeoutError as problem:
            form = self.value("""[document.querySelector('.signin form')?.innerText, document.activeElement?.outerHTML.slice(0, 200),
                [...document.querySelectorAll('.signin input')].map(({ name, value }) => `${name}: ${value.length} characters`)]""")
            raise TimeoutError(f"{problem}; the form: {form}") from problem

    def open_class(self, class_name, **query):
        self.open("data/" + urllib.parse.quote(class_name), **query)
        self.wait("document.querySelector('r-grid .g-cell:not(:has(.g-wait)), .g-card .name, .state')")
        self.wait("document.querySelector('.state') || document.querySelector('r-grid').rows.isCounted")
        # The page's shortcuts are added after the rows.
        self.wait("document.querySelector('.state') || document.querySelector('r-grid').dataset.isReady")
        self.settle()

    def settle(self):
        """Waits until no requests are in progress."""
        self.value("new Promise((done) => requestIdleCallback(() => setTimeout(done, 60), { timeout: 2000 }))")

    def at(self, row, field):
        """Makes a cell active."""
        self.value(f"""(() => {{
            const grid = document.querySelector('r-grid');
            grid.focus();
            grid.moveTo({row}, grid.columns.findIndex(({{ name }}) => name === {json.dumps(field)}));
        }})()""")

    def cell(self, row, field):
        """Returns the text of a cell."""
        return self.value(f"""(() => {{
            const grid = document.querySelector('r-grid');
            return grid.cellElement({row}, grid.columns.findIndex(({{ name }}) => name === {json.dumps(field)}))?.innerText;
        }})()""")

    def edit(self, row, field, text, key="Enter"):
        """Types a value into a cell."""
        self.at(row, field)
        self.press("F2")
        self.wait("document.querySelector('.g-editor input')")
        self.value("document.querySelector('.g-editor input').select()")
        self.type(text)
        self.press(key)

    def click(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)})")
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def click_text(self, text, within="body"):
        """Clicks the element with this text."""
        condition = (f"[...document.querySelectorAll({json.dumps(within + ' button, ' + within + ' a')})]"
                     f".find((e) => e.textContent.trim() === {json.dumps(text)} || e.getAttribute('aria-label') === {json.dumps(text)})")
        self.wait(condition)
        self.value(condition + ".click()")

    def text(self, selector="body"):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def wait_text(self, text, selector="body", seconds=30):
        self.wait(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(text)})", seconds)

    def requests_before(self, text):
        """Returns the URLs requested before the first one that contains a text."""
        addresses = self.value("""performance.getEntriesByType('resource').sort((a, b) => a.startTime - b.startTime)
            .map(({ name }) => name)""")
        return addresses[:next(place for place, address in enumerate(addresses) if text in address)]

    def api(self, method, path, body=None):
        """Calls a console route with the page's session, and returns the status."""
        return self.value(f"""fetch(location.pathname.replace(/(data|schema|access|users|files|config|performance|health|settings|trash|audit|logs|cloud|push|rest|live|start)(\\/.*)?$/, '') + 'api/{path}', {{
            method: '{method}', headers: {{ 'X-Roost-Console': localStorage.getItem('roost.token'), 'Content-Type': 'application/json' }},
            body: {'undefined' if body is None else 'JSON.stringify(' + json.dumps(body) + ')'} }}).then((answer) => answer.status)""")

    def faults(self):
        """Returns script errors and policy violations since the last call."""
        found = [event["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception")
                 for event in self.browser.events if event.get("method") == "Runtime.exceptionThrown"]
        found += [event["params"]["entry"]["text"] for event in self.browser.events
                  if event.get("method") == "Log.entryAdded"
                  and any(policy in event["params"]["entry"]["text"] for policy in ("Content Security Policy", "Permissions-Policy"))]
        found += self.value("window.violations ?? []")
        if self.value("window.ran !== undefined"):
            found.append("a script of a stored text ran")
        self.browser.events = []
        return found

    def close(self):
        self.browser.close()
