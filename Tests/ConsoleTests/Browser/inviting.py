"""Scenarios of emails, on a server with an email adapter: invitations to operators, and changed texts."""

import json
import time

from signing_in import fill_new_operator


def scenario_80_mails_an_invitation_and_reports_an_invalid_address(console, rest):
    console.open("data")
    if not console.value(f"""fetch({json.dumps(console.url + 'api/session')}, {{ headers: {{ 'X-Roost-Console': localStorage.getItem('roost.token') }} }})
            .then((answer) => answer.json()).then(({{ features }}) => features.mails)"""):
        return
    name = f"invited {time.time_ns()}"
    fill_new_operator(console, name)
    console.press("Enter")
    # The browser's own address names only this machine.
    console.wait_text(f"Open http://app.example/console/start and sign in as {name}", "dialog:last-of-type")
    assert console.value("document.querySelector('dialog:last-of-type a[href]')") is None
    console.wait("document.activeElement.type === 'email'")
    console.type("nobody")
    console.press("Enter")
    console.wait_text("Email address format is invalid.", "dialog:last-of-type .problem")
    console.value("document.activeElement.select()")
    console.type("invited@m.example")
    console.press("Enter")
    console.wait_text("Email sent to invited@m.example", ".toasts")
    console.wait("document.querySelectorAll('dialog').length === 1")
    console.press("Escape")


def scenario_80_start_page_draws_the_server_url_as_a_qr_code(console, rest):
    console.open("start")
    console.wait_text("http://app.example/parse", "main")
    code = console.value(f"""fetch({json.dumps(console.url + 'api/start')}, {{ headers: {{ 'X-Roost-Console': localStorage.getItem('roost.token') }} }})
        .then((answer) => answer.json()).then(({{ code }}) => code)""")
    drawn = console.value("document.querySelector('main .qr path').getAttribute('d').match(/M\\d+ \\d+/g)")
    assert drawn == [f"M{x} {y}" for y, row in enumerate(code) for x, cell in enumerate(row) if cell == "1"], drawn
    assert console.value("document.querySelector('main .qr').getAttribute('viewBox')") == f"-4 -4 {len(code) + 8} {len(code) + 8}"
    assert console.value("(({ width, height }) => width === height && width >= 150)(document.querySelector('main .qr').getBoundingClientRect())")


def scenario_79_previews_changes_and_resets_a_mail_text(console, rest):
    console.open("settings")
    console.wait("document.querySelector('main table')")
    if not console.value("document.querySelector('[aria-label=\"Change passwordResetEmail\"]') !== null"):
        return
    console.click("[aria-label='Change passwordResetEmail']")
    console.wait("document.querySelector('dialog input').value === 'Password Reset for {{appName}}'")
    console.value("document.querySelector('dialog input').select()")
    console.type("A new password, {{username}}")
    console.click_text("Preview", "dialog")
    console.wait_text("A new password, kim", "dialog [role=status]")
    console.value("(() => { const list = document.querySelector('dialog select'); list.value = 'de'; list.dispatchEvent(new Event('change')); })()")
    console.wait("document.querySelector('dialog input').value.includes('Neues Passwort')")
    console.click_text("Save", "dialog")
    console.wait_text("passwordResetEmail changed", ".toasts")
    console.wait_text("A new password, kim", "main")
    console.click("[aria-label='Change passwordResetEmail']")
    console.click_text("Back to the configuration file", "dialog")
    console.wait("!document.querySelector('dialog') && !document.querySelector('main').innerText.includes('A new password')")
