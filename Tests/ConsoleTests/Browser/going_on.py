"""Scenarios of activity: log, cloud code, pushes, requests, live queries."""

import json
import os
import selectors
import socket
import subprocess
import threading
import time
import urllib.parse

from hostile import LIES, MARKUP
from pages import choose, open_page, PHONE, until, write


def rows(console):
    return console.value("[...document.querySelectorAll('.log-row')].map((row) => row.innerText)")


def fail(rest, text):
    return rest.call("POST", "/functions/fail", {"text": text})


def scenario_71_shows_a_forged_log_line_as_one_row(console, rest):
    mark = f"mark{time.time_ns()}"
    fail(rest, f"{mark}\n2026-01-01T00:00:00.000Z error all is lost\r\u202eevil\u0007")
    open_page(console, "logs", ".log-row", text=mark)
    found = rows(console)
    assert len(found) == 1, found
    assert "\u23ce" in found[0] and "\\u202e" in found[0] and "\\u0007" in found[0], found
    heights = console.value("[...document.querySelectorAll('.log-row')].map((row) => row.getBoundingClientRect().height)")
    assert heights == [32], heights


def scenario_65_shows_markup_in_the_log_as_text(console, rest):
    mark = f"mark{time.time_ns()}"
    for text in MARKUP:
        fail(rest, f"{mark} {text}")
    for text in list(LIES)[:8]:
        fail(rest, f"{mark} {text}")
    open_page(console, "logs", ".log-row", text=mark)
    console.wait(f"document.querySelectorAll('.log-row').length === {len(MARKUP) + 8}")
    assert MARKUP[0] in console.text(".log"), console.text(".log")
    for number in range(len(MARKUP)):
        console.value(f"document.querySelectorAll('.log-row')[{number}].click()")
        console.wait("document.querySelector('dialog.sheet table')")
        assert MARKUP[number] in console.text("dialog.sheet"), console.text("dialog.sheet")
        console.press("Escape")
        console.wait("document.querySelector('dialog') === null")
    assert console.value("document.querySelector('main img, main script, main iframe') === null")


def scenario_66_truncates_a_log_line_of_a_megabyte(console, rest):
    mark = f"mark{time.time_ns()}"
    fail(rest, mark + "x" * 1_000_000)
    open_page(console, "logs", ".log-row", text=mark)
    assert len(rows(console)) == 1
    assert len(console.text(".log")) < 2000
    assert console.value("document.documentElement.scrollWidth <= innerWidth")


def scenario_log_follows_new_lines_and_can_be_paused(console, rest):
    mark = f"mark{time.time_ns()}"
    fail(rest, f"{mark} first")
    open_page(console, "logs", ".log-row", text=mark)
    fail(rest, f"{mark} second")
    console.wait_text(f"{mark} second", ".log", 30)
    # New lines wait while following is off, then all of them appear.
    console.click("[aria-label='Follow']")
    console.wait("document.querySelector('[aria-label=Follow]').getAttribute('aria-pressed') === 'false'")
    fail(rest, f"{mark} third")
    until(lambda: any(mark + " third" in str(line) for line in rest.call("GET", "/scriptlog?n=50")), "the server has the line")
    assert f"{mark} third" not in console.text(".log")
    console.click("[aria-label='Follow']")
    console.wait_text(f"{mark} third", ".log", 30)
    assert len(rows(console)) == 3, rows(console)


def scenario_log_hides_the_consoles_own_requests(console, rest):
    mark = f"mark{time.time_ns()}"
    rest.define("Quietly", name={"type": "String"})
    console.open_class("Quietly")
    rest.find("Quietly", {"name": mark})
    open_page(console, "logs", ".log-row")
    console.wait_text("/classes/Quietly", ".log")
    assert "/console/api" not in console.text(".log"), console.text(".log")
    console.value("[...document.querySelectorAll('label')].find((e) => e.innerText.includes('Console requests')).querySelector('input').click()")
    console.wait_text("/console/api/parse/classes/Quietly", ".log")
    assert console.value("location.search.includes('console=true')")
    console.value("history.back()")
    open_page(console, "performance", ".panels")
    assert "no route" not in console.text("main")


def scenario_log_finds_failed_requests(console, rest):
    rest.define("Sought", name={"type": "String"})
    there = rest.create("Sought", name="one")
    rest.get("Sought", there)
    rest.get("Sought", "missing")
    open_page(console, "logs", ".log-row", text="/classes/Sought/")
    console.wait_text("/classes/Sought/missing", ".log")
    assert there in console.text(".log")
    console.value("(() => { const e = document.querySelector('[aria-label=Level]'); e.value = 'failed'; e.dispatchEvent(new Event('change')); })()")
    console.wait(f"location.search.includes('level=failed') && !document.querySelector('.log')?.innerText.includes('{there}')")
    console.wait_text("/classes/Sought/missing 404", ".log")


def scenario_log_line_opens_all_lines_of_its_request_and_the_object(console, rest):
    mark = f"mark{time.time_ns()}"
    rest.call("DELETE", "/purge/Logged")
    song = rest.create("Logged", name=mark)
    open_page(console, "logs", ".log-row", text="/classes/Logged")
    rest.get("Logged", song)
    console.wait_text(f"/classes/Logged/{song}", ".log", 30)
    console.value(f"[...document.querySelectorAll('.log-row')].find((row) => row.innerText.includes({json.dumps(song)})).click()")
    console.wait("document.querySelector('dialog.sheet')")
    console.click_text("All lines of this request", "dialog")
    console.wait("location.search.includes('request=') && document.querySelector('.chip')")
    console.wait("document.querySelectorAll('.log-row').length === 1")
    # With the keyboard: the list, its line, and the object.
    console.value("document.querySelector('.log').focus()")
    console.press("ArrowDown", "Enter")
    console.wait("document.querySelector('dialog.sheet')")
    console.click_text("Open the object", "dialog")
    console.wait("location.pathname.includes('/data/Logged/') && document.querySelector('.object')")
    console.browser.call("Page.navigateToHistoryEntry", entryId=console.browser.call("Page.getNavigationHistory")["entries"][-2]["id"])
    console.wait("location.pathname.endsWith('/logs')")
    console.click("[aria-label='Remove the filter']")
    console.wait("!location.search.includes('request=')")


def scenario_log_draws_few_rows_of_ten_thousand_lines(console, rest):
    open_page(console, "logs", ".log-row")
    drawn = console.value("""(async () => {
        const folder = document.querySelector('script[src]').src.replace(/main\\.js$/, '');
        const { lineList } = await import(folder + 'pages/logs/lines.js');
        const list = lineList({ label: 'Lines', draw: (item) => [String(item)], open() {} });
        document.querySelector('.log-host').replaceChildren(list.element);
        list.show(Array.from({ length: 10000 }, (_, number) => number), { toEnd: true });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const last = [...list.element.querySelectorAll('.log-row')].map((row) => row.innerText);
        list.element.focus();
        return { count: last.length, last: last.at(-1) };
    })()""")
    assert drawn["count"] < 120 and drawn["last"] == "9999", drawn
    console.press("Home")
    console.wait("document.querySelector('[aria-selected=true]')?.innerText === '0'")
    console.press("End")
    console.wait("document.querySelector('[aria-selected=true]')?.innerText === '9999'")


def scenario_74_calls_a_function_as_a_user_and_anonymously(console, rest):
    name = f"caller{time.time_ns()}"
    rest.call("POST", "/users", {"username": name, "password": "secret"})
    open_page(console, "cloud", "main table")
    console.wait_text("guarded", "main table")
    assert "a session" in console.text("main table")
    console.click_text("hello", "main table")
    console.wait("location.pathname.endsWith('/cloud/functions/hello')")
    console.wait("document.querySelector('main textarea')")
    write(console, "main textarea", '{"name": "<b>Kim</b>"}')
    console.click_text("Call")
    console.wait_text("Response", "main")
    console.wait_text("<b>Kim</b>", ".tree")
    # The call's log lines appear below it.
    console.wait_text("cloud function", ".log-line", 20)
    console.wait("[...document.querySelectorAll('.log-line')].some((line) => line.innerText.includes('/functions/hello'))", 20)
    console.value("document.activeElement.blur()")
    console.press("Control+z")
    console.wait_text("Call hello: you can't undo this.", ".toasts")
    choose(console, "main select", "user")
    write(console, "[aria-label='Name or id of the user']", name)
    console.click_text("Call")
    console.wait_text(name, ".tree")
    choose(console, "main select", "nobody")
    console.click_text("Call")
    console.wait("!document.querySelector('.tree').innerText.includes('caller')")
    console.open("cloud/functions/guarded")
    console.wait("document.querySelector('main textarea')")
    choose(console, "main select", "nobody")
    console.click_text("Call")
    console.wait_text("Failed", "main")
    write(console, "main textarea", "[1]")
    console.click_text("Call")
    console.wait_text("Parameters must be a JSON object", ".problem")
    console.open("cloud/functions/fail")
    console.wait("document.querySelector('main textarea')")
    write(console, "main textarea", json.dumps({"text": MARKUP[0] + "\u202e"}))
    console.click_text("Call")
    console.wait_text(MARKUP[0], "main")
    assert "\u202e" not in console.text("main")


def scenario_75_starts_a_job_and_shows_its_outcome_without_a_reload(console, rest):
    open_page(console, "cloud/jobs", "main table")
    console.click("[aria-label='Start tidy']")
    console.wait("document.querySelector('dialog textarea')")
    console.press("Control+Enter")
    console.wait_text("all of it", "[aria-label=Runs]", 20)
    console.wait_text("succeeded", "[aria-label=Runs]")
    console.click("[aria-label='Start tidy']")
    console.wait("document.querySelector('dialog textarea')")
    write(console, "dialog textarea", json.dumps({"fail": MARKUP[1]}))
    console.press("Control+Enter")
    console.wait_text(MARKUP[1], "[aria-label=Runs]", 20)
    console.wait_text("failed", "[aria-label=Runs]")


def scenario_75_creates_changes_and_deletes_schedules_shown_as_sentences(console, rest):
    for row in rest.find("_JobSchedule"):
        rest.call("DELETE", f"/cloud_code/jobs/{row['objectId']}")
    open_page(console, "cloud/jobs", "main table")
    console.click_text("New schedule")
    console.wait("document.querySelector('dialog input')")
    write(console, "dialog input[type=text]", "4pm")
    console.press("Control+Enter")
    console.wait_text("Write times like 03:00", "dialog .problem")
    write(console, "dialog input[type=text]", "04:30")
    console.click("dialog [aria-label=Sun]")
    console.click_text("Save", "dialog")
    console.wait_text("every day, from 04:30 UTC on, on Mon, Tue, Wed, Thu, Fri, Sat", "[aria-label=Schedules]")
    row = rest.find("_JobSchedule")[0]
    assert row["repeatMinutes"] == 1440 and row["timeOfDay"] == "04:30:00.000Z" and row["daysOfWeek"] == ["1"] * 6 + ["0"], row
    console.click("[aria-label='Actions of the schedule of tidy']")
    console.click_text("Change", ".menu")
    console.wait("document.querySelector('dialog select')")
    choose(console, "dialog .stack:nth-of-type(2) select", "every")
    console.wait("document.querySelector('dialog input[inputmode=numeric]')")
    write(console, "dialog input[inputmode=numeric]", "90")
    console.click_text("Save", "dialog")
    console.wait_text("every 90 minutes", "[aria-label=Schedules]")
    row = rest.find("_JobSchedule")[0]
    assert row["repeatMinutes"] == 90 and "timeOfDay" not in row and "daysOfWeek" not in row, row
    console.click_text("Undo", ".toasts")
    console.wait_text("every day, from 04:30 UTC on, on Mon, Tue, Wed, Thu, Fri, Sat", "[aria-label=Schedules]")
    assert rest.find("_JobSchedule")[0]["daysOfWeek"] == ["1"] * 6 + ["0"]
    console.click("[aria-label='Actions of the schedule of tidy']")
    console.click_text("Delete", ".menu")
    console.wait("document.querySelector('dialog .danger')")
    console.click("dialog .danger")
    console.wait_text("No schedules yet", "main")
    console.click_text("Undo", ".toasts")
    console.wait_text("every day, from 04:30 UTC on", "[aria-label=Schedules]")
    # Other tools store no minutes for jobs that run once. A change of the parameters adds none.
    for row in rest.find("_JobSchedule"):
        rest.call("DELETE", f"/cloud_code/jobs/{row['objectId']}")
    rest.call("POST", "/cloud_code/jobs", {"job_schedule": {"jobName": "tidy", "params": "{}", "startAfter": "2040-05-06T07:08:00.000Z"}})
    open_page(console, "cloud/jobs", "[aria-label=Schedules]")
    console.wait_text("once, at 2040-05-06 07:08 UTC", "[aria-label=Schedules]")
    console.click("[aria-label='Actions of the schedule of tidy']")
    console.click_text("Change", ".menu")
    console.wait("document.querySelector('dialog textarea')")
    write(console, "dialog textarea", '{"a": 1}')
    console.click_text("Save", "dialog")
    console.wait_text('{"a":1}', "[aria-label=Schedules]")
    row = rest.find("_JobSchedule")[0]
    assert not row.get("repeatMinutes") and "daysOfWeek" not in row and row["startAfter"] == "2040-05-06T07:08:00.000Z", row


def scenario_75_undo_keeps_a_schedule_changed_by_someone_else(console, rest):
    for row in rest.find("_JobSchedule"):
        rest.call("DELETE", f"/cloud_code/jobs/{row['objectId']}")
    plan = {"jobName": "tidy", "params": "{}", "startAfter": "2040-05-06T07:08:00.000Z", "repeatMinutes": 60}
    rest.call("POST", "/cloud_code/jobs", {"job_schedule": plan})
    stored = lambda: rest.find("_JobSchedule")[0]
    open_page(console, "cloud/jobs", "[aria-label=Schedules]")
    console.click("[aria-label='Actions of the schedule of tidy']")
    console.click_text("Change", ".menu")
    console.wait("document.querySelector('dialog textarea')")
    write(console, "dialog textarea", '{"mine": 1}')
    console.click_text("Save", "dialog")
    console.wait_text('{"mine":1}', "[aria-label=Schedules]")
    console.wait("document.querySelector('dialog') === null")
    answer = rest.call("PUT", f"/cloud_code/jobs/{stored()['objectId']}", {"job_schedule": {**plan, "params": '{"theirs":1}'}})
    assert "error" not in answer, answer
    console.click_text("Undo", ".toasts")
    console.wait("/has changed since|restored/.test(document.querySelector('.toasts').innerText)")
    assert stored()["params"] == '{"theirs":1}', stored()
    console.wait_text("The schedule has changed since and was kept.", ".toast.bad")


def scenario_creates_and_deletes_webhooks_without_showing_passwords(console, rest):
    rest.call("DELETE", "/hooks/functions/hooked")
    open_page(console, "cloud/hooks", "main .scroll .button")
    console.click_text("New webhook")
    console.wait("document.querySelector('dialog input')")
    write(console, "dialog .stack .stack input", "hooked")
    write(console, "dialog input[type=url]", "javascript:window.ran=1")
    console.click_text("Save", "dialog")
    console.wait_text("http or https URL", "dialog .problem")
    write(console, "dialog input[type=url]", "http://kim:hush@127.0.0.1:9/hook")
    console.click_text("Save", "dialog")
    console.wait_text("function hooked", "main table")
    assert "hush" not in console.text("body")
    assert rest.call("GET", "/hooks/functions/hooked")["url"] == "http://kim:hush@127.0.0.1:9/hook"
    console.open("cloud")
    console.wait_text("hooked", "main table")
    console.wait_text("a webhook", "main table")
    console.open("cloud/hooks")
    console.click("[aria-label='Actions of function hooked']")
    console.click_text("Delete", ".menu")
    console.click("dialog .danger")
    console.wait_text("deleted", ".toasts")
    assert "error" in rest.call("GET", "/hooks/functions/hooked")
    console.click_text("Undo", ".toasts")
    console.wait_text("function hooked", "main table")
    rest.call("DELETE", "/hooks/functions/hooked")


def devices(rest, count, **values):
    rest.call("DELETE", "/purge/_Installation")
    for number in range(count):
        answer = rest.call("POST", "/installations", {"installationId": f"device{number}x{time.time_ns()}", "deviceType": "ios", "deviceToken": f"{number:064x}", "appIdentifier": "com.example.app", **values})
        assert "objectId" in answer, answer


def scenario_push_shows_its_audience_before_it_is_sent(console, rest):
    devices(rest, 3, channels=["news"])
    for row in rest.find("_PushStatus"):
        rest.call("DELETE", f"/classes/_PushStatus/{row['objectId']}")
    open_page(console, "push", ".push-preview")
    console.wait_text("3 devices", "main")
    text = f"{MARKUP[0]} \u202e{time.time_ns()}"
    write(console, "main textarea", text)
    console.wait_text(MARKUP[0], ".push-preview")
    assert "\u202e" not in console.text("main")
    # A dry run sends nothing.
    console.click_text("Dry run: who would get it?")
    console.wait_text("ios", "dialog.sheet", 30)
    console.wait_text("The largest message has", "dialog.sheet")
    console.press("Escape")
    row = rest.find("_PushStatus")[0]
    assert row["numSent"] == 0, row
    console.wait_text("dry run", "[aria-label=Pushes]")
    assert console.value("[...document.querySelectorAll('[aria-label=Pushes] tbody td')].slice(0, 3).map((e) => e.innerText)") == ["dry run", "\u2013", "\u2013"]
    console.click_text("Send to 3")
    console.wait_text("goes to 3 devices", "dialog")
    console.click_text("Cancel", "dialog")
    console.wait("document.querySelector('dialog') === null")
    assert len(rest.find("_PushStatus")) == 1
    console.click_text("Send to 3")
    console.wait("document.querySelector('dialog .primary')")
    console.click("dialog .primary")
    until(lambda: any(json.loads(row["payload"]).get("alert") == text and row["numSent"] == 3 for row in rest.find("_PushStatus", order="-createdAt")), "the push is sent", 40)
    console.wait_text("done", "[aria-label=Pushes]", 40)
    assert console.value("window.ran === undefined")


def scenario_push_counts_devices_again_on_refresh_and_focus(console, rest):
    devices(rest, 0)
    open_page(console, "push", ".push-preview")
    console.wait_text("0 devices", "main")
    devices(rest, 1)
    console.click("main header [aria-label=Refresh]")
    console.wait_text("1 device", "main")
    console.wait("!document.querySelector('main .primary').disabled")
    devices(rest, 2)
    console.value("dispatchEvent(new Event('focus'))")
    console.wait_text("2 devices", "main")


def scenario_79_push_shows_its_form_once_push_is_set_up(console, rest):
    open_page(console, "users", "main .page")
    # As if the server had been restarted with the option since.
    console.value("""import(document.querySelector('script[src*="main.js"]').src.replace('main.js', 'core/session.js'))
        .then(({ session }) => { session.peek().features.push = false; })""")
    console.click_text("Push", "nav")
    console.wait_text("Push is not set up", "main")
    console.wait_text("Replace the option in roost.json", "main .state")
    assert "push" in console.text("main .state pre"), console.text("main .state")
    console.wait("!document.querySelector('main').innerText.includes('Push is not set up') && document.querySelector('main textarea')")


def scenario_push_can_be_scheduled_and_cancelled(console, rest):
    devices(rest, 1)
    for row in rest.find("_PushStatus"):
        rest.call("DELETE", f"/classes/_PushStatus/{row['objectId']}")
    open_page(console, "push", ".push-preview")
    console.wait_text("1 device", "main")
    text = f"later {time.time_ns()}"
    write(console, "main textarea", text)
    choose(console, "[aria-label=When]", "at")
    write(console, "[aria-label='Date and time']", "2001-01-01 10:00")
    console.click_text("Schedule for 1")
    console.wait_text("That time has passed", ".problem")
    write(console, "[aria-label='Date and time']", "2096-01-01 10:00")
    console.click_text("Schedule for 1")
    console.wait("document.querySelector('dialog .primary')")
    console.click("dialog .primary")
    console.wait_text("2096-01-01 10:00 UTC", "[aria-label=Pushes]")
    row = next(row for row in rest.find("_PushStatus") if row["status"] == "scheduled")
    assert row["pushTime"].startswith("2096-01-01T10:00"), row
    console.click(f"[aria-label='Actions of the push \u201c{text}\u201d']")
    console.click_text("Cancel the push", ".menu")
    console.wait("document.querySelector('dialog .danger')")
    console.click("dialog .danger")
    console.wait_text("is cancelled", ".toasts")
    assert not [row for row in rest.find("_PushStatus") if row["status"] == "scheduled"]
    console.click_text("Undo", ".toasts")
    console.wait_text("scheduled again", ".toasts")
    assert [row["objectId"] for row in rest.find("_PushStatus") if row["status"] == "scheduled"] == [row["objectId"]]
    rest.call("DELETE", f"/classes/_PushStatus/{row['objectId']}")


def scenario_push_to_many_devices_requires_typing_the_number(console, rest):
    rest.call("DELETE", "/purge/_Installation")
    rest.insert("_Installation", [{"objectId": f"many{number}", "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:00.000Z", "installationId": f"many{number}", "deviceType": "ios", "deviceToken": f"{number:064x}"} for number in range(1200)])
    open_page(console, "push", ".push-preview")
    console.wait_text("1,200 devices", "main")
    write(console, "main textarea", "hello")
    console.click_text("Send to 1,200")
    console.wait_text("Type 1200 to send it", "dialog")
    assert console.value("document.querySelector('dialog .primary').disabled")
    console.type("120")
    assert console.value("document.querySelector('dialog .primary').disabled")
    console.press("Escape")
    rest.call("DELETE", "/purge/_Installation")


def request(console, method, path, body=None, query=None):
    choose(console, "[aria-label=Method]", method)
    write(console, "[aria-label='Path below the mount']", path)
    if query is not None:
        write(console, "[name=query]", query)
    if body is not None:
        write(console, "[name=body]", body)
    console.click_text("Send", "main")


def scenario_api_page_sends_requests_and_shows_responses(console, rest):
    rest.define("Asked", name={"type": "String"}, plays={"type": "Number"})
    first = rest.create("Asked", name=MARKUP[1], plays=3)
    open_page(console, "rest", ".request")
    request(console, "GET", "classes/Asked", query='where={"plays":{"$gt":2}}\nlimit=5')
    console.wait_text("200 in", "main", 20)
    console.click_text("As JSON", "main")
    console.wait_text(first, "pre.code")
    assert MARKUP[1].replace('"', '\\"') in console.text("pre.code"), console.text("pre.code")
    request(console, "PUT", f"classes/Asked/{first}", '{"plays": 17}', "")
    until(lambda: rest.get("Asked", first)["plays"] == 17, "the object is changed")
    # The previous response contains the word, too, so the test waits for the button.
    console.wait("[...document.querySelectorAll('main button')].some((one) => one.textContent.trim() === 'Send' && !one.disabled)")
    console.wait_text("updatedAt", "main")
    console.value("document.activeElement.blur()")
    console.press("Control+z")
    console.wait_text(f"PUT classes/Asked/{first}: you can't undo this.", ".toasts")
    # Requests that aren't repeatable are sent once, even if the response is lost or the keys are held down.
    console.value("""(() => {
        const { fetch } = window;
        window.asked = 0;
        window.fetch = async (address, options) => {
            if (options.method !== 'PUT') return fetch(address, options);
            window.asked += 1;
            await fetch(address, options);
            throw new TypeError('the answer is lost');
        };
    })()""")
    write(console, "[name=body]", '{"plays": {"__op": "Increment", "amount": 1}}')
    console.value("""[false, true, true].forEach((repeat) => document.querySelector('[name=body]').dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, repeat, bubbles: true, cancelable: true })))""")
    console.wait("document.querySelector('main .problem').innerText !== ''")
    console.settle()
    assert console.value("window.asked") == 1 and rest.get("Asked", first)["plays"] == 18
    open_page(console, "rest", ".request")
    request(console, "POST", "classes/Asked", "{oops", "")
    console.wait_text("The body is not JSON", ".problem")
    request(console, "GET", "classes/../../session", query="")
    console.wait_text("Write paths like", ".problem")
    request(console, "GET", "classes/Asked/gone", query="")
    console.wait_text("404 in", "main", 20)
    # Anonymously: only the master key has access to the class.
    rest.call("PUT", "/schemas/Asked", {"className": "Asked", "classLevelPermissions": {"find": {}, "get": {}}})
    choose(console, "[aria-label='Caller']", "nobody")
    request(console, "GET", "classes/Asked", query="")
    console.wait_text("Permission denied", "main", 20)
    choose(console, "[aria-label='Caller']", "master")
    request(console, "DELETE", f"classes/Asked/{first}", query="")
    console.wait("document.querySelector('dialog .danger')")
    console.value("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }))")
    assert rest.get("Asked", first)["plays"] == 18 and console.value("document.querySelectorAll('dialog').length") == 1
    console.click("dialog .danger")
    until(lambda: rest.get("Asked", first).get("code") == 101, "the object is deleted")


def scenario_api_page_names_a_class_and_keeps_the_request(console, rest):
    rest.define("AAsked", name={"type": "String"})
    path = "document.querySelector(\"[aria-label='Path below the mount']\")?.value"
    open_page(console, "rest", ".request")
    console.wait(f"/^classes\\/[A-Za-z]/.test({path})")
    # Apps don't have the rights with which the console sends.
    assert "As an app sends it, without the master key" in console.text("main"), console.text("main")
    choose(console, "[aria-label='Caller']", "nobody")
    assert "As an app sends it" in console.text("main") and "without the master key" not in console.text("main"), console.text("main")
    request(console, "GET", "classes/", query="limit=2")
    console.wait_text("Write paths like", ".problem")
    write(console, "[aria-label='Path below the mount']", "classes/AAsked")
    name = "it's \u202e\n'); process.exit(9); ('"
    query = f"where={json.dumps({'name': name}, ensure_ascii=False)}\norder=-createdAt\nlimit=2"
    write(console, "[name=query]", query)
    # The keys that the command reads.
    assert "export PARSE_CLIENT_KEY='\u2026'" in console.text("main") and "PARSE_SESSION_TOKEN" not in console.text("main"), console.text("main")
    choose(console, "[aria-label='Caller']", "user")
    assert "export PARSE_SESSION_TOKEN='\u2026'" in console.text("main"), console.text("main")
    choose(console, "[aria-label='Caller']", "nobody")
    console.click_text("Code for the SDKs", "main")
    console.wait("location.pathname.endsWith('/start')")
    console.wait_text("AAsked", "main pre.code")
    encoded = urllib.parse.quote_plus(json.dumps({"name": name}, ensure_ascii=False), safe="*")
    for sdk, words in (("JavaScript", 'await Parse.Query.fromJSON("AAsked", {"where":{"name":"it\'s \\u202e\\n\'); process.exit(9); (\'"},"order":"-createdAt","limit":2}).find()'),
                       ("Flutter", "// where={"),
                       ("curl", f"/classes/AAsked?where={encoded}&order=-createdAt&limit=2'"),
                       ("Kotlin (Android)", "// where={"), ("Parse-Swift", "limit=2"), ("Swift (Parse iOS SDK)", "limit=2")):
        console.click_text(sdk, "main")
        code = console.text("main pre.code")
        assert words in code and "\u202e" not in code, code
    console.value("history.back()")
    console.wait(f"{path} === 'classes/AAsked' && document.querySelector('[name=query]').value === {json.dumps(query)}")


def scenario_api_page_follows_the_class_opened_last(console, rest):
    path = "document.querySelector(\"[aria-label='Path below the mount']\")?.value"
    for name in ("Opened", "Then"):
        rest.define(name, name={"type": "String"})
    console.open_class("Opened")
    for name in ("Opened", "Then"):
        if name == "Then":
            console.click_text("Data", "nav")
            console.click("a.class[href$='/Then']")
            console.wait("location.pathname.endsWith('/Then')")
        console.click_text("API", "nav")
        console.wait(f"{path} === 'classes/{name}'")
    console.click_text("Code for the SDKs", "main")
    console.wait_text("Then", "main pre.code")
    # A request that somebody has typed stays.
    console.value("history.back()")
    console.wait(f"{path} === 'classes/Then'")
    write(console, "[name=query]", "limit=1")
    open_class = "import(document.querySelector('script[type=module]').src.replace(/main[.]js$/, 'core/router.js')).then(({ address, go }) => go(address('data', ['Opened'])))"
    console.value(open_class)
    console.wait_text("No objects yet", "main")
    console.click_text("API", "nav")
    console.wait(f"{path} === 'classes/Then'")


def scenario_leaving_the_log_stops_its_delayed_filter(console, rest):
    open_page(console, "logs", ".log-row")
    write(console, "main input[type=search]", "something")
    console.click_text("Config", ".rail")
    time.sleep(0.6)
    assert console.value("location.pathname").endswith("/config"), console.value("location.pathname")


def scenario_api_page_shows_the_response_status(console, rest):
    rest.define("Posted", name={"type": "String"})
    open_page(console, "rest", ".request")
    request(console, "POST", "classes/Posted", '{"name": "a"}', "")
    console.wait("/\\d+ in \\d/.test(document.querySelector('main [role=status]').innerText)")
    assert "201 in" in console.text("main [role=status]"), console.text("main [role=status]")
    assert "201" in console.text("main .past"), console.text("main .past")


def scenario_77_copied_curl_command_sends_the_same_request_without_keys(console, rest):
    rest.define("Coded", text={"type": "String"})
    key = rest.headers["X-Parse-Master-Key"]
    environment = {**os.environ, "PARSE_CLIENT_KEY": rest.client_key}
    open_page(console, "rest", ".request")
    assert "As an app sends it" in console.text("main"), console.text("main")
    choose(console, "[aria-label=Method]", "POST")
    write(console, "[aria-label='Path below the mount']", "classes/Coded")
    for number, text in enumerate(("it's $HOME `id` \"q\" \\(1) \u202e \u00e9 \U0001f600", "'; touch /tmp/ran; '", '"); process.exit(9); ("')):
        body = json.dumps({"text": text, "number": number}, ensure_ascii=False)
        write(console, "[name=body]", body)
        command = console.value("document.querySelector('pre.code').textContent")
        assert key not in command and rest.client_key not in command and "master" not in command.lower(), command
        assert "\u202e" not in command, command
        outcome = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=120)
        assert outcome.returncode == 0 and "objectId" in outcome.stdout, outcome
        assert [row["text"] for row in rest.find("Coded", {"number": number})] == [text], rest.find("Coded")
    assert not os.path.exists("/tmp/ran")


def scenario_live_page_shows_connections_and_subscriptions(console, rest):
    for name in ("Live", "Unlisted"):
        rest.define(name, name={"type": "String"})
    open_page(console, "live", "main .state, main table")
    console.value(f"""new Promise((done, fail) => {{
        const socket = window.socket = new WebSocket(location.origin.replace('http', 'ws') + '/parse');
        socket.onerror = fail;
        socket.onopen = () => socket.send(JSON.stringify({{ op: 'connect', applicationId: {json.dumps(rest.headers["X-Parse-Application-Id"])} }}));
        socket.onmessage = ({{ data }}) => {{
            const {{ op, requestId }} = JSON.parse(data);
            if (op === 'connected') socket.send(JSON.stringify({{ op: 'subscribe', requestId: 1, query: {{ className: 'Live', where: {{ name: {json.dumps(MARKUP[0] + chr(0x202e))}, sessionToken: 'r:0123456789abcdef0123456789abcdef' }} }} }}));
            if (op === 'subscribed' && requestId === 1) socket.send(JSON.stringify({{ op: 'subscribe', requestId: 2, query: {{ className: 'Unlisted', where: {{}} }} }}));
            else if (op === 'subscribed') done();
        }};
    }})""")
    console.wait_text("Live where", "main", 20)
    console.wait_text(MARKUP[0].replace('"', '\\"'), "main")
    assert "\u202e" not in console.text("main") and "0123456789abcdef" not in console.text("main")
    console.wait_text("1 client, 2 subscriptions", "main")
    # Changes of classes that liveQuery.classNames doesn't list are not published.
    assert console.text("main").count("Nothing arrives until you add") == 1, console.text("main")
    assert "Nothing arrives until you add Unlisted to liveQuery.classNames." in console.text("main"), console.text("main")
    console.value("window.socket.close()")
    console.wait_text("Nobody is connected", "main", 30)


def scenario_76_live_page_shows_events_of_a_class(console, rest):
    rest.define("Live", name={"type": "String"}, n={"type": "Number"})
    open_page(console, "live", ".live-events .panel")
    events = lambda: console.value("[...document.querySelectorAll('.events .log-row')].map((e) => e.innerText.replaceAll('\\n', ' ').replace(/^[0-9:.]+ /, ''))")
    choose(console, "[aria-label=Class]", "Live")
    condition = "[aria-label='Condition as JSON (empty: all)']"
    write(console, condition, "[1]")
    console.click_text("Watch", ".live-events")
    console.wait_text("A condition must be a JSON object.", ".live-events")
    write(console, condition, '{"n": {"$gt": 1}}')
    console.click_text("Watch", ".live-events")
    console.wait_text("Watching Live", ".events")
    console.value("""(() => {
        const { fetch } = window;
        window.asked = 0;
        window.fetch = async (address, options) => {
            const isQuestion = String(address).includes('live/events');
            if (isQuestion) window.asked += 1;
            const answer = await fetch(address, options);
            if (isQuestion && window.loses) {
                window.loses = false;
                throw new TypeError('lost');
            }
            return answer;
        };
    })()""")
    console.settle()
    rest.create("Live", name="not meant", n=0)
    object_id = rest.create("Live", name=MARKUP[0], n=2)
    until(lambda: events() == [f"create {object_id}"], "no creation comes")
    for n, kind in ((3, "update"), (0, "leave"), (5, "enter")):
        rest.update("Live", object_id, n=n)
        until(lambda: any(kind in one for one in events()), f"no event {kind} comes")
    rest.call("DELETE", f"/classes/Live/{object_id}")
    until(lambda: len(events()) == 5, "no deletion comes")
    assert events() == [f"create {object_id}", f"update {object_id} n 2 → 3", f"leave {object_id} n 3 → 0", f"enter {object_id} n 0 → 5", f"delete {object_id}"], events()
    # The old and the new value.
    console.value("document.querySelectorAll('.events .log-row')[1].click()")
    console.wait_text("Before", "dialog")
    assert MARKUP[0] in console.text("dialog")
    console.press("Escape")
    # While paused, the list doesn't change.
    console.click_text("Pause", ".live-events")
    late = rest.create("Live", name="late", n=9)
    console.wait_text("1 more while paused", ".live-events")
    assert len(events()) == 5
    console.click_text("Pause", ".live-events")
    until(lambda: events()[-1:] == [f"create {late}"], "the event is not there after the pause")
    # The events belong to the previous choice.
    console.click_text("Stop", ".live-events")
    console.value("(() => { const s = document.querySelector('[aria-label=Class]'); s.append(new Option('Other', 'Other')); s.value = 'Other'; })()")
    console.value("document.querySelector('.events .log-row').click()")
    console.wait("document.querySelector('dialog a')?.getAttribute('href').includes('/data/Live/')")
    console.press("Escape")
    console.value("document.querySelector('[aria-label=Class]').value = 'Live'")
    console.click_text("Watch", ".live-events")
    console.wait_text("Watching Live", ".events")
    # The events of a lost response are missing, and the page reports that.
    console.value("window.loses = true")
    rest.create("Live", name="lost", n=7)
    console.wait_text("some may be missing", ".live-events")
    # The list is limited.
    rest.create_many("Live", [{"n": number + 10} for number in range(1100)])
    console.wait_text("1,000 events", ".live-events", 60)
    console.wait_text("skipped", ".live-events")
    assert console.value("document.querySelectorAll('.events .log-row').length") < 100
    # After the page is left, no more requests are sent.
    console.press("g", "d")
    console.wait("location.pathname.includes('/data')")
    asked = console.value("window.asked")
    rest.create("Live", n=20)
    console.settle()
    assert console.value("window.asked") == asked


class LiveClients:
    """Live-query clients subscribed to a whole class. Counts their events."""

    def __init__(self, rest, class_name, count):
        self.place, self.events, self.isOver = urllib.parse.urlparse(rest.url), 0, False
        self.sockets = []
        for _ in range(count):
            one = socket.create_connection((self.place.hostname, self.place.port))
            one.sendall((f"GET {self.place.path} HTTP/1.1\r\nHost: {self.place.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += one.recv(1)
            assert b" 101 " in head, head
            for message in ({"op": "connect", "applicationId": rest.headers["X-Parse-Application-Id"]},
                            {"op": "subscribe", "requestId": 1, "query": {"className": class_name, "where": {}}}):
                data = json.dumps(message).encode()
                one.sendall(bytes([0x81, 0x80 | len(data)] if len(data) < 126 else [0x81, 0xfe, 0, len(data)]) + bytes(4) + data)
            self.sockets.append(one)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        with selectors.DefaultSelector() as selector:
            for one in self.sockets:
                selector.register(one, selectors.EVENT_READ)
            while not self.isOver:
                for key, _ in selector.select(0.1):
                    self.events += key.fileobj.recv(1 << 16).count(b'"op":"create"')

    def close(self):
        self.isOver = True
        self.thread.join()
        for one in self.sockets:
            one.close()


def slowest_key(console, key="Tab"):
    """Returns the maximum milliseconds from a key press to the next frame."""
    console.value("""window.times = []; addEventListener('keydown', ({ timeStamp }) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => window.times.push(performance.now() - timeStamp);
        port2.postMessage(0);
    }), true)""")
    for number in range(30):
        console.press(key)
        console.wait(f"window.times.length > {number}")
    return console.value("Math.max(...window.times)")


def scenario_76_live_page_stays_responsive_during_a_thousand_events_a_second(console, rest):
    rest.define("Live", name={"type": "String"})
    clients = LiveClients(rest, "Live", 210)
    stop = threading.Event()

    def save():
        while not stop.is_set():
            began = time.monotonic()
            rest.create("Live", name="x")
            # Each save leads to an event for every client.
            stop.wait(max(0, len(clients.sockets) / 1000 - (time.monotonic() - began)))

    saving = threading.Thread(target=save)
    saving.start()
    try:
        until(lambda: clients.events > 1000, "no events come")
        for attempt in range(4):
            console.browser.open(console.url + "a/none")
            bare = slowest_key(console)
            open_page(console, "live", "main table")
            console.wait_text("Showing the first 200", "main")
            before, began = clients.events, time.monotonic()
            live = slowest_key(console)
            assert clients.events > before or time.monotonic() - began < 1
            # Other processes may slow down any attempt.
            if live < max(100, 3 * bare):
                break
        else:
            raise AssertionError(f"a key took {live} ms, on a bare page {bare} ms")
    finally:
        stop.set()
        saving.join()
        clients.close()


def scenario_80_activity_pages_fit_a_phone(console, rest):
    console.size(375, 700)
    try:
        for path, ready in PAGES:
            open_page(console, path, ready)
            assert console.value(FITS), (path, console.value("""[...document.querySelectorAll('main *')].filter((e) =>
                !e.closest('.log, .log-line, svg, .sr, .tabs') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120)).slice(0, 3)"""))
    finally:
        console.size(1440, 900)


# A line's text is clipped at the edge of its row.
FITS = PHONE.replace(".diagram,", ".diagram, .log, .log-line,")
PAGES = (("logs", ".log-row"), ("cloud", "main table"), ("cloud/functions/hello", "main textarea"), ("cloud/jobs", "main table"), ("cloud/hooks", "main .button"), ("cloud/hosts", "main table"), ("push", ".push-preview"), ("rest", ".request"), ("live", "main .state, main table"))


def scenario_80_activity_pages_label_every_control(console, rest):
    for path, ready in PAGES:
        open_page(console, path, ready)
        nameless = console.value("""[...document.querySelectorAll('main button, main a, main input, main select, main textarea, main [role=listbox], main table')].filter((e) =>
            !(e.getAttribute('aria-label') || e.closest('label')?.textContent || e.innerText?.trim())).map((e) => e.outerHTML.slice(0, 120))""")
        assert not nameless, (path, nameless)
