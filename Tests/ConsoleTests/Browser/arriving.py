"""Scenarios of the first visit: tickets, and the time to the first rows, compared with a bare page of the same server."""

import json
import subprocess
import time
import urllib.error
import urllib.request

# Installed before the page's scripts. Records when rows appear.
NOTE_ROWS = """
new MutationObserver((_, observer) => {
    if (!document.querySelector('r-grid .g-cell:not(:has(.g-wait))')) return;
    window.rowsAt = performance.now();
    observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def arrive(console, rest):
    """Signs in with a ticket."""
    if getattr(console, "has_arrived", False):
        return
    console.browser.open(f"{console.url}#ticket={rest.ticket}")
    console.wait("document.querySelector('main, .signin')")
    assert console.value("document.querySelector('.signin')") is None
    assert console.value("location.hash") == ""
    console.has_arrived = True


def first(console, rest, count=300):
    """Creates a class with rows, and records when the browser shows them."""
    arrive(console, rest)
    rest.define("First", name={"type": "String"})
    rest.create_many("First", [{"name": f"hello {number}"} for number in range(count)])
    if not getattr(console, "notes_rows", False):
        console.browser.call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_ROWS)
        console.notes_rows = True


def first_paint(console, url):
    """Returns the milliseconds until a page's first paint."""
    console.browser.open(url)
    return max(1, console.wait("performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))


def within(budgets, attempts, measure):
    """Measures repeatedly until each time has been within its budget once, because other processes slow down some attempts.

    `budgets` has the milliseconds by name, and a multiple of a bare page's time that is also accepted. `measure` returns
    the bare page's time and the times by name."""
    least = {}
    for _ in range(attempts):
        bare, times = measure()
        for name, (most, ratio) in budgets.items():
            least[name] = min(least.get(name, (float("inf"), "")), (times[name] / max(most, ratio * bare), f"{times[name]:.0f} ms beside {bare:.0f} ms"))
        if all(share < 1 for share, _ in least.values()):
            return
    raise AssertionError(f"shares of the budget: {json.dumps(least)}")


def scenario_empty_project_opens_the_start_page_and_shows_a_connected_app(console, rest):
    if console.credentials:
        return
    for name in [one["className"] for one in rest.call("GET", "/schemas")["results"] if not one["className"].startswith("_")]:
        rest.call("DELETE", f"/purge/{name}")
        rest.call("DELETE", f"/schemas/{name}")
    arrive(console, rest)
    console.browser.open(console.url)
    console.wait_text("Server URL", "main")
    assert console.value("location.pathname").endswith("/console/start")
    # The server listens on loopback, so phones can't reach it.
    console.wait_text("Only this machine reaches the server", "main")
    assert console.value("document.querySelector('main .qr')") is None
    app = rest.headers["X-Parse-Application-Id"]
    console.value("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.written = text; } } })")
    console.value("[...document.querySelectorAll('main tr')].find((row) => row.innerText.includes('Application id')).querySelector('button').click()")
    assert console.wait("window.written") == app
    console.value("[...document.querySelectorAll('main tr')].find((row) => row.innerText.includes('Client key')).querySelector('button').click()")
    console.wait("window.written === 'client key'")
    for name in ("Swift (Parse iOS SDK)", "Parse-Swift", "Kotlin (Android)", "JavaScript", "Flutter", "curl"):
        console.click_text(name, "main")
        code = console.text("main pre.code")
        assert app in code and rest.headers["X-Parse-Master-Key"] not in code and "master" not in code.lower(), code
    # The server serves the documents as pages.
    documents = console.value("""Promise.all([...document.querySelectorAll('main a[target]')].map(async ({ href }) => {
        const answer = await fetch(href);
        return [answer.status, answer.headers.get('content-type'), (await answer.text()).slice(0, 2)];
    }))""")
    assert documents == 4 * [[200, "text/html; charset=utf-8", "<!"]], documents
    console.wait_text("Waiting for an app's first request", "main")
    # Requests of the console and with the master key don't count as an app.
    rest.call("GET", "/classes/Note")
    fields = {"X-Parse-Application-Id": app, "X-Parse-REST-API-Key": rest.client_key, "X-Parse-Client-Version": "i5.1.1"}
    urllib.request.urlopen(urllib.request.Request(rest.url + "/classes/Note", headers=fields), timeout=60).close()
    console.wait_text("Connected: iOS SDK", "main")
    assert "REST API" not in console.text("main"), console.text("main")
    try:
        urllib.request.urlopen(urllib.request.Request(rest.url + "/classes/Note", headers={**fields, "X-Parse-REST-API-Key": "wrong"}), timeout=60)
        raise AssertionError("the server accepts a wrong key")
    except urllib.error.HTTPError as problem:
        assert problem.code == 403, problem
    console.wait_text("The last request reached the server, but failed: wrong application id or key", "main .notice")
    assert console.value("document.querySelector('main .notice a').pathname").endswith("/logs")
    # The displayed command is an app, too.
    console.click_text("curl", "main")
    command = console.text("main pre.code")
    curl = lambda: json.loads(subprocess.run(["sh", "-c", command], check=True, capture_output=True, timeout=60).stdout)
    assert "/classes/_User'" in command and "results" in curl(), command
    console.wait_text("Connected: REST API", "main")
    # Without a class, the data page redirects here.
    console.open("data")
    console.click_text("Connect an app", ".content")
    console.wait_text("Connected: iOS SDK", "main")
    # The server has no such key.
    assert "CLIENT_KEY" not in console.text("main"), console.text("main")
    console.click_text("JavaScript", "main")
    assert console.text("main pre.code").startswith("// Set the option javascriptKey, and write its value for JAVASCRIPT_KEY.\n"), console.text("main")
    console.click_text("Kotlin (Android)", "main")
    assert console.text("main pre.code").startswith("// In the emulator, write 10.0.2.2 for "), console.text("main")
    console.click_text("Load the sample", "main")
    console.wait("location.pathname.endsWith('/console/data/Note')")
    console.wait_text("Milk", "r-grid")
    try:
        request = urllib.request.Request(rest.url + "/classes/Note", headers=fields)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert len(json.loads(answer.read())["results"]) == 3
        console.open("start")
        console.wait_text("Connected: iOS SDK", "main")
        console.click_text("curl", "main")
        command = console.text("main pre.code")
        assert sorted(note["text"] for note in curl()["results"]) == ["Apples", "Bread", "Milk"], command
        assert "sample" not in console.text("main") and "failed" not in console.text("main"), console.text("main")
    finally:
        rest.call("DELETE", "/purge/Note")
        rest.call("DELETE", "/schemas/Note")


def scenario_start_page_creates_and_imports_classes_and_invites_operators(console, rest):
    if console.credentials:
        return
    arrive(console, rest)
    for name in ("Begun", "Fetched"):
        rest.call("DELETE", f"/purge/{name}")
        rest.call("DELETE", f"/schemas/{name}")
    for words, name in (("Create a class", "Begun"), ("Import CSV or JSON", "Fetched")):
        console.open("start")
        console.click_text(words, "main")
        console.wait("document.querySelector('dialog input')")
        console.type(name)
        console.press("Control+Enter")
        if name == "Fetched":
            console.wait("document.querySelector('dialog input[type=file]')")
            console.press("Escape")
        console.wait(f"location.pathname.endsWith('/console/data/{name}')")
    assert rest.call("GET", "/schemas/Begun")["classLevelPermissions"]["update"] == {"pointerFields": ["owner"]}
    assert rest.call("GET", "/schemas/Fetched")["classLevelPermissions"]["update"] == {}
    console.open("start")
    console.click_text("Invite an operator", "main")
    console.wait_text("New operator", "dialog")
    console.press("Escape")
    for name in ("Begun", "Fetched"):
        rest.call("DELETE", f"/schemas/{name}")


def scenario_documents_open_as_pages(console, rest):
    if console.credentials:
        return
    arrive(console, rest)
    console.open("start")
    console.wait("document.querySelector('main a[href$=\"/docs/security.md\"]')")
    console.browser.open(console.value("document.querySelector('main a[href$=\"/docs/security.md\"]').href"))
    console.wait("document.querySelector('h1')?.innerText === 'Security'")
    assert not console.value("/<!--|\\]\\(|\\*\\*/.test(document.body.innerText)")
    console.value("document.querySelector('a[href^=\"configuration.md\"]').click()")
    console.wait("document.querySelector('h1')?.innerText === 'Configuration'")


def scenario_35_empty_pages_show_what_to_do(console, rest):
    if console.credentials:
        return
    arrive(console, rest)
    pages = {"data/Missing": "There is no class Missing", "schema/Missing": "There is no class Missing", "access": "see its permissions", "users/roles": "Create the first one",
             "users/sessions": "Connect an app", "users/installations": "Connect an app", "files": "They can also be uploaded here", "files?text=none": "Try a shorter text",
             "audit?class=None": "Remove a filter", "config": "New parameter", "cloud": "docs/cloud-code.md", "cloud/triggers": "docs/cloud-code.md",
             "cloud/jobs": "docs/cloud-code.md", "cloud/hooks": "New webhook", "push": "Set the option push", "trash": "deleted in the console"}
    for path, words in pages.items():
        console.open(path)
        console.wait_text(words, "main")
    console.open("users")
    console.wait("document.querySelector('main input[type=search]')")
    console.press("/")
    console.type("nobody at all")
    console.wait_text("Try a shorter text", "main")


def scenario_live_queries_work_with_the_liveQuery_option_alone(console, rest):
    """The server sets liveQuery, but not startLiveQueryServer."""
    if console.credentials:
        return
    first(console, rest, 1)
    console.open("live")
    console.wait_text("Nobody is connected", "main")
    assert "option" not in console.text("main .state"), console.text("main")
    console.value("""new Promise((done, failed) => {
        const socket = window.socket = new WebSocket(location.origin.replace('http', 'ws') + '/parse');
        socket.onopen = () => socket.send(JSON.stringify({ op: 'connect', applicationId: %s, restAPIKey: %s }));
        socket.onmessage = ({ data }) => {
            const { op, error } = JSON.parse(data);
            if (op === 'connected') socket.send(JSON.stringify({ op: 'subscribe', requestId: 1, query: { className: 'First', where: {} } }));
            else if (op === 'subscribed') done();
            else failed(new Error(error));
        };
        socket.onerror = () => failed(new Error('no socket'));
    })""" % (json.dumps(rest.headers["X-Parse-Application-Id"]), json.dumps(rest.client_key)))
    console.wait_text("all of First", "main")


def scenario_78_leaves_console_requests_out_of_the_routes(console, rest):
    if console.credentials:
        return
    arrive(console, rest)
    rest.call("GET", "/nowhere")
    console.open("performance")
    console.wait_text("other paths", ".performance")
    assert "operators" not in console.text(".performance"), console.text(".performance")


def scenario_02_root_shows_rows_after_signing_in_with_a_ticket(console, rest):
    if console.credentials:
        return
    first(console, rest)

    def measure():
        bare = first_paint(console, console.url + "a/none")
        console.browser.call("Network.clearBrowserCache")
        console.browser.open(console.url.removesuffix("console/"))
        console.wait("window.rowsAt")
        assert console.value("location.pathname").endswith("/console/data/First")
        assert console.value("document.querySelector('.signin')") is None
        assert console.cell(0, "name").startswith("hello")
        return bare, {"rows": console.value("window.rowsAt")}

    within({"rows": (2000, 20)}, 4, measure)


def scenario_02_data_page_shows_the_class_list(console, rest):
    if console.credentials:
        return
    first(console, rest)
    # Without a class, the data page opens the last one. On a phone it shows the list.
    console.open("data/_User")
    console.wait_text("_User", ".content")
    console.click("nav [href$='/console/schema']")
    console.wait_text("Diagram", "main")
    console.click("nav [href$='/console/data']")
    console.wait("location.pathname.endsWith('/console/data/_User')")
    console.size(375, 667)
    try:
        console.browser.open(console.url)
        console.wait_text("First", ".classes")
        console.settle()
        assert console.value("location.pathname").endswith("/console/data")
    finally:
        console.size(1440, 900)
    # A class without objects shows the first steps.
    rest.call("DELETE", "/purge/First")
    console.browser.open(console.url)
    console.wait_text("No objects yet", ".content")


def scenario_80_page_and_rows_load_within_the_time_budget(console, rest):
    if console.credentials:
        return
    first(console, rest)
    console.open_class("First")

    def measure():
        bare = first_paint(console, console.url + "a/none")
        console.browser.call("Network.clearBrowserCache")
        times = {"paint": first_paint(console, console.url + "data/First")}
        times["cold rows"] = console.wait("window.rowsAt")
        console.browser.open(console.url + "data/First")
        times["warm rows"] = console.wait("window.rowsAt")
        return bare, times

    within({"paint": (300, 8), "cold rows": (700, 16), "warm rows": (350, 8)}, 6, measure)


# The times of a key press, of the next frame, and of the message.
NOTE_SAVE = """(() => {
    window.saved = {};
    addEventListener('keydown', ({ key, timeStamp }) => {
        if (key !== 'Enter') return;
        saved.key = timeStamp;
        requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => { saved.frame = performance.now() - timeStamp; };
            port2.postMessage(0);
        });
    }, true);
    new MutationObserver((_, observer) => {
        if (saved.key === undefined || !document.querySelector('.toasts')?.textContent.includes('saved')) return;
        saved.message = performance.now() - saved.key;
        observer.disconnect();
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
})()"""


def scenario_80_edit_is_shown_and_saved_within_the_time_budget(console, rest):
    if console.credentials:
        return
    first(console, rest, 40)
    object_id = rest.create("First", name="changed")

    def measure():
        began = time.monotonic()
        rest.update("First", object_id, name="changed")
        bare = 1000 * (time.monotonic() - began)
        console.open_class("First")
        console.value(NOTE_SAVE)
        console.edit(0, "name", f"stored {time.time_ns()}")
        console.wait("window.saved.message && window.saved.frame")
        return bare, console.value("window.saved")

    within({"frame": (50, 20), "message": (100, 20)}, 6, measure)
    assert rest.get("First", object_id)["name"].startswith("stored")
