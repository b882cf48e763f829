"""Scenarios of protection: other ports, frames, later users of the browser, roles, guessing."""

import http.server
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from signing_in import browser_of_new, in_a_browser_of, new_operator


class OtherPort:
    """A server on another port of this machine that records the browser's cookies, and can set one."""

    def __init__(self, console):
        outer = self
        self.cookies, self.planted = [], None

        class Pages(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.cookies.append(self.headers.get("Cookie") or "")
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                if outer.planted:
                    self.send_header("Set-Cookie", outer.planted)
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>other</title><p>a page of another port")

            def log_message(self, *_):
                pass

        host = urllib.parse.urlparse(console.url).hostname
        self.server = http.server.ThreadingHTTPServer((host, 0), Pages)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        # Below the cookie's path.
        self.url = f"http://{host}:{self.server.server_address[1]}/console/other"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def status_of(url, method="GET", body=None, **headers):
    """Returns the status of a request with stolen credentials."""
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as problem:
        return problem.code


ATTACK = """(async () => {
    const api = %s, id = %s;
    const own = { credentials: 'include' };
    const outcome = (attempt) => attempt.then(async (answer) => answer.type === 'opaque' ? 'opaque' : `${answer.status} ${await answer.text()}`, () => 'refused');
    const json = { 'Content-Type': 'application/json', 'X-Roost-Console': '0'.repeat(64) };
    const change = JSON.stringify({ name: 'changed' });
    const found = await Promise.all([
        outcome(fetch(api + 'parse/classes/Kept', own)),
        outcome(fetch(api + 'session', own)),
        outcome(fetch(api + 'parse/classes/Kept/' + id, { ...own, method: 'PUT', headers: json, body: change })),
        outcome(fetch(api + 'session', { ...own, method: 'DELETE' })),
        outcome(fetch(api + 'parse/classes/Kept', { ...own, mode: 'no-cors', method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: change })),
        outcome(fetch(api + 'session', { ...own, mode: 'no-cors', method: 'POST', body: '{}' })),
    ]);
    const form = document.createElement('form');
    const frame = document.createElement('iframe');
    frame.name = 'answer';
    Object.assign(form, { method: 'POST', action: api + 'parse/classes/Kept', target: 'answer', enctype: 'text/plain' });
    const field = document.createElement('input');
    Object.assign(field, { name: '{"name":"', value: 'changed"}' });
    form.append(field);
    document.body.append(frame, form);
    await new Promise((done) => { frame.onload = done; form.submit(); });
    found.push(await new Promise((done) => {
        // What answers sockets is for apps and knows no cookie: who has nothing else is refused.
        const socket = new WebSocket(api.replace('http', 'ws') + 'live');
        socket.onopen = () => socket.send(JSON.stringify({ op: 'connect', applicationId: 'none' }));
        socket.onmessage = ({ data }) => done(JSON.parse(data).op === 'error' ? 'refused' : data);
        socket.onerror = socket.onclose = () => done('refused');
    }));
    return found;
})()"""


def scenario_11_rejects_requests_from_another_port(console, rest):
    if not console.credentials:
        return
    rest.define("Kept", name={"type": "String"})
    object_id = rest.create("Kept", name="as it was")
    console.open_class("Kept")
    api = console.url + "api/"
    name = f"roost_console_{urllib.parse.urlparse(console.url).port}"
    with OtherPort(console) as other:
        console.browser.open(other.url)
        found = console.value(ATTACK % (json.dumps(api), json.dumps(object_id)))
        assert set(found) <= {"refused", "opaque"}, found
        # The other server got the cookie, and can't use it.
        stolen = next((cookie for cookie in other.cookies if name in cookie), None)
        assert stolen, other.cookies
        for token in (None, "0" * 64):
            fields = {"Cookie": stolen, "Content-Type": "application/json", **({"X-Roost-Console": token} if token else {})}
            assert status_of(api + "session", **fields) == 401
            assert status_of(api + "parse/classes/Kept", **fields) == 401
            assert status_of(api + "parse/classes/Kept/" + object_id, "PUT", b'{"name":"changed"}', **fields) == 401
            assert status_of(api + "parse/classes/Kept", "POST", b'{"name":"changed"}', **fields) == 401
        # None of this has ended the session.
        console.browser.open(console.url + "data/Kept")
        console.wait("document.querySelector('r-grid .g-cell:not(:has(.g-wait))')")
        # A planted cookie grants no access, even with the page's token.
        other.planted = f"{name}={'0' * 64}; Path=/console"
        console.browser.open(other.url)
        other.planted = None
        console.browser.open(console.url + "data/Kept")
        console.wait("document.querySelector('.signin input')")
        assert "as it was" not in console.text()
        console.sign_in()
    assert [row["name"] for row in rest.find("Kept")] == ["as it was"]
    console.open("data")


def scenario_01_explains_to_remote_browsers_how_to_open_the_console(console, rest):
    call = console.browser.call
    call("Network.setExtraHTTPHeaders", headers={"X-Forwarded-For": "203.0.113.9"})
    try:
        console.browser.open(console.url)
        assert console.value("document.querySelector('h1').innerText") == "The console is open to this machine only"
        said = console.text()
        assert '"enabled": true' in said and rest.headers["X-Parse-Application-Id"] not in said, said
        assert console.value("document.scripts.length") == 0 and console.value("document.querySelector('form, .signin') === null")
    finally:
        call("Network.setExtraHTTPHeaders", headers={})
    console.open("data")
    console.wait("document.querySelector('.classes a')")


def scenario_12_cannot_be_framed_by_another_page(console, rest):
    with OtherPort(console) as other:
        console.browser.open(other.url)
        for url, is_shown in ((other.url, True), (console.url, False), (console.url + "data/Track", False)):
            console.value(f"""new Promise((done) => {{
                const frame = document.createElement('iframe');
                frame.onload = done;
                frame.src = {json.dumps(url)};
                document.body.replaceChildren(frame);
            }})""")
            frames = console.browser.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
            # The browser shows its own error page in the frame.
            assert len(frames) == 1 and (frames[0]["frame"]["url"] == url) == is_shown, (url, frames)
    console.open("data")


def scenario_06_browser_keeps_no_copy_of_the_master_key(console, rest):
    key = console.credentials.get("masterKey")
    if not key:
        return
    other = in_a_browser_of(console, masterKey=key)
    try:
        other.sign_in()
        other.settle()
        sent = [event for event in other.browser.events if event.get("method") == "Network.requestWillBeSent" and key in json.dumps(event)]
        assert len(sent) == 1 and sent[0]["params"]["request"]["url"].endswith("/api/session"), sent
        for path in ("data", "settings", "users"):
            other.open(path)
            other.wait("document.querySelector('main h1, main .classes')")
            other.settle()
            kept = other.value("""(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href,
                window.name, document.documentElement.outerHTML, [...document.querySelectorAll('input')].map((input) => input.value),
                performance.getEntriesByType('resource').map(({ name }) => name), await indexedDB.databases(), await caches.keys()]))()""")
            assert "roost.token" in kept and key not in kept, path
        cookies = other.browser.call("Network.getCookies", urls=[console.url])["cookies"]
        assert cookies and key not in json.dumps(cookies), cookies
        assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies), cookies
    finally:
        other.close()


def scenario_14_saves_a_typed_value_after_an_idle_session_signs_in_again(console, rest):
    if not rest.database or not console.credentials:
        return
    rest.define("Idle", name={"type": "String"})
    object_id = rest.create("Idle", name="before")
    with browser_of_new(console, "editor") as (name, other):
        other.open_class("Idle")
        other.at(0, "name")
        other.press("F2")
        other.wait("document.querySelector('.g-editor input')")
        other.value("document.querySelector('.g-editor input').select()")
        other.type("after")
        rest.sql("UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() - interval '12 hours 1 minute' WHERE name = '" + name + "'")
        other.press("Enter")
        other.wait_text("What you were doing is still here.", ".signin")
        assert rest.get("Idle", object_id)["name"] == "before"
        other.sign_in()
        # The page may notice before the key is pressed.
        if other.value("document.querySelector('.g-editor input') !== null"):
            other.value("document.querySelector('.g-editor input').focus()")
            other.press("Enter")
        other.wait_text("saved", ".toasts")
        assert rest.get("Idle", object_id)["name"] == "after"


# The labels of actions that change something.
WRITES = ("New", "Delete", "Edit ", "Set ", "Change", "Upload", "Import", "Restore", "Create", "Lock out", "Add ", "End the session", "Fix", "Call",
          "Send", "Start", "Remove ", "Save", "Hide fields")


def scenario_15_pages_offer_viewers_no_changes(console, rest):
    if not console.credentials:
        return
    rest.define("Looked", name={"type": "String"}, file={"type": "File"})
    object_id = rest.create("Looked", name="as it is")
    gone = rest.create("Looked", name="gone")
    console.open("data")
    assert console.api("DELETE", f"parse/classes/Looked/{gone}") == 200
    user = rest.call("POST", "/users", {"username": f"looked{time.time_ns()}", "password": "secret"})["objectId"]
    role = rest.call("POST", "/roles", {"name": f"Looked{time.time_ns()}", "ACL": {}})["objectId"]
    with browser_of_new(console, "viewer") as (_, other):
        for path in ("data/Looked", f"data/Looked/{object_id}", "schema", "schema/Looked", "access/Looked", "users", "users/roles", "users/sessions",
                     f"users/user/{user}", f"users/role/{role}", "users/installations", "files", "config", "performance", "trash", "trash/Looked", "audit"):
            other.open(path)
            other.wait("document.querySelector('main h1')")
            other.settle()
            offered = other.value("[...document.querySelectorAll('main button, main a')].filter((e) => e.checkVisibility() && !e.closest('tbody th')).map((e) => (e.getAttribute('aria-label') ?? e.textContent).trim())")
            assert [words for words in offered if words.startswith(WRITES)] == [], (path, offered)
        other.open_class("Looked")
        other.click(".content [aria-label='More actions']")
        other.wait("document.querySelector('.menu')")
        assert not [words for words in ("Import", "Delete", "Set a field") if words in other.text(".menu")], other.text(".menu")
        # The first steps with data are for developers.
        other.open("start")
        other.wait_text("Server URL", "main")
        assert "Add data" not in other.text("main"), other.text("main")
        # Pages for developers don't open, and say why.
        other.open("health")
        other.wait_text("Your role is viewer", "main")
        assert "For developers and owners." in other.text("main"), other.text("main")
        assert other.value("location.pathname").endswith("/health"), other.value("location.pathname")
        assert other.faults() == []


def scenario_19_audit_shows_changes_and_links_to_the_objects(console, rest):
    if not console.credentials:
        return
    # Earlier runs left entries.
    name_of_class = f"Audited{time.time_ns()}"
    rest.define(name_of_class, name={"type": "String"}, n={"type": "Number"})
    console.open("data")
    ids = [rest.create(name_of_class, name=f"n{number}") for number in range(3)]
    for number, object_id in enumerate(ids):
        assert console.api("PUT", f"parse/classes/{name_of_class}/{object_id}", {"name": f"changed {number}"}) == 200
    assert console.api("POST", "parse/batch", {"requests": [{"method": "DELETE", "path": f"/classes/{name_of_class}/{ids[2]}"}]}) == 200
    assert console.api("PUT", f"parse/classes/{name_of_class}/{ids[0]}", {"n": "no number"}) == 400
    with browser_of_new(console, "editor") as (name, other):
        other.open("data")
        assert other.api("PUT", f"parse/classes/{name_of_class}/{ids[1]}", {"name": "another's"}) == 200
        lines = "[...document.querySelectorAll('main tbody tr')].map((e) => e.innerText)"
        other.open("audit", **{"class": name_of_class})
        other.wait(f"{lines}.length === 6")
        rows = other.value(lines)
        assert name in rows[0] and f"Changed 1 object of {name_of_class}: name" in rows[0] and "done" in rows[0], rows[0]
        assert f"Failed: Changed 1 object of {name_of_class}: n" in rows[1] and "refused (400)" in rows[1] and f"Deleted 1 object of {name_of_class}" in rows[2], rows
        other.click("[aria-label=Operator]")
        other.browser.fill("[aria-label=Operator]", name)
        other.press("Enter")
        other.wait(f"{lines}.length === 1 && new URLSearchParams(location.search).get('operator') === {json.dumps(name)}")
        other.open("audit", object=ids[1])
        other.wait(f"{lines}.length === 2")
        # The old and the new value.
        other.click("main tbody button")
        other.wait_text("changed 1", "dialog")
        assert "another's" in other.text("dialog")
        other.press("Escape")
        other.click_text(ids[1], "main tbody")
        other.wait(f"location.pathname.endsWith('/data/{name_of_class}/{ids[1]}')")
        assert other.faults() == []


def scenario_19_audit_tells_sign_ins_and_changes_of_operators(console, rest):
    if not console.credentials:
        return
    mark = f"stranger{time.time_ns()}"
    console.open("data")
    assert console.api("POST", "session", {"name": mark, "password": "wrong"}) == 401
    name = new_operator(console, "viewer")
    console.open("audit", operator=mark)
    console.wait_text("Failed to sign in: wrong name, password, key or code", "main tbody")
    assert all(words in console.text("main tbody") for words in (mark, "from ", "refused (401)")), console.text("main tbody")
    console.open("audit")
    console.wait_text(f"Created the operator {name}", "main tbody")
    console.value("(() => { const s = document.querySelector('[aria-label=Action]'); s.value = 'session'; s.dispatchEvent(new Event('change')); })()")
    console.wait("location.search.includes('kind=session') && !document.querySelector('main tbody').innerText.includes('Created')")
    titles = console.value("[...document.querySelectorAll('main tbody th')].map((e) => e.innerText.split(':')[0])")
    assert titles and set(titles) <= {"Signed in", "Signed out", "Failed to sign in"}, titles


def scenario_19_audit_pages_through_many_entries(console, rest):
    if not console.credentials or not rest.database:
        return
    console.open("data")
    mark = f"many{time.time_ns()}"
    rest.sql(f"""INSERT INTO "_roost_audit" ("operator", "role", "address", "requestId", "method", "path", "className", "ids", "fields", "status")
        SELECT '{mark}', 'editor', '127.0.0.1', n, 'PUT', 'classes/Many/o' || n, 'Many', ARRAY['o' || n], '{{n}}', 200
        FROM generate_series(1, {rest.rows * 50}) AS n""")
    try:
        first = "document.querySelector('main tbody a')?.textContent"
        console.open("audit", operator=mark)
        console.wait(f"{first} === 'o{rest.rows * 50}' && document.querySelectorAll('main tbody tr').length === 100")
        for page in (1, 2, 3):
            console.click_text("Older", ".log-foot")
            console.wait(f"{first} === 'o{rest.rows * 50 - page * 100}'")
        console.value("history.back()")
        console.wait(f"{first} === 'o{rest.rows * 50 - 200}'")
        console.click_text("Newest", ".log-foot")
        console.wait(f"{first} === 'o{rest.rows * 50}'")
        # Nothing follows the last one.
        console.open("audit", operator=mark, before=str(int(rest.sql(f"""SELECT min("id") FROM "_roost_audit" WHERE "operator" = '{mark}'""")) + 2))
        console.wait(f"{first} === 'o2'")
        assert "Older" not in console.text(".log-foot")
    finally:
        rest.sql(f"""DELETE FROM "_roost_audit" WHERE "operator" = '{mark}'""")


def scenario_19_audit_filters_by_kind_and_time(console, rest):
    if not console.credentials or not rest.database:
        return
    console.open("data")
    mark = f"timed{time.time_ns()}"
    rest.sql(f"""INSERT INTO "_roost_audit" ("at", "operator", "role", "address", "requestId", "method", "path", "className", "ids", "fields", "status")
        SELECT timestamptz '2026-03-01 00:00Z' + make_interval(hours => n), '{mark}', 'editor', '127.0.0.1', n,
            CASE WHEN n % 10 = 0 THEN 'DELETE' ELSE 'PUT' END, 'classes/Timed/o' || n, 'Timed', ARRAY['o' || n], '{{n}}', 200
        FROM generate_series(0, 99) AS n""")
    rest.sql(f"""INSERT INTO "_roost_audit" ("at", "operator", "role", "address", "requestId", "method", "path", "status", "after")
        VALUES ('2026-03-09', '{mark}', 'editor', '127.0.0.1', '1', 'POST', 'push', 200, '{{"dry_run": true}}')""")
    ids = "[...document.querySelectorAll('main tbody a')].map((e) => e.textContent).join(' ')"
    try:
        console.open("audit", operator=mark, kind="POST")
        console.wait_text("Tried a push (dry run)", "main tbody")
        console.open("audit", operator=mark, kind="DELETE")
        console.wait(f"{ids} === '{' '.join(f'o{number}' for number in range(90, -1, -10))}'")
        console.open("audit", operator=mark, **{"from": "2026-03-01T10:00:00.000Z", "until": "2026-03-01T13:00:00.000Z"})
        console.wait(f"{ids} === 'o12 o11 o10'")
        # Both are selected on the page.
        console.value("(() => { const s = document.querySelector('[aria-label=Action]'); s.value = 'DELETE'; s.dispatchEvent(new Event('change')); })()")
        console.wait(f"{ids} === 'o10' && location.search.includes('kind=DELETE') && location.search.includes('from=2026-03-01T10')")
        enter = lambda label, text: console.value(f"(() => {{ const s = document.querySelector('[aria-label={label}]'); s.value = {json.dumps(text)}; s.dispatchEvent(new Event('change')); }})()")
        assert console.value("new Date(document.querySelector('[aria-label=From]').value).toISOString()") == "2026-03-01T10:00:00.000Z"
        enter("From", "")
        console.wait(f"{ids} === 'o10 o0'")
        enter("Until", "some time")
        console.wait_text("Until is a date; some time is not one.", ".toasts")
        enter("Until", "2026-03-01 09:00 UTC")
        console.wait(f"{ids} === 'o0'")
        console.open("audit", **{"from": "never"})
        console.wait_text("from must be a time such as", "main")
    finally:
        rest.sql(f"""DELETE FROM "_roost_audit" WHERE "operator" = '{mark}'""")


def scenario_07_explains_the_wait_after_too_many_attempts(console, rest):
    """Runs last, because its address is then throttled for five minutes."""
    if not console.credentials:
        return
    other = in_a_browser_of(console, name="nobody", password="wrong")
    try:
        answered = "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/session')).length"
        for _ in range(12):
            before = other.value(answered)
            for field, value in other.credentials.items():
                other.value(f"document.querySelector('.signin [name={field}]').value = ''")
                other.browser.fill(f".signin [name={field}]", value)
            other.press("Enter")
            other.wait(f"{answered} > {before} && !document.querySelector('.signin .primary').disabled")
            if "Too many attempts" in other.text(".signin .problem"):
                break
        assert re.fullmatch(r"Too many attempts\. Wait [\d,]+ seconds?\.", other.text(".signin .problem").strip()), other.text(".signin .problem")
        # The typed text is kept.
        assert other.value("document.querySelector('.signin [name=name]').value") == "nobody"
    finally:
        other.close()
