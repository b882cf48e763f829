"""Scenarios of getting in."""

import time
import urllib.request


def scenario_02_rows_of_a_class_within_two_seconds(console, rest):
    rest.define("First", name={"type": "String"})
    rest.create("First", name="hello")
    console.open_class("First")
    began = time.monotonic()
    console.open_class("First")
    assert time.monotonic() - began < 2, time.monotonic() - began
    assert console.cell(0, "name") == "hello"


def scenario_12_no_frame_shows_it(console, rest):
    with urllib.request.urlopen(console.url) as answer:
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert "trusted-types 'none'" in answer.headers["Content-Security-Policy"]


def scenario_13_after_the_session_ended_what_was_typed_is_stored(console, rest):
    if not console.credentials:
        return
    rest.define("Typed", name={"type": "String"})
    object_id = rest.create("Typed", name="before")
    console.open_class("Typed")
    console.value("""fetch(location.pathname.replace(/data.*/, 'api/session'), {
        method: 'DELETE', headers: { 'X-Roost-Console': localStorage.getItem('roost.token') } }).then(() => true)""")
    console.edit(0, "name", "after")
    console.sign_in()
    console.wait_text("saved", ".toasts")
    assert rest.get("Typed", object_id)["name"] == "after"


def scenario_13_signing_out_leads_to_the_form(console, rest):
    if not console.credentials:
        return
    console.open("data")
    console.wait("document.querySelector('.rail')")
    console.value("document.querySelector('.rail button.item:last-child').click()")
    console.click_text("Sign out", ".menu")
    console.wait("document.querySelector('.signin input')")
    console.browser.fill(".signin input", "wrong")
    console.value("document.querySelectorAll('.signin input').forEach((input) => { input.value ||= 'wrong'; })")
    console.press("Enter")
    console.wait("document.querySelector('.signin .problem').textContent !== ''")
    assert console.value("document.activeElement.tagName") == "INPUT"
    console.open("data")
