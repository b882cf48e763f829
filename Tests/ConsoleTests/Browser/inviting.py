"""Scenarios of invitations to operators, which a server with an email adapter sends."""

import json
import time

from signing_in import fill_new_operator


def scenario_80_an_invitation_is_mailed_and_a_failure_is_shown(console, rest):
    console.open("data")
    if not console.value(f"""fetch({json.dumps(console.url + 'api/session')}, {{ headers: {{ 'X-Roost-Console': localStorage.getItem('roost.token') }} }})
            .then((answer) => answer.json()).then(({{ features }}) => features.mails)"""):
        return
    name = f"invited {time.time_ns()}"
    fill_new_operator(console, name)
    console.press("Enter")
    console.wait_text(f"sign in as {name}", "dialog:last-of-type")
    assert console.value("document.querySelector('dialog:last-of-type a[href]')") is None
    console.wait("document.activeElement.type === 'email'")
    console.type("nobody")
    console.press("Enter")
    console.wait_text("Email address format is invalid.", "dialog:last-of-type .problem")
    console.value("document.activeElement.select()")
    console.type("invited@m.example")
    console.press("Enter")
    console.wait_text("Mail sent to invited@m.example", ".toasts")
    console.wait("document.querySelectorAll('dialog').length === 1")
    console.press("Escape")
