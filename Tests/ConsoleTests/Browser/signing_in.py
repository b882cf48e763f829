"""Scenarios of sign-in."""

import base64
import contextlib
import hashlib
import hmac
import struct
import time
import urllib.request

from harness import Console


def scenario_02_shows_rows_after_few_requests(console, rest):
    rest.define("First", name={"type": "String"})
    rest.create("First", name="hello")
    console.open_class("First")
    console.open_class("First")
    before = console.requests_before("api/parse/classes/First")
    assert len(before) < 30 and sum("/api/" in address for address in before) <= 4, before
    assert console.cell(0, "name") == "hello"


def in_a_browser_of(console, **credentials):
    """Opens another browser with the sign-in form."""
    other = Console(console.url, credentials)
    other.browser.open(other.url + "data")
    other.wait("document.querySelector('.signin input')")
    if "name" in credentials and other.value("document.querySelector('.signin [name=name]') === null"):
        other.click_text("Use name and password")
    return other


def new_operator(console, role):
    """Creates an operator with the role and the password "a long password", and returns the name."""
    name = f"{role} {time.time_ns()}"
    assert console.api("POST", "operators", {"name": name, "password": "a long password", "role": role}) in (200, 201)
    return name


@contextlib.contextmanager
def browser_of_new(console, role):
    """Returns the name of a new operator with the role, and another browser with the sign-in form."""
    console.open("data")
    name = new_operator(console, role)
    other = in_a_browser_of(console, name=name, password="a long password")
    try:
        yield name, other
    finally:
        other.close()


def scenario_03_ticket_signs_in_only_once(console, rest):
    if not rest.ticket:
        return
    for is_first in (True, False):
        other = Console(console.url, {})
        try:
            if is_first:
                # The form is already displayed when the address is opened in the same tab.
                other.browser.open(other.url)
                other.wait("document.querySelector('.signin input')")
                other.value(f"location.hash = 'ticket={rest.ticket}'")
                other.wait("document.querySelector('main')")
            else:
                other.browser.open(f"{other.url}#ticket={rest.ticket}")
                other.wait("document.querySelector('.signin input')")
                assert other.value("document.querySelector('.signin .problem').textContent") != ""
            assert other.value("location.hash") == ""
            # An invalid ticket doesn't end the session.
            if is_first:
                other.browser.open(other.url + "audit")
                other.wait("document.querySelector('main')")
                other.value("location.hash = 'ticket=void'")
                other.wait("location.hash === '' && document.querySelector('main')")
                assert other.value("document.querySelector('.signin')") is None
        finally:
            other.close()


def scenario_05_asks_for_a_second_factor_and_accepts_a_code_once(console, rest):
    if not console.credentials:
        return
    with browser_of_new(console, "developer") as (name, other):
        other.sign_in()
        other.click(".rail button.item:last-child")
        other.click_text("My account", ".menu")
        other.click_text("Set up", "dialog")
        other.wait("document.querySelectorAll('dialog').length === 2")
        secret = other.value("document.querySelector('dialog:last-of-type code').textContent").replace(" ", "")
        key = base64.b32decode(secret + "=" * (-len(secret) % 8))

        def code(step):
            digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30 + step), hashlib.sha1).digest()
            return f"{(struct.unpack_from('>I', digest, digest[19] & 15)[0] & 0x7fffffff) % 1_000_000:06d}"

        used = code(-1)
        other.browser.fill("dialog:last-of-type input", used)
        other.press("Enter")
        other.wait_text("Each sign-in asks for a code.", "dialog")
        assert other.api("DELETE", "session") == 200
        other.browser.open(other.url)
        other.wait("document.querySelector('.signin input')")
        for field, value in (("name", name), ("password", "a long password")):
            other.browser.fill(f".signin [name={field}]", value)
        other.press("Enter")
        other.wait("document.querySelector('.signin [name=code]')")
        for value, is_right in ((used, False), (code(0), True)):
            other.value("document.querySelector('.signin [name=code]').value = ''")
            other.browser.fill(".signin [name=code]", value)
            other.press("Enter")
            other.wait("document.querySelector('.signin') === null || !document.querySelector('.signin .primary').disabled")
            assert other.value("document.querySelector('.signin') === null") == is_right


def scenario_18_asks_for_confirmation_before_dropping_a_class(console, rest):
    if not rest.database or not console.credentials:
        return
    with browser_of_new(console, "owner") as (name, other):
        other.sign_in()
        rest.define("Dropped", name={"type": "String"})
        drop = """import(document.querySelector('script[type=module]').src.replace(/main[.]js$/, 'core/api.js')).then(({ parse }) => {
            window.dropped = undefined;
            parse.delete('schemas/Dropped').then(() => { window.dropped = 'gone'; }, (problem) => { window.dropped = problem.status; });
        })"""
        rest.sql("UPDATE \"_roost_operator_session\" SET \"confirmedAt\" = now() - interval '16 minutes' WHERE name = '" + name + "'")
        other.value(drop)
        other.wait_text("Confirm that it is you", "dialog")
        other.click_text("Cancel", "dialog")
        other.wait("window.dropped === 403")
        assert "error" not in rest.call("GET", "/schemas/Dropped")
        other.value(drop)
        other.wait("document.querySelector('dialog input[type=password]')")
        for password in ("wrong", "a long password"):
            other.value("document.querySelector('dialog input').value = ''")
            other.browser.fill("dialog input", password)
            other.press("Enter")
            other.wait("document.querySelector('dialog') === null || document.querySelector('dialog .problem').textContent !== ''")
        other.wait("window.dropped === 'gone'")
        assert "error" in rest.call("GET", "/schemas/Dropped")


def scenario_18_lists_and_ends_sessions(console, rest):
    if not console.credentials:
        return
    console.open("data")
    name = new_operator(console, "viewer")
    first, second = (in_a_browser_of(console, name=name, password="a long password") for _ in range(2))
    try:
        first.sign_in()
        second.sign_in()
        first.click(".rail button.item:last-child")
        first.click_text("My account", ".menu")
        first.wait("document.querySelectorAll('dialog .member').length === 2")
        assert first.value("document.querySelectorAll('dialog .member .tag').length") == 1
        first.click_text("End", "dialog")
        first.wait("document.querySelectorAll('dialog .member').length === 1")
        assert second.api("GET", "session") == 401 and first.api("GET", "session") == 200
    finally:
        first.close()
        second.close()


def scenario_12_sends_headers_that_forbid_framing(console, rest):
    with urllib.request.urlopen(console.url) as answer:
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert "trusted-types 'none'" in answer.headers["Content-Security-Policy"]


def scenario_13_saves_a_typed_value_after_signing_in_again(console, rest):
    if not console.credentials:
        return
    rest.define("Typed", name={"type": "String"})
    object_id = rest.create("Typed", name="before")
    console.open_class("Typed")
    assert console.api("DELETE", "session") == 200
    console.edit(0, "name", "after")
    console.sign_in()
    console.wait_text("saved", ".toasts")
    assert rest.get("Typed", object_id)["name"] == "after"


def scenario_13_signing_out_shows_the_sign_in_form(console, rest):
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
    console.wait("(document.querySelector('.signin .problem')?.textContent ?? '') !== ''")
    assert console.value("document.activeElement.tagName") == "INPUT"
    console.open("data")


def scenario_04_reports_wrong_names_and_passwords_with_the_same_message(console, rest):
    if not console.credentials:
        return
    with browser_of_new(console, "editor") as (name, other):
        assert other.value("document.querySelector('.signin .wordmark').getAttribute('aria-label')") == "Roost"
        icon = other.value("fetch(document.querySelector('link[rel=icon]').href).then(async (answer) => [answer.headers.get('content-type'), await answer.text()])")
        assert icon[0].startswith("image/svg+xml") and icon[1].startswith("<svg"), icon
        said = set()
        for wrong in ({"name": name, "password": "wrong"}, {"name": "nobody", "password": "wrong"}):
            for field, value in wrong.items():
                other.value(f"document.querySelector('.signin [name={field}]').value = ''")
                other.browser.fill(f".signin [name={field}]", value)
            other.press("Enter")
            other.wait("document.querySelector('.signin .problem').textContent !== '' && !document.querySelector('.signin .primary').disabled")
            said.add(other.text(".signin .problem"))
        assert len(said) == 1, said
        other.open("data")
        other.wait_text(name[:8], ".rail")


def fill_new_operator(console, name):
    """Opens and fills in the form for a new operator."""
    console.click(".rail button.item:last-child")
    console.click_text("Operators", ".menu")
    console.click_text("New operator", "dialog")
    console.wait("document.querySelectorAll('dialog').length === 2")
    console.type(name)
    console.browser.fill("dialog:last-of-type input[type=password]", "a long password")


def scenario_80_owner_creates_changes_and_deletes_operators(console, rest):
    if not console.credentials:
        return
    console.open("data")
    name = f"made {time.time_ns()}"
    fill_new_operator(console, name)
    console.value("document.activeElement.select()")
    console.type("short")
    console.press("Enter")
    console.wait_text("at least 8 characters", "dialog:last-of-type .problem")
    console.wait("document.activeElement.type === 'password'")
    console.value("document.activeElement.select()")
    console.type("a long password")
    console.press("Enter")
    # The invitation has the address, but not the password.
    console.wait_text(f"sign in as {name}", "dialog:last-of-type")
    assert console.url in console.text("dialog:last-of-type pre") and "a long password" not in console.text("dialog:last-of-type")
    assert console.value("document.querySelector('dialog:last-of-type a[href]').getAttribute('href')").startswith("mailto:?")
    console.press("Escape")
    console.wait_text(name, "dialog")
    console.wait("document.querySelectorAll('dialog').length === 1")
    other = in_a_browser_of(console, name=name, password="a long password")
    try:
        other.sign_in()
        other.open("schema")
        other.wait("document.querySelector('.classes-drawing')")
        assert "New class" not in other.text()
        assert other.value("document.querySelector('.rail button.item:last-child').title").endswith("Viewer")
        console.click(f"[aria-label='Change {name}']")
        console.wait("document.querySelectorAll('dialog').length === 2")
        console.value("document.querySelector('dialog:last-of-type select').focus()")
        console.press("d")
        console.press("Control+Enter")
        console.wait("document.querySelectorAll('dialog').length === 1")
        console.wait_text("Developer", "dialog")
        # A change of role ends the session.
        other.click(".rail a[href$=config]")
        other.wait("document.querySelector('.signin')")
    finally:
        other.close()
    console.wait("document.querySelectorAll('dialog').length === 1")
    console.click(f"[aria-label='Delete {name}']")
    console.wait_text("signed out everywhere", "dialog:last-of-type")
    console.click("dialog:last-of-type .danger")
    console.wait(f"document.querySelectorAll('dialog').length === 1 && !document.querySelector('dialog').innerText.includes('{name}')")


def scenario_15_viewer_cannot_edit_rows_objects_or_settings(console, rest):
    if not console.credentials:
        return
    rest.define("Viewed", name={"type": "String"})
    object_id = rest.create("Viewed", name="as it is")
    with browser_of_new(console, "viewer") as (_, other):
        other.open_class("Viewed")
        assert "New object" not in other.text() and "New class" not in other.text()
        other.at(0, "name")
        other.press("Enter")
        other.wait_text("Your role is read-only.", ".toasts")
        other.press("Delete")
        other.settle()
        assert other.api("PUT", f"parse/classes/Viewed/{object_id}", {"name": "changed"}) == 403
        other.open(f"data/Viewed/{object_id}")
        other.wait("document.querySelector('.object')")
        assert other.value("document.querySelectorAll('.fields button').length") == 0
        assert rest.get("Viewed", object_id)["name"] == "as it is"
        # Settings are read-only.
        for path, selector in (("schema/Viewed", "main table"), ("access/Viewed", ".operation"), ("users", "main table, main .state"), ("config", "main table, main .state")):
            other.open(path)
            other.wait(f"document.querySelector('{selector}')")
            other.settle()
            offered = other.value("[...document.querySelectorAll('main button')].filter((e) => e.checkVisibility()).map((e) => e.getAttribute('aria-label') ?? e.textContent)")
            assert set(offered) <= {"Check without signing in", "As nobody", "Show more"}, (path, offered)
