"""Scenarios of changing, undoing and deleting."""

import base64
import contextlib
import copy
import http.server
import json
import tempfile
import threading
import time

from pages import make_user

TYPES = {
    "string": {"type": "String"}, "number": {"type": "Number"}, "flag": {"type": "Boolean"}, "date": {"type": "Date"},
    "pointer": {"type": "Pointer", "targetClass": "EArtist"}, "fans": {"type": "Relation", "targetClass": "EArtist"},
    "list": {"type": "Array"}, "object": {"type": "Object"}, "file": {"type": "File"}, "place": {"type": "GeoPoint"},
    "area": {"type": "Polygon"}, "data": {"type": "Bytes"},
}


def edited(console, rest, **values):
    """Creates an object with fields of all types, and opens it in the grid."""
    rest.define("EArtist", name={"type": "String"})
    rest.define("Edited", **TYPES)
    artists = rest.create_many("EArtist", [{"name": "Abba"}, {"name": "Queen"}])
    object_id = rest.create("Edited", **values)
    console.open_class("Edited")
    return object_id, artists


def until(read, expected, seconds=30):
    """Waits until a function returns the expected value."""
    deadline = time.monotonic() + seconds
    while (value := read()) != expected:
        assert time.monotonic() < deadline, f"{value!r} is not {expected!r}"
        time.sleep(0.02)


def sheet(console, row, field):
    console.at(row, field)
    console.press("Enter")
    console.wait("document.querySelector('dialog.sheet')")
    console.settle()


def save_sheet(console):
    console.press("Control+Enter")
    console.wait("document.querySelector('dialog') === null")


def fill_area(console, text):
    console.value(f"""(() => {{
        const area = document.querySelector('dialog.sheet textarea');
        area.value = {json.dumps(text)};
        area.dispatchEvent(new Event('input'));
        area.focus();
    }})()""")


# Delays responses to changes of matching URLs until `window.release()`, and counts them.
HOLD = """(() => {
    const { fetch } = window;
    const held = new Promise((release) => { window.release = () => { window.fetch = fetch; release(); }; });
    window.held = 0;
    window.fetch = async (address, options) => {
        const answer = await fetch(address, options);
        if (options?.method === 'PUT' && String(address).includes(%s)) {
            window.held += 1;
            await held;
        }
        return answer;
    };
})()"""


def paste(console, text):
    """Pastes at the active cell."""
    console.value(f"""(() => {{
        const data = new DataTransfer();
        data.setData('text/plain', {json.dumps(text)});
        document.querySelector('.g-scroll').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true, cancelable: true }}));
    }})()""")


def undo(console):
    """Presses the undo shortcut in the grid."""
    console.value("document.querySelector('r-grid').focus()")
    console.press("Control+z")


def edit_again(console, field):
    """Returns the editor's initial text after a rejection."""
    console.wait_text(f"{field} not saved", ".toast.bad")
    console.click_text("Edit again", ".toast.bad")
    console.wait("document.querySelector('.g-editor input, dialog.sheet textarea, dialog.sheet input')")
    return console.value("""(({ type, checked, value }) => type === 'checkbox' ? checked : value)(
        document.querySelector('.g-editor input, dialog.sheet textarea, dialog.sheet input'))""")


def mouse(console, x, y, clicks=1):
    """Clicks at a position, which moves the focus."""
    for count in range(1, clicks + 1):
        for kind in ("mousePressed", "mouseReleased"):
            console.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)


def mouse_on(console, element, clicks=1):
    """Clicks the center of an element, given as an expression, once it has stopped moving."""
    console.wait("document.getAnimations().length === 0")
    mouse(console, *console.value(f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])(({element}).getBoundingClientRect())"), clicks)


def scenario_38_sets_and_clears_values_of_each_type(console, rest):
    object_id, artists = edited(console, rest)
    stored = lambda name: (lambda: rest.get("Edited", object_id).get(name))
    for field, text, value in (
            ("string", "a text", "a text"), ("number", "12.5", 12.5), ("number", "+1", 13.5), ("number", "-3e2", -300),
            ("date", "2024-05-06T07:08:09.123Z", {"__type": "Date", "iso": "2024-05-06T07:08:09.123Z"}),
            ("place", "59.3, 18.1", {"__type": "GeoPoint", "latitude": 59.3, "longitude": 18.1})):
        console.edit(0, field, text)
        until(stored(field), value)
    console.at(0, "flag")
    for value in (True, False, None, True):
        console.press("Enter")
        until(stored("flag"), value)
    console.at(0, "pointer")
    console.press("Enter")
    console.wait("document.querySelector('.g-editor input')")
    console.type("que")
    console.wait("document.querySelector('.g-editor [aria-selected=true]')?.innerText.includes('Queen')")
    console.press("Enter")
    until(stored("pointer"), {"__type": "Pointer", "className": "EArtist", "objectId": artists[1]})
    for field, text, value in (
            ("list", '[1, "two", {"three": 3}]', [1, "two", {"three": 3}]), ("object", '{"a": {"b": 1}}', {"a": {"b": 1}}),
            ("area", "0, 0\n0, 10\n10, 10", {"__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [0, 0]]}),
            ("data", "48 69", {"__type": "Bytes", "base64": "SGk="})):
        sheet(console, 0, field)
        fill_area(console, text)
        save_sheet(console)
        until(stored(field), value)
    sheet(console, 0, "fans")
    console.type("abb")
    console.wait("document.querySelector('dialog [aria-selected=true]')?.innerText.includes('Abba')")
    console.press("Enter")
    console.wait_text("1 member", "dialog")
    related = {"$relatedTo": {"object": {"__type": "Pointer", "className": "Edited", "objectId": object_id}, "key": "fans"}}
    assert [row["name"] for row in rest.find("EArtist", related)] == ["Abba"]
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")
    sheet(console, 0, "ACL")
    console.click("dialog input[type=checkbox]")
    save_sheet(console)
    until(stored("ACL"), {})
    console.wait("document.querySelector('.toasts').innerText.includes('ACL')")
    assert "Only the master key" in console.cell(0, "ACL")
    for field in ("string", "number", "flag", "date", "pointer", "list", "object", "place", "area", "data"):
        console.at(0, field)
        console.press("Delete")
        until(stored(field), None)


def scenario_38_removes_files_and_relation_members(console, rest):
    object_id, artists = edited(console, rest, file={"__type": "File", "name": "a.txt"})
    rest.update("Edited", object_id, fans={"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "EArtist", "objectId": artists[0]}]})
    console.open_class("Edited")
    sheet(console, 0, "file")
    console.click_text("Remove", "dialog")
    until(lambda: rest.get("Edited", object_id).get("file", "absent"), "absent")
    console.wait("document.querySelector('dialog') === null")
    sheet(console, 0, "fans")
    console.wait_text("1 member", "dialog")
    console.click_text("Remove Abba", "dialog")
    console.wait_text("No members yet", "dialog")
    related = {"$relatedTo": {"object": {"__type": "Pointer", "className": "Edited", "objectId": object_id}, "key": "fans"}}
    assert rest.find("EArtist", related) == []
    console.press("Escape")


def scenario_38_undo_keeps_relation_members_that_the_edit_did_not_change(console, rest):
    object_id, artists = edited(console, rest)
    rest.update("Edited", object_id, fans={"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "EArtist", "objectId": artists[0]}]})
    sheet(console, 0, "fans")
    console.wait_text("1 member", "dialog")
    console.type("abb")
    console.wait("document.querySelector('dialog [aria-selected=true]')?.innerText.includes('Abba')")
    console.press("Enter")
    console.wait("/already|added/.test(document.body.innerText)")
    said = console.text("dialog .problem")
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")
    undo(console)
    # There is nothing to undo.
    console.settle()
    console.edit(0, "number", "1")
    until(lambda: rest.get("Edited", object_id).get("number"), 1)
    members = lambda: [row["name"] for row in rest.find("EArtist", {"$relatedTo": {"object": {"__type": "Pointer", "className": "Edited", "objectId": object_id}, "key": "fans"}})]
    assert members() == ["Abba"] and "Abba is already a member." in said, said
    # A former member isn't added again.
    sheet(console, 0, "fans")
    console.wait_text("1 member", "dialog")
    rest.update("Edited", object_id, fans={"__op": "RemoveRelation", "objects": [{"__type": "Pointer", "className": "EArtist", "objectId": artists[0]}]})
    console.click_text("Remove Abba", "dialog")
    console.wait_text("No members yet", "dialog")
    console.wait_text("Abba is no longer a member.", "dialog .problem")
    console.click_text("Close", "dialog")
    console.wait("document.querySelector('dialog') === null")
    undo(console)
    until(lambda: rest.get("Edited", object_id).get("number"), None)
    assert members() == []


def scenario_38_saves_values_typed_into_the_tree(console, rest):
    object_id, _ = edited(console, rest, object={"first": 1, "second": "a"})
    leaf = lambda key: f"[...document.querySelectorAll('dialog .leaf')].find((e) => e.querySelector('.key').innerText === '{key}').querySelector('.leaf-value')"
    for key, text, save in (("second", "by the button", lambda: mouse_on(console, "document.querySelector('dialog .dialog-foot .primary')")),
                            ("first", "2", lambda: console.press("Control+Enter"))):
        sheet(console, 0, "object")
        mouse_on(console, leaf(key), 2)
        console.wait("document.querySelector('dialog .leaf input')")
        console.value("document.querySelector('dialog .leaf input').select()")
        console.type(text)
        save()
        console.wait("document.querySelector('dialog') === null")
        until(lambda: str(rest.get("Edited", object_id)["object"][key]), text)
    # Escape discards only the typed text.
    sheet(console, 0, "object")
    mouse_on(console, leaf("second"), 2)
    console.wait("document.querySelector('dialog .leaf input')")
    console.type("dropped")
    console.press("Escape")
    console.wait("document.querySelector('dialog .leaf input') === null")
    save_sheet(console)
    assert rest.get("Edited", object_id)["object"] == {"first": 2, "second": "by the button"}


def scenario_38_resolves_a_quickly_typed_pointer_name_before_saving(console, rest):
    object_id, artists = edited(console, rest)
    console.edit(0, "pointer", "Queen")
    until(lambda: rest.get("Edited", object_id).get("pointer"), {"__type": "Pointer", "className": "EArtist", "objectId": artists[1]})


def scenario_38_saves_single_keys_and_choices_made_with_arrow_keys(console, rest):
    object_id, artists = edited(console, rest, number=7)
    stored = lambda name: rest.get("Edited", object_id).get(name)
    console.at(0, "number")
    console.press("5", "Enter")
    until(lambda: stored("number"), 5)
    # A single letter starts a search.
    console.at(0, "pointer")
    console.press("q", "Enter")
    until(lambda: (stored("pointer") or {}).get("objectId"), artists[1])
    console.at(0, "pointer")
    console.press("Enter")
    console.wait("document.querySelectorAll('.g-editor [role=option]').length === 2")
    chosen = console.value("[...document.querySelectorAll('.g-editor [role=option]')].findIndex((e) => e.innerText.includes('Abba'))")
    console.press(*["ArrowDown"] * (chosen + 1), "Enter")
    until(lambda: stored("pointer")["objectId"], artists[0])
    # An unchanged pointer is kept.
    console.at(0, "pointer")
    console.press("Enter")
    console.wait("document.querySelector('.g-editor input')")
    console.press("Enter")
    console.wait("document.querySelector('.g-editor') === null")
    assert stored("pointer")["objectId"] == artists[0]


def scenario_41_does_not_repeat_an_increment_whose_response_is_lost(console, rest):
    object_id, _ = edited(console, rest, number=1)
    console.value("""(() => {
        const { fetch } = window;
        window.fetch = async (address, options) => {
            const answer = await fetch(address, options);
            if (options.method !== 'PUT' || window.isLost) return answer;
            window.isLost = true;
            throw new TypeError('the answer is lost');
        };
    })()""")
    console.edit(0, "number", "+5")
    console.wait_text("number not saved", ".toasts")
    console.settle()
    assert rest.get("Edited", object_id)["number"] == 6


def scenario_39_reports_invalid_values_without_sending_them(console, rest):
    object_id, _ = edited(console, rest, number=7)
    console.edit(0, "number", "abc")
    console.wait_text("number is a Number; abc is not one.", ".g-message")
    assert console.value("document.querySelector('.g-editor input').value") == "abc"
    assert rest.get("Edited", object_id)["number"] == 7
    console.press("Escape")
    console.edit(0, "number", "12345678901234567890")
    console.wait_text("more digits", ".g-message")
    console.press("Escape")
    assert console.value("document.activeElement.className") == "g-scroll"


def scenario_39_keeps_the_typed_text_after_a_rejection(console, rest):
    if "error" in rest.call("POST", "/users", {"username": "refused-a", "password": "secret", "email": "refused-a@example.org"}):
        pass
    rest.call("POST", "/users", {"username": "refused-b", "password": "secret", "email": "refused-b@example.org"})
    console.open_class("_User", where={"username": "refused-b"})
    console.edit(0, "email", "refused-a@example.org")
    console.wait("document.querySelector('.toast.bad')")
    console.click_text("Edit again", ".toasts")
    console.wait("document.querySelector('.g-editor input')")
    assert console.value("document.querySelector('.g-editor input').value") == "refused-a@example.org"
    console.press("Escape")


def scenario_39_accepts_only_numbers_that_lose_no_digits(console, rest):
    object_id, _ = edited(console, rest)
    stored = lambda: rest.get("Edited", object_id).get("number")
    for text in ("0.1", "12.34", "434.99999999999994", "1e21", "361.69972904767087", "123456.789", "1.7976931348623157e308"):
        console.edit(0, "number", text)
        until(stored, float(text))
    for text in ("4.35", "434.99999999999994", "0.30000000000000004"):
        console.at(0, "number")
        paste(console, text)
        until(stored, float(text))
    console.wait("document.querySelector('dialog') === null")
    for text in ("9007199254740993", "123456789012345.678", "0.1234567890123456789"):
        console.edit(0, "number", text)
        console.wait_text("more digits", ".g-message")
        console.press("Escape")
        console.at(0, "number")
        paste(console, text)
        console.wait_text("more digits", "dialog")
        console.press("Escape")
        console.wait("document.querySelector('dialog') === null")
    assert stored() == 0.30000000000000004


def scenario_39_keeps_typed_values_of_each_type_after_a_rejection(console, rest):
    object_id, artists = edited(console, rest, number=1, string="a", object={"a": 1, "b": 1})
    # Changes of a deleted object are rejected.
    rest.call("DELETE", f"/classes/Edited/{object_id}")
    lost = {}

    def check(field, expected, read=lambda found: found):
        found = edit_again(console, field)
        try:
            is_kept = read(found) == expected
        except ValueError:
            is_kept = False
        if not is_kept:
            lost[field, str(expected)] = found
        console.press("Escape")
        console.wait("document.querySelector('dialog, .g-editor') === null")
    for field, text, expected in (
            ("number", "12.5", "12.5"), ("number", "+2", "+2"), ("date", "2024-05-06T07:08:09.123Z", "2024-05-06T07:08:09.123Z"),
            ("place", "59.3, 18.1", "59.3, 18.1"), ("pointer", "Queen", artists[1]), ("string", "b", "b")):
        console.edit(0, field, text)
        check(field, expected)
    console.at(0, "string")
    console.press("F2")
    console.wait("document.querySelector('.g-editor input')")
    console.press("Alt+Enter")
    console.wait("document.querySelector('dialog.sheet textarea')")
    fill_area(console, "one\ntwo")
    save_sheet(console)
    check("string", "one\ntwo")
    points = lambda text: [line.strip() for line in text.split("\n")]
    for field, text, expected, read in (
            ("list", '[1, "two"]', [1, "two"], json.loads), ("object", '{"a": 2, "b": 1}', {"a": 2, "b": 1}, json.loads),
            ("area", "0, 0\n0, 10\n10, 10", ["0, 0", "0, 10", "10, 10"], points), ("data", "48 69", "48 69", str)):
        sheet(console, 0, field)
        fill_area(console, text)
        save_sheet(console)
        check(field, expected, read)
    sheet(console, 0, "ACL")
    console.click("dialog input[type=checkbox]")
    save_sheet(console)
    check("ACL", True)
    assert not lost, lost


def scenario_39_saves_a_rejected_value_when_tried_again(console, rest):
    object_id, artists = edited(console, rest, number=1, list=[], object={"a": 1, "b": 1})
    refused = {"number": 7, "list": [1], "object": {"a": 2, "b": 1}, "pointer": {"__type": "Pointer", "className": "EArtist", "objectId": artists[0]}}
    for field in refused:
        rest.sql(f'CREATE UNIQUE INDEX ON "Edited" ("{field}")')
    for field, text in (("number", "7"), ("pointer", "Abba"), ("list", "[1]"), ("object", '{"a": 2, "b": 1}')):
        other = rest.create("Edited", **{field: refused[field]})
        if field in ("number", "pointer"):
            console.edit(0, field, text)
        else:
            sheet(console, 0, field)
            fill_area(console, text)
            save_sheet(console)
        edit_again(console, field)
        rest.call("DELETE", f"/classes/Edited/{other}")
        console.press("Enter" if field in ("number", "pointer") else "Control+Enter")
        until(lambda: rest.get("Edited", object_id).get(field), refused[field])


def scenario_39_clicks_outside_a_form_keep_typed_values(console, rest):
    edited(console, rest, object={"a": 1})
    is_open = lambda: console.value("document.querySelector('dialog') !== null")
    console.click_text("New object", ".head")
    console.wait("document.querySelector('dialog .form input')")
    # An unedited form closes.
    mouse(console, 5, 5)
    console.wait("document.querySelector('dialog') === null")
    console.click_text("New object", ".head")
    console.wait("document.querySelector('dialog .form input')")
    console.value("document.querySelector('dialog .form input').focus()")
    console.type("typed for long")
    mouse(console, 5, 5)
    console.settle()
    typed = lambda: "typed for long" in console.value("[...document.querySelectorAll('dialog .form input')].map((e) => e.value)")
    assert is_open() and typed()
    # Escape asks every time before it discards them.
    for _ in range(2):
        console.press("Escape")
        console.wait_text("Your entries are not saved.", "dialog:last-of-type")
        console.press("Escape")
        console.wait("document.querySelectorAll('dialog').length === 1")
        assert typed()
    console.press("Escape")
    console.click_text("Discard", "dialog")
    console.wait("document.querySelector('dialog') === null")
    sheet(console, 0, "object")
    mouse_on(console, "document.querySelector('dialog [aria-label=\"Remove a\"]')")
    console.wait("document.querySelector('dialog textarea').value === '{}'")
    mouse(console, 5, 5)
    console.settle()
    assert is_open()
    console.click_text("Cancel", "dialog")
    console.wait("document.querySelector('dialog') === null")


def scenario_40_grid_keys_work_as_documented(console, rest):
    rest.define("Keys", first={"type": "String"}, second={"type": "String"})
    rest.create_many("Keys", [{"first": f"a{number}", "second": f"b{number}"} for number in range(5)])
    console.open_class("Keys")
    active = lambda: console.value("(({ row, column }) => [row, column])(document.querySelector('r-grid').active)")
    column = console.value("document.querySelector('r-grid').columns.findIndex(({ name }) => name === 'first')")
    console.edit(1, "first", "changed")
    assert active() == [2, column]
    console.press("F2")
    console.type("dropped")
    console.press("Escape")
    assert active() == [2, column] and console.cell(2, "first").startswith("a")
    console.press("Enter")
    console.wait("document.querySelector('.g-editor')")
    console.press("Tab")
    assert active() == [2, column + 1]
    console.press("x")
    console.wait("document.querySelector('.g-editor input')?.value === 'x'")
    console.press("Escape")
    console.press("Control+k")
    console.wait("document.querySelector('dialog.palette')")
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")
    assert console.value("document.activeElement.className") == "g-scroll"
    console.at(0, "objectId")
    console.press("?")
    console.wait("document.querySelector('dialog .keys')")
    said = console.value("[...document.querySelectorAll('dialog .keys > span:nth-of-type(odd)')].map((e) => e.textContent)")
    assert said.count("Inspector") == 1 and said.count("Filter by this cell") == 1, said
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")
    assert console.value("document.activeElement.className") == "g-scroll"


def scenario_41_undoes_edits_in_reverse_order(console, rest):
    object_id, _ = edited(console, rest, string="start")
    for number in range(10):
        console.edit(0, "string", f"step {number}")
        until(lambda: rest.get("Edited", object_id)["string"], f"step {number}")
        console.wait_text("saved", ".toasts")
        console.settle()
    console.value("document.querySelector('r-grid').focus()")
    for number in range(9, -1, -1):
        console.press("Control+z")
        until(lambda: rest.get("Edited", object_id)["string"], f"step {number - 1}" if number else "start")
        console.settle()


def scenario_41_undo_waits_for_running_saves_and_undos(console, rest):
    object_id, _ = edited(console, rest, string="start", number=1)
    stored = lambda: [rest.get("Edited", object_id)[name] for name in ("string", "number")]
    recorded = lambda field: console.wait_text(f"{field} of", ".toasts")
    console.edit(0, "string", "kept")
    recorded("string")
    console.value(HOLD % "'/classes/'")
    console.edit(0, "number", "7")
    console.wait("window.held === 1")
    undo(console)
    console.settle()
    console.value("window.release()")
    until(stored, ["kept", 1])
    # Two concurrent changes of one field.
    for text in ("one", "two"):
        console.edit(0, "string", text)
        until(stored, [text, 1])
        recorded("string")
        console.settle()
    console.value(HOLD % "'/classes/'")
    undo(console)
    console.press("Control+z")
    console.wait("window.held >= 1")
    console.settle()
    console.value("window.release()")
    until(stored, ["kept", 1])
    # The redo shortcut undoes nothing.
    console.edit(0, "number", "8")
    until(stored, ["kept", 8])
    console.settle()
    console.value(HOLD % "'/classes/'")
    console.value("document.querySelector('r-grid').focus()")
    console.press("Control+Shift+z")
    console.press("Control+z")
    console.wait("window.held >= 1")
    console.settle()
    console.value("window.release()")
    until(stored, ["kept", 1])
    assert console.value("window.held") == 1


def scenario_41_undo_of_a_rejected_change_keeps_earlier_changes(console, rest):
    object_id, _ = edited(console, rest, string="start", number=1)
    rest.sql('CREATE UNIQUE INDEX ON "Edited" ("number")')
    rest.create("Edited", number=7)
    console.edit(0, "string", "kept")
    until(lambda: rest.get("Edited", object_id)["string"], "kept")
    console.wait_text("string of", ".toasts")
    console.value(HOLD % "'/classes/'")
    console.edit(0, "number", "7")
    console.wait("window.held === 1")
    undo(console)
    console.settle()
    console.value("window.release()")
    console.wait_text("number not saved", ".toasts")
    until(lambda: console.cell(0, "number"), "1")
    console.settle()
    assert rest.get("Edited", object_id)["string"] == "kept"


def scenario_41_undo_follows_the_order_of_edits_not_of_responses(console, rest):
    rest.define("Turns", name={"type": "String"}, n={"type": "Number"})
    first, second = (rest.create("Turns", name="start", n=number) for number in (1, 2))
    console.open_class("Turns", order="n")
    names = lambda: [rest.get("Turns", object_id)["name"] for object_id in (first, second)]
    console.value(HOLD % json.dumps(first))
    console.edit(0, "name", "made first")
    console.wait("window.held === 1")
    console.edit(1, "name", "made last")
    console.wait_text("saved", ".toasts")
    undo(console)
    console.settle()
    console.value("window.release()")
    until(names, ["made first", "start"])
    undo(console)
    until(names, ["start", "start"])


def scenario_41_undo_updates_the_visible_rows(console, rest):
    object_id, _ = edited(console, rest, string="start")
    stored = lambda: rest.get("Edited", object_id)["string"]

    def open_object():
        console.at(0, "objectId")
        console.press("Control+Enter")
        console.wait("document.querySelector('.object [data-field=string]')")
        console.settle()

    def leave():
        console.press("Escape")
        console.wait("document.querySelector('r-grid')?.rows?.isCounted && document.querySelector('.object') === null")
        console.settle()
    open_object()
    console.click(".object [data-field=string]")
    console.wait("document.querySelector('.object .g-editor input')")
    console.value("document.querySelector('.object .g-editor input').select()")
    console.type("changed")
    console.press("Enter")
    until(stored, "changed")
    console.wait_text("string of", ".toasts")
    leave()
    until(lambda: console.cell(0, "string"), "changed")
    undo(console)
    until(stored, "start")
    until(lambda: console.cell(0, "string"), "start")
    # The same after the rows were reloaded.
    console.edit(0, "string", "again")
    until(stored, "again")
    console.wait_text("string of", ".toasts")
    console.value("window.before = document.querySelector('r-grid').rows")
    console.press("Alt+r")
    console.wait("(({ rows }) => rows !== window.before && rows.isCounted)(document.querySelector('r-grid'))")
    undo(console)
    until(stored, "start")
    until(lambda: console.cell(0, "string"), "start")
    # An object deleted on its page returns to the list.
    open_object()
    console.click_text("Delete", ".head")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("Edited"), 0)
    console.wait("document.querySelector('.object') === null && document.querySelector('main .state')")
    console.click_text("Undo", ".toasts")
    until(lambda: rest.count("Edited"), 1)
    console.wait("document.querySelector('r-grid')?.rows?.at(0)?.values.get('string') === 'start'")


def scenario_41_undo_restores_a_deleted_object_exactly(console, rest):
    object_id, artists = edited(console, rest, string="kept", number=1.5, list=[1, None, "x"], object={"a": {"b": [1]}},
                                date={"__type": "Date", "iso": "2024-01-02T03:04:05.678Z"}, ACL={"*": {"read": True}},
                                data={"__type": "Bytes", "base64": "SGk="})
    before = rest.get("Edited", object_id)
    console.at(0, "objectId")
    console.press("Space", "Delete")
    console.wait_text("Delete 1 object of Edited?", "dialog")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("Edited"), 0)
    console.wait_text("deleted", ".toasts")
    console.click_text("Undo", ".toasts")
    until(lambda: rest.get("Edited", object_id), before)
    if console.credentials:
        console.open("audit", object=object_id)
        console.wait_text("Restored 1 object of Edited", "main")


def scenario_41_undo_restores_several_deleted_rows(console, rest):
    rest.define("Several", name={"type": "String"})
    rest.create_many("Several", [{"name": f"n{number}"} for number in range(7)])
    before = sorted(rest.find("Several"), key=lambda row: row["objectId"])
    console.open_class("Several")
    console.at(0, "objectId")
    console.press("Space", "ArrowDown", "Space", "ArrowDown", "Space", "Delete")
    console.wait_text("Delete 3 objects of Several?", "dialog")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("Several"), 4)
    console.wait_text("4 objects", ".head")
    console.click_text("Undo", ".toasts")
    until(lambda: sorted(rest.find("Several"), key=lambda row: row["objectId"]), before)
    console.wait_text("7 objects", ".head")


def scenario_41_undo_restores_all_rows_except_those_that_cannot_be_restored(console, rest):
    rest.define("Partly", name={"type": "String"})
    rest.insert("Partly", [{"objectId": f"partly{number}", "createdAt": "2024-01-01T00:00:00.000Z", "updatedAt": "2024-01-01T00:00:00.000Z",
                            "name": f"n{number}"} for number in range(5)])
    console.open_class("Partly")
    console.at(0, "objectId")
    console.press("Control+a", "Delete")
    console.wait_text("Delete 5 objects of Partly?", "dialog")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("Partly"), 0)
    rest.insert("Partly", [{"objectId": "partly3", "createdAt": "2024-01-01T00:00:00.000Z", "updatedAt": "2024-01-01T00:00:00.000Z", "name": "another"}])
    console.click_text("Undo", ".toasts")
    until(lambda: sorted(row["name"] for row in rest.find("Partly")), ["another", "n0", "n1", "n2", "n4"])
    console.wait_text("4 objects restored", ".toasts")


# Makes a request fail as if the connection were lost before it arrived.
LOSE = """(() => {
    const { fetch } = window;
    let number = 0;
    window.fetch = (address, options) => String(address).includes(%s) && options.method === 'POST' && (number += 1) === %d
        ? Promise.reject(new TypeError('the connection is lost')) : fetch(address, options);
})()"""


def scenario_41_undo_continues_after_a_lost_connection(console, rest):
    rest.define("Cut", name={"type": "String"}, state={"type": "String"})
    rest.create_many("Cut", [{"name": f"n{number:03d}", "state": f"s{number}"} for number in range(450)])
    before = sorted(rest.find("Cut", limit="1000"), key=lambda row: row["name"])
    states = lambda: [row["state"] for row in sorted(rest.find("Cut", limit="1000"), key=lambda row: row["name"])]
    console.open_class("Cut")
    console.click_text("More actions", ".head")
    console.click_text("Set a field of all 450 …", ".menu")
    console.wait("document.querySelector('dialog select')")
    console.value("(() => { const s = document.querySelector('dialog select'); s.value = 'state'; s.dispatchEvent(new Event('change')); document.querySelector('dialog input').focus(); })()")
    console.type("new")
    console.click_text("Set 450 objects", "dialog")
    console.wait_text("to new.", "dialog")
    console.click_text("Set 450 objects", "dialog")
    until(lambda: rest.count("Cut", {"state": "new"}), 450)
    console.wait_text("450 objects set", ".toasts")
    console.value(LOSE % ("'/batch'", 2))
    console.click_text("Undo", ".toasts")
    console.wait_text("The connection was lost", "dialog")
    console.click_text("Close", "dialog .dialog-foot")
    console.wait_text("250 objects are not restored yet", ".toasts")
    assert sum(state == "new" for state in states()) == 250
    console.wait("document.querySelector('dialog') === null && document.querySelector('r-grid')")
    console.value("document.querySelector('r-grid').focus()")
    console.press("Control+z")
    until(states, [row["state"] for row in before])
    # The same for deleted objects.
    console.settle()
    console.open_class("Cut", where={"state": {"$in": ["s1", "s2", "s3"]}})
    console.at(0, "objectId")
    console.press("Control+a", "Delete")
    console.wait_text("Delete 3 objects of Cut?", "dialog")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("Cut"), 447)
    console.value(LOSE % ("'/restore'", 2))
    console.click_text("Undo", ".toasts")
    console.wait("document.querySelector('.toast.bad')")
    assert rest.count("Cut") == 448
    console.click_text("Undo", ".toast.bad")
    until(states, [row["state"] for row in before])


def scenario_42_undo_is_rejected_after_someone_elses_change(console, rest):
    object_id, _ = edited(console, rest, string="start")
    console.edit(0, "string", "mine")
    console.wait_text("saved", ".toasts")
    rest.update("Edited", object_id, string="theirs")
    console.click_text("Undo", ".toasts")
    console.wait("document.querySelector('.toast.bad')")
    assert "theirs" in console.text(".toast.bad") and "mine" in console.text(".toast.bad")
    assert rest.get("Edited", object_id)["string"] == "theirs"


def scenario_43_asks_before_overwriting_someone_elses_change(console, rest):
    object_id, _ = edited(console, rest, string="start", number=1)
    rest.update("Edited", object_id, number=2)
    console.edit(0, "string", "no harm")
    until(lambda: rest.get("Edited", object_id)["string"], "no harm")
    rest.update("Edited", object_id, string="theirs")
    console.edit(0, "string", "mine")
    console.wait_text("Changed by someone else", "dialog")
    assert "theirs" in console.text("dialog") and "mine" in console.text("dialog")
    console.click_text("Keep theirs", "dialog")
    console.wait("document.querySelector('r-grid').cellElement(0, document.querySelector('r-grid').columns.findIndex(({ name }) => name === 'string')).innerText === 'theirs'")
    rest.update("Edited", object_id, string="theirs again")
    console.edit(0, "string", "mine again")
    console.wait_text("Changed by someone else", "dialog")
    console.click_text("Save yours", "dialog")
    until(lambda: rest.get("Edited", object_id)["string"], "mine again")


def scenario_43_undo_restores_a_deliberately_overwritten_value(console, rest):
    object_id, _ = edited(console, rest, string="start")
    rest.update("Edited", object_id, string="theirs")
    console.edit(0, "string", "mine")
    console.wait_text("Changed by someone else", "dialog")
    console.click_text("Save yours", "dialog")
    until(lambda: rest.get("Edited", object_id)["string"], "mine")
    console.wait_text("string of", ".toasts")
    undo(console)
    until(lambda: rest.get("Edited", object_id)["string"] != "mine", True)
    assert rest.get("Edited", object_id)["string"] == "theirs"
    until(lambda: console.cell(0, "string"), "theirs")


def scenario_43_shows_and_never_overwrites_concurrent_changes_by_apps(console, rest):
    object_id, artists = edited(console, rest, string="start", number=5, object={"mine": 1, "theirs": 1})
    stored = lambda name: rest.get("Edited", object_id).get(name)
    shown = lambda name: console.value(f"document.querySelector('r-grid').rows.at(0).values.get('{name}')")

    def known():
        """Waits until the page has received the response."""
        until(lambda: shown("updatedAt"), stored("updatedAt"))
        console.settle()
    rest.update("Edited", object_id, number=9)
    console.edit(0, "string", "mine")
    until(lambda: stored("string"), "mine")
    until(lambda: console.cell(0, "number"), "9")
    rest.update("Edited", object_id, number=11)
    console.edit(0, "number", "6")
    console.wait_text("Changed by someone else", "dialog")
    console.click_text("Keep theirs", "dialog")
    until(lambda: console.cell(0, "number"), "11")
    assert shown("string") == "mine"
    # Changes and undoes a member while an app changes another one.
    rest.update("Edited", object_id, **{"object.theirs": 2})
    sheet(console, 0, "object")
    fill_area(console, '{"mine": 2, "theirs": 1}')
    console.wait_text("Saves only object.mine", "dialog")
    fill_area(console, '{"mine": 2, "theirs": 3}')
    console.wait("!document.querySelector('dialog').innerText.includes('Saves only')")
    fill_area(console, '{"mine": 2, "theirs": 1}')
    save_sheet(console)
    until(lambda: stored("object"), {"mine": 2, "theirs": 2})
    known()
    assert shown("object") == {"mine": 2, "theirs": 2}
    rest.update("Edited", object_id, **{"object.theirs": 3})
    console.press("Control+z")
    until(lambda: stored("object"), {"mine": 1, "theirs": 3})
    known()
    assert shown("object") == {"mine": 1, "theirs": 3}
    # Undoing an increment restores the exact previous value.
    rest.update("Edited", object_id, number=0.1)
    console.edit(0, "number", "+0.2")
    until(lambda: stored("number"), 0.1 + 0.2)
    known()
    console.press("Control+z")
    until(lambda: stored("number"), 0.1)
    known()
    # Adding a member displays an app's change of another field.
    rest.update("Edited", object_id, string="theirs")
    sheet(console, 0, "fans")
    console.type("abb")
    console.wait("document.querySelector('dialog [aria-selected=true]')?.innerText.includes('Abba')")
    console.press("Enter")
    console.wait_text("1 member", "dialog")
    console.press("Escape")
    known()
    assert shown("string") == "theirs"
    # Undo doesn't overwrite somebody else's value, however the page learned of it.
    console.edit(0, "string", "mine again")
    until(lambda: stored("string"), "mine again")
    known()
    rest.update("Edited", object_id, string="theirs again")
    console.edit(0, "number", "7")
    until(lambda: stored("number"), 7)
    known()
    assert console.cell(0, "string") == "theirs again"
    console.press("Control+z", "Control+z")
    console.wait_text("theirs again", ".toast.bad")
    assert stored("string") == "theirs again"


def scenario_44_restored_user_logs_in_with_the_old_password(console, rest):
    name = f"restored-{time.time_ns()}"
    rest.call("POST", "/users", {"username": name, "password": "old secret"})
    console.open_class("_User", where={"username": name})
    console.at(0, "objectId")
    console.press("Space", "Delete")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("_User", {"username": name}), 0)
    console.click_text("Undo", ".toasts")
    until(lambda: rest.count("_User", {"username": name}), 1)
    assert "sessionToken" in rest.call("GET", "/login", username=name, password="old secret")


def scenario_44_deleted_sessions_stay_ended(console, rest):
    name = f"ended-{time.time_ns()}"
    user = rest.call("POST", "/users", {"username": name, "password": "secret"})["objectId"]
    rest.call("GET", "/login", username=name, password="secret")
    session = rest.find("_Session", {"user": {"__type": "Pointer", "className": "_User", "objectId": user}})[0]["objectId"]
    console.open_class("_Session", where={"objectId": session})
    console.at(0, "objectId")
    console.press("Space", "Delete")
    console.wait_text("Ended sessions can't be restored.", "dialog")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("_Session", {"objectId": session}), 0)
    console.wait_text("1 object of _Session deleted", ".toasts")
    assert "Undo" not in console.text(".toasts")
    console.press("Control+z")
    console.wait_text("you can't undo this", ".toasts")
    assert rest.count("_Session", {"objectId": session}) == 0
    console.open("trash/_Session")
    console.wait_text("The trash is empty", "main")


def scenario_44_restores_an_object_without_values_that_no_longer_fit(console, rest):
    def retype(field, kind):
        """Changes the type of a field."""
        for change in ({"__op": "Delete"}, {"type": kind}):
            assert "error" not in rest.call("PUT", "/schemas/Retyped", {"className": "Retyped", "fields": {field: change}})
    rest.define("Retyped", name={"type": "String"}, plays={"type": "String"}, tags={"type": "Object"})
    rest.create_many("Retyped", [{"name": f"n{number}", "plays": "many", "tags": {"a": 1}} for number in range(2)])
    console.open_class("Retyped")
    console.at(0, "objectId")
    console.press("Control+a", "Delete")
    console.click_text("Delete", "dialog")
    until(lambda: rest.count("Retyped"), 0)
    retype("plays", "Number")
    retype("tags", "Array")
    # One question for the whole undo.
    console.click_text("Undo", ".toasts")
    console.wait_text("The object's values in plays, tags no longer fit the class.", "dialog")
    assert rest.count("Retyped") == 0
    console.click_text("Restore without plays, tags", "dialog")
    until(lambda: sorted(row["name"] for row in rest.find("Retyped")), ["n0", "n1"])
    assert not any("plays" in row or "tags" in row for row in rest.find("Retyped"))
    console.wait_text("2 objects restored", ".toasts")
    # The object stays in the trash until the operator agrees.
    rest.define("Retyped", name={"type": "String"}, plays={"type": "String"})
    object_id = rest.create("Retyped", name="alone", plays="many")
    console.open("data")
    assert console.api("DELETE", f"parse/classes/Retyped/{object_id}") == 200
    retype("plays", "Number")
    console.open("trash/Retyped")
    row = f"[...document.querySelectorAll('.trash-row')].find((e) => e.innerText.includes('{object_id}'))"
    console.wait(row)
    for wants in (False, True):
        console.value(row + ".querySelector('.button').click()")
        console.wait_text("in plays no longer fit", "dialog")
        console.click_text("Restore without plays" if wants else "Cancel", "dialog")
        console.wait("document.querySelector('dialog') === null")
        if not wants:
            console.wait(row + "?.querySelector('.button:not(:disabled)')")
            assert rest.count("Retyped") == 0
    until(lambda: [row["objectId"] for row in rest.find("Retyped")], [object_id])
    console.wait_text("without plays", ".toasts")


def scenario_45_sets_a_field_of_many_rows_and_stops_on_request(console, rest):
    rest.define("Bulk", name={"type": "String"}, state={"type": "String"})
    rest.create_many("Bulk", [{"name": f"n{number}", "state": "old"} for number in range(3000)])
    console.open_class("Bulk", where={"state": "old"})
    console.click_text("More actions", ".head")
    console.click_text("Set a field of all 3,000 …", ".menu")
    console.wait("document.querySelector('dialog select')")
    console.value("(() => { const s = document.querySelector('dialog select'); s.value = 'state'; s.dispatchEvent(new Event('change')); document.querySelector('dialog input').focus(); })()")
    console.type("new")
    console.click_text("Set 3,000 objects", "dialog")
    console.wait_text("Type 3,000 to continue", "dialog")
    console.value("document.querySelector('dialog input').focus()")
    console.type("3000")
    console.click_text("Set 3,000 objects", "dialog")
    console.wait("document.querySelector('dialog progress')?.value >= 400")
    console.click_text("Stop", "dialog")
    console.wait_text("Stopped:", "dialog")
    told = console.value("Number(/Stopped: ([\\d,]+) of/.exec(document.querySelector('dialog').innerText)[1].replace(',', ''))")
    assert 400 <= told < 3000 and rest.count("Bulk", {"state": "new"}) == told, told
    console.click_text("Close", "dialog .dialog-foot")
    console.wait_text("set", ".toasts")
    console.click_text("Undo", ".toasts")
    until(lambda: rest.count("Bulk", {"state": "old"}), 3000, 20)
    # The same number of selected rows is confirmed in the same way.
    console.open_class("Bulk", where={"state": "old"})
    for row in range(0, 1500, 50):
        console.at(row, "name")
        console.wait(f"document.querySelector('r-grid').rows.at({row}) !== undefined")
    console.press("Control+a")
    console.wait_text("selected", ".content .foot")
    selected = console.value("document.querySelector('r-grid').selected.size")
    assert selected > 1000, selected
    console.click_text("Set a field", ".content .foot")
    console.wait("document.querySelector('dialog select')")
    console.value("(() => { const s = document.querySelector('dialog select'); s.value = 'state'; s.dispatchEvent(new Event('change')); document.querySelector('dialog input').focus(); })()")
    console.type("newer")
    console.click_text(f"Set {selected:,} objects", "dialog")
    console.wait_text(f"Type {selected:,} to continue", "dialog")
    console.click_text("Cancel", "dialog")
    console.settle()
    assert rest.count("Bulk", {"state": "old"}) == 3000


def scenario_45_adds_selected_users_to_a_role(console, rest):
    mark = time.time_ns()
    ids = [rest.call("POST", "/users", {"username": f"member{number}-{mark}", "password": "secret"})["objectId"] for number in range(3)]
    pointers = [{"__type": "Pointer", "className": "_User", "objectId": object_id} for object_id in ids]
    role = rest.call("POST", "/roles", {"name": f"Bulk{mark}", "ACL": {}, "users": {"__op": "AddRelation", "objects": pointers[:1]}})["objectId"]
    related = {"$relatedTo": {"object": {"__type": "Pointer", "className": "_Role", "objectId": role}, "key": "users"}}
    members = lambda: sorted(row["objectId"] for row in rest.find("_User", related))
    console.open_class("_User", where={"username": {"$regex": f"-{mark}$"}})
    console.at(0, "objectId")
    console.press("Control+a")
    console.click_text("Add to …", ".content .foot")
    console.wait("document.querySelector('dialog select')?.selectedOptions[0].text === '_Role \u00b7 users'")
    console.value("document.querySelector('dialog .picker input').focus()")
    console.type(f"Bulk{mark}")
    console.click_text("Add 3 objects of _User", "dialog .dialog-foot")
    console.wait_text(f"3 objects of _User become members of users of Bulk{mark}.", "dialog")
    console.click_text("Add 3 objects of _User", "dialog .dialog-foot")
    until(members, sorted(ids))
    # Undo doesn't remove earlier members.
    console.wait_text("2 objects added to users", ".toasts")
    console.click_text("Undo", ".toasts")
    until(members, ids[:1])


def scenario_45_sets_the_acl_of_many_objects(console, rest):
    rest.define("BulkAccess", name={"type": "String"})
    rest.create_many("BulkAccess", [{"name": f"n{number}"} for number in range(250)])
    console.open_class("BulkAccess")
    console.click_text("More actions", ".head")
    console.click_text("Set the permissions of all 250 …", ".menu")
    console.click("dialog input[type=checkbox]")
    console.click_text("Add everybody", "dialog")
    console.wait_text("everybody: read", "dialog")
    assert "Add everybody" not in console.text("dialog")
    console.click_text("Set 250 objects", "dialog .dialog-foot")
    console.wait_text("This sets ACL of 250 objects of BulkAccess to everybody: read.", "dialog")
    console.click_text("Set 250 objects", "dialog .dialog-foot")
    acls = lambda: {json.dumps(row.get("ACL")) for row in rest.find("BulkAccess", limit="1000")}
    until(acls, {json.dumps({"*": {"read": True}})})
    console.wait_text("ACL of 250 objects set", ".toasts")
    console.click_text("Undo", ".toasts")
    # The API can't remove an ACL, so a public one is stored instead.
    until(acls, {json.dumps({"*": {"read": True, "write": True}})})


@contextlib.contextmanager
def hook(rest, name, answer):
    """Provides a cloud function as a webhook; `answer(parameters)` returns its response."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.dumps(answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["params"])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        rest.call("DELETE", f"/hooks/functions/{name}")
        made = rest.call("POST", "/hooks/functions", {"functionName": name, "url": f"http://127.0.0.1:{server.server_address[1]}/"})
        assert "error" not in made, made
        yield
    finally:
        rest.call("DELETE", f"/hooks/functions/{name}")
        server.shutdown()


def scenario_45_calls_a_function_for_each_object_and_stops_on_request(console, rest):
    rest.define("Called", name={"type": "String"})
    rest.create_many("Called", [{"name": f"n{number}"} for number in range(40)])
    refused = rest.find("Called", {"name": "n7"})[0]["objectId"]
    called, go_on = [], threading.Event()

    def answer(parameters):
        if parameters.get("waits"):
            if len(called) >= 8:
                go_on.wait(30)
        called.append((parameters["object"]["objectId"], parameters["object"]["className"], parameters.get("greeting")))
        return {"error": "not this one"} if parameters["object"]["objectId"] == refused else {"success": "done"}
    choose = lambda: console.value("(() => { const s = document.querySelector('dialog select'); s.value = 'bulkHook'; s.dispatchEvent(new Event('change')); })()")

    def fill(text):
        console.value(f"(() => {{ const area = document.querySelector('dialog textarea'); area.value = {json.dumps(text)}; area.dispatchEvent(new Event('input')); }})()")
    with hook(rest, "bulkHook", answer):
        console.open_class("Called")
        console.click_text("More actions", ".head")
        console.click_text("Call a function for all 40 …", ".menu")
        console.wait("[...document.querySelectorAll('dialog option')].some((e) => e.value === 'bulkHook')")
        choose()
        fill('{"greeting": ')
        console.click_text("Call a function for 40 objects", "dialog .dialog-foot")
        console.wait_text("is not one", "dialog")
        fill('{"greeting": "hello"}')
        console.click_text("Call a function for 40 objects", "dialog .dialog-foot")
        console.wait_text("This calls bulkHook 40 times", "dialog")
        assert called == []
        console.click_text("Call a function for 40 objects", "dialog .dialog-foot")
        console.wait_text("1 failed", "dialog")
        assert "not this one" in console.text("dialog")
        assert len(called) == 40 and len({one for one, _, _ in called}) == 40 and {rest_of[1:] for rest_of in called} == {("Called", "hello")}
        console.click_text("Close", "dialog .dialog-foot")
        console.wait_text("bulkHook called for 39 objects", ".toasts")
        # Stopping skips the remaining calls.
        called.clear()
        # The rows are read again after the calls, which ends a selection.
        console.settle()
        console.at(0, "name")
        console.press("Control+a")
        console.click_text("Call a function", ".content .foot")
        console.wait("document.querySelector('dialog select')")
        choose()
        fill('{"waits": true}')
        console.click_text("Call a function for 40 objects", "dialog .dialog-foot")
        console.wait_text("This calls bulkHook 40 times", "dialog")
        console.click_text("Call a function for 40 objects", "dialog .dialog-foot")
        console.wait("document.querySelector('dialog progress')?.value >= 8")
        console.click_text("Stop", "dialog")
        go_on.set()
        console.wait_text("Stopped:", "dialog")
        told = console.value("Number(/Stopped: (\\d+) of 40/.exec(document.querySelector('dialog').innerText)[1])")
        assert 8 <= told < 40 and len(called) == told, (told, len(called))
        console.click_text("Close", "dialog .dialog-foot")


def scenario_46_pastes_a_range_from_a_spreadsheet(console, rest):
    rest.define("Paste", a={"type": "String"}, b={"type": "Number"}, c={"type": "Boolean"})
    rest.create_many("Paste", [{"a": f"row {number}"} for number in range(5)])
    console.open_class("Paste")
    console.at(0, "a")
    paste(console, "one\t1\ttrue\ntwo \"quoted\"\t2,000\tfalse\n\"with\ttab\nand line\"\t-3\ttrue\nfour\t4.5\t")
    console.wait_text("11 cells pasted", ".toasts")
    stored = console.value("[0, 1, 2, 3].map((row) => document.querySelector('r-grid').rows.at(row).id)")
    values = [[rest.get("Paste", object_id).get(field) for field in "abc"] for object_id in stored]
    assert values == [["one", 1, True], ['two "quoted"', 2000, False], ["with\ttab\nand line", -3, True], ["four", 4.5, None]], values
    console.press("Control+z")
    until(lambda: rest.get("Paste", stored[0]).get("b"), None)


def scenario_46_paste_keeps_concurrent_changes(console, rest):
    rest.define("Beside", a={"type": "String"}, b={"type": "Number"}, c={"type": "Boolean"})
    object_id = rest.create("Beside", a="start", b=0, c=False)
    stored = lambda: [rest.get("Beside", object_id)[name] for name in "abc"]
    console.open_class("Beside")
    paste_at = lambda field, text: (console.at(0, field), paste(console, text))
    # Pastes and undoes while an app changes another field.
    rest.update("Beside", object_id, c=True)
    paste_at("a", "one\t1")
    until(stored, ["one", 1, True])
    console.wait_text("2 cells pasted", ".toasts")
    until(lambda: console.value("document.querySelector('r-grid').rows.at(0).values.get('c')"), True)
    rest.update("Beside", object_id, c=False)
    undo(console)
    until(stored, ["start", 0, False])
    console.wait_text("1 row restored", ".toasts")
    # Pastes while an edit is being stored.
    console.value(HOLD % "'/classes/'")
    console.edit(0, "a", "mine")
    console.wait("window.held === 1")
    paste_at("b", "2")
    console.settle()
    console.value("window.release()")
    until(stored, ["mine", 2, False])
    console.wait_text("1 cell pasted", ".toasts")
    # A value that somebody else has changed is kept and named.
    rest.update("Beside", object_id, a="theirs")
    paste_at("a", "over\t3")
    until(stored, ["theirs", 3, False])
    console.wait_text("a of ", "dialog")
    console.wait_text("was changed by others and kept", "dialog")
    until(lambda: console.cell(0, "a"), "theirs")
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")
    undo(console)
    until(stored, ["theirs", 2, False])


def copied(console):
    """Returns the text copied from the grid."""
    return console.value("""(() => {
        const data = new DataTransfer();
        document.querySelector('.g-scroll').dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
        return data.getData('text/plain');
    })()""")


def scenario_46_copies_a_whole_range_with_escaped_formulas(console, rest):
    rest.define("Ranges", a={"type": "String"}, b={"type": "Number"}, c={"type": "String"})
    rest.create_many("Ranges", [{"a": f"=HYPERLINK({number})", "b": -number} for number in range(1000)])
    console.open_class("Ranges", order="-b")
    # Rows far below are loaded before they are copied.
    console.value("""(() => {
        window.written = undefined;
        Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.written = text; } } });
    })()""")
    console.at(0, "a")
    console.value("(() => { const grid = document.querySelector('r-grid'); grid.moveTo(999, grid.active.column + 1, true); })()")
    console.wait_text("Of ", ".content .foot")
    assert copied(console) == ""
    console.wait("window.written")
    lines = console.value("window.written").split("\n")
    columns = console.value("document.querySelector('r-grid').columns.map(({ name }) => name)")
    assert columns[columns.index("a") + 1] in "bc" and len(lines) == 1000, columns
    assert all(line.startswith(f"'=HYPERLINK({number})\t") for number, line in enumerate(lines)), lines[:3]
    # Pasting the text back changes nothing: no apostrophes or empty strings are stored.
    console.value("""(() => {
        const grid = document.querySelector('r-grid');
        grid.moveTo(0, grid.columns.findIndex(({ name }) => name === 'a'));
        const data = new DataTransfer();
        data.setData('text/plain', window.written);
        grid.scroller.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    })()""")
    console.settle()
    assert rest.count("Ranges", {"c": {"$exists": True}}) == 0
    assert rest.count("Ranges", {"a": {"$regex": "^="}}) == 1000
    console.at(0, "a")
    assert copied(console) == "=HYPERLINK(0)"


def scenario_40_grid_keeps_its_position_and_adapts_to_the_window(console, rest):
    rest.define("Measured", name={"type": "String"}, other={"type": "String"})
    rest.create_many("Measured", [{"name": f"n{number:04d}"} for number in range(900)])
    console.size(1440, 500)
    console.open_class("Measured", order="name")
    console.at(600, "name")
    console.wait("document.querySelector('r-grid').activeRow")
    console.press("Alt+r")
    console.wait("(({ rows, activeRow }) => rows.isCounted && activeRow?.values.get('name') === 'n0600')(document.querySelector('r-grid'))")
    console.wait("[...document.querySelectorAll('r-grid .g-row')].some((e) => e.innerText.includes('n0600'))")
    rows = console.value("document.querySelectorAll('r-grid .g-row').length")
    console.size(1440, 900)
    console.wait(f"document.querySelectorAll('r-grid .g-row').length > {rows + 5}")
    # The column menu opens with the keyboard.
    console.value("document.querySelector('r-grid').focus()")
    console.press("Alt+ArrowDown")
    console.wait_text("Sort descending", ".menu")
    console.press("ArrowDown", "Enter")
    console.wait("location.search === '?order=-name'")


def scenario_47_uploads_and_previews_a_file(console, rest):
    object_id, _ = edited(console, rest)
    picture = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        file.write(picture)
        file.flush()
        sheet(console, 0, "file")
        node = console.browser.call("Runtime.evaluate", expression="document.querySelector('dialog input[type=file]')")["result"]["objectId"]
        console.browser.call("DOM.setFileInputFiles", files=[file.name], objectId=node)
        console.wait("document.querySelector('dialog') === null")
    until(lambda: (rest.get("Edited", object_id).get("file") or {}).get("__type"), "File")
    sheet(console, 0, "file")
    console.wait("document.querySelector('dialog .preview img')?.naturalWidth === 1 || document.querySelector('dialog .preview p')?.innerText.includes('read')")
    console.press("Escape")


DROP = """(() => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(%d)], %s, { type: %s }));
    document.querySelector('dialog .drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
})()"""


def scenario_47_uploads_a_dropped_file_and_rejects_one_that_is_too_large(console, rest):
    object_id, _ = edited(console, rest)
    sheet(console, 0, "file")
    console.value("""(() => {
        const { fetch } = window;
        window.sent = 0;
        window.fetch = (address, options) => {
            if (options?.method === 'POST') window.sent += 1;
            return fetch(address, options);
        };
        new MutationObserver(() => { window.hasProgress ||= document.querySelector('dialog progress') !== null; }).observe(document.body, { childList: true, subtree: true });
    })()""")
    console.value("import(document.querySelector('script[type=module]').src.replace(/main[.]js$/, 'core/session.js')).then(({ session }) => { window.limit = session.peek().server.maxUploadSize; })")
    console.wait("window.limit > 1000000")
    console.value(DROP % (console.value("window.limit") + 5_000_000, json.dumps("large.bin"), json.dumps("application/octet-stream")))
    console.wait_text("at most", "dialog .problem")
    assert "large.bin" in console.text("dialog .problem") and console.value("window.sent") == 0
    console.value(DROP % (300_000, json.dumps("small.txt"), json.dumps("text/plain")))
    console.wait("document.querySelector('dialog') === null")
    assert console.value("window.sent") == 1 and console.value("window.hasProgress")
    until(lambda: (rest.get("Edited", object_id).get("file") or {}).get("__type"), "File")


def scenario_48_saves_only_the_changed_path_of_an_object(console, rest):
    object_id, _ = edited(console, rest, object={"bpm": 120, "key": "C"})
    sheet(console, 0, "object")
    rest.update("Edited", object_id, **{"object.key": "D"})
    fill_area(console, '{"bpm": 121, "key": "C"}')
    console.wait_text("object.bpm", "dialog")
    save_sheet(console)
    until(lambda: rest.get("Edited", object_id)["object"], {"bpm": 121, "key": "D"})


def scenario_49_reports_a_missing_required_field_next_to_it(console, rest):
    rest.define("Required", name={"type": "String", "required": True}, other={"type": "String"})
    console.open_class("Required")
    console.click_text("New object", ".state")
    console.wait("document.querySelector('dialog .form input')")
    console.press("Control+Enter")
    console.wait_text("name is required.", "dialog .field-row")
    assert rest.count("Required") == 0
    console.type("filled")
    console.wait("!document.querySelector('dialog .field-row').innerText.includes('required.')")
    # A new ACL entry moves none of the others.
    console.click("dialog label.line:has(+ .adding) input")
    console.click_text("Add everybody", "dialog")
    place = "document.querySelector('dialog .matrix tbody tr').getBoundingClientRect().top"
    before = console.value(place)
    console.value("document.querySelector('dialog [aria-label=\"Add a user\"]').focus()")
    console.type(make_user(rest, "listed")["username"])
    console.wait("document.querySelector('dialog .choices [aria-selected=true]')")
    console.press("Enter")
    console.wait("document.querySelectorAll('dialog .matrix tbody tr').length === 2")
    assert console.value(place) == before
    # The object's page doesn't offer to remove a required value.
    object_id = rest.create("Required", name="a", other="b")
    console.open(f"data/Required/{object_id}")
    console.wait("document.querySelector('.fields [aria-label=\"Remove other\"]')")
    assert console.value("document.querySelector('.fields [aria-label=\"Remove name\"]')") is None


def scenario_50_distinguishes_a_missing_acl_from_an_empty_one(console, rest):
    rest.define("Access", name={"type": "String"})
    for name, acl in (("open", None), ("closed", {})):
        rest.create("Access", name=name, **({"ACL": acl} if acl is not None else {}))
    console.open_class("Access", order="name")
    console.at(0, "ACL")
    console.settle()
    assert "Only the master key" in console.cell(0, "ACL"), console.cell(0, "ACL")
    assert "No ACL: the class decides" in console.cell(1, "ACL"), console.cell(1, "ACL")
    # The object's page displays the stored ACL.
    object_id = rest.find("Access", {"name": "open"})[0]["objectId"]
    console.open(f"data/Access/{object_id}")
    console.wait_text("No ACL: the class decides", ".object-side")
    console.click("[data-field=ACL]")
    console.click("dialog input[type=checkbox]")
    save_sheet(console)
    console.wait_text("Only the master key", ".object-side")
    assert "Everybody" not in console.text(".object-side")


def scenario_50_removing_an_acl_makes_the_object_public(console, rest):
    rest.define("Opened", name={"type": "String"})
    object_id = rest.create("Opened", name="open")
    stored = lambda: rest.get("Opened", object_id).get("ACL")
    everybody = {"*": {"read": True, "write": True}}
    console.open_class("Opened")
    sheet(console, 0, "ACL")
    console.click("dialog input[type=checkbox]")
    save_sheet(console)
    until(stored, {})
    console.wait_text("ACL of", ".toasts")
    # Undo makes it public again.
    undo(console)
    until(stored, everybody)
    console.wait_text("everybody: read, change", "r-grid")
    console.settle()
    sheet(console, 0, "ACL")
    console.click_text("Remove everybody", "dialog")
    save_sheet(console)
    until(stored, {})
    console.settle()
    console.at(0, "ACL")
    console.press("Delete")
    until(stored, everybody)
    assert console.value("document.querySelector('dialog') === null")


def scenario_50_displayed_acls_match_the_access_of_apps(console, rest):
    if not rest.client_key:
        return
    rest.define("Accessible", name={"type": "String"})
    ids = {name: rest.create("Accessible", name=name, **({} if acl is None else {"ACL": acl})) for name, acl in (("open", None), ("closed", {}))}
    console.open_class("Accessible", order="name")
    said = {name: console.cell(row, "ACL") for row, name in enumerate(sorted(ids))}
    assert "Only the master key" in said["closed"] and "No ACL: the class decides" in said["open"], said
    app = copy.copy(rest)
    app.headers = {field: value for field, value in rest.headers.items() if field != "X-Parse-Master-Key"}
    app.headers["X-Parse-REST-API-Key"] = rest.client_key
    assert [row["name"] for row in app.find("Accessible")] == ["open"]
    assert "updatedAt" in app.update("Accessible", ids["open"], name="changed")
    assert app.update("Accessible", ids["closed"], name="changed")["code"] == 101
    assert rest.get("Accessible", ids["closed"])["name"] == "closed"


def scenario_41_undo_covers_a_form_closed_while_it_was_being_saved(console, rest):
    rest.define("Left", name={"type": "String"})
    for leave in ("Escape", "Cancel"):
        console.open_class("Left")
        console.click_text("New object", "main")
        console.wait("document.querySelector('dialog .form input')")
        console.value("document.querySelector('dialog .form input').focus()")
        console.type(leave)
        console.value(HOLD.replace("PUT", "POST") % "'/classes/Left'")
        console.press("Control+Enter")
        console.wait("window.held === 1")
        if leave == "Escape":
            console.press("Escape")
        else:
            console.click_text("Cancel", "dialog")
        console.wait("document.querySelector('dialog') === null")
        # The undo shortcut waits for changes in progress, too.
        console.press("Control+z")
        console.settle()
        console.value("window.release()")
        until(lambda: rest.count("Left"), 0)
        console.wait_text("New object removed", ".toasts")
    # A rejection after leaving the page is reported.
    rest.define("Left", name={"type": "String"}, number={"type": "Number"})
    rest.sql('CREATE UNIQUE INDEX ON "Left" ("name")')
    rest.create("Left", name="taken")
    console.open_class("Left")
    console.click_text("New object", "main")
    console.wait("document.querySelector('dialog .form input')")
    console.value("document.querySelector('dialog .form input').focus()")
    console.type("taken")
    console.value(HOLD.replace("PUT", "POST") % "'/classes/Left'")
    console.press("Control+Enter")
    console.wait("window.held === 1")
    console.press("Escape")
    console.settle()
    console.value("window.release()")
    console.wait("document.querySelector('.toast.bad')")
    assert rest.count("Left") == 1


def scenario_38_asks_before_saving_an_unknown_name_as_an_id(console, rest):
    object_id, artists = edited(console, rest)
    stored = lambda: rest.get("Edited", object_id).get("pointer")
    console.edit(0, "pointer", "Nobody")
    console.wait_text("No EArtist has the name or the id Nobody", ".g-message")
    assert stored() is None
    console.click_text("Keep it as an id", ".g-message")
    console.wait_text("leads nowhere", "dialog")
    console.click_text("Cancel", "dialog")
    console.wait("document.querySelector('dialog') === null && document.activeElement.matches('.g-editor input')")
    assert stored() is None
    console.click_text("Keep it as an id", ".g-message")
    console.click_text("Keep it as an id", "dialog")
    until(stored, {"__type": "Pointer", "className": "EArtist", "objectId": "Nobody"})
    # An id takes precedence over a name that begins with it.
    rest.create("EArtist", name=artists[0] + " tribute")
    console.edit(0, "pointer", artists[0])
    until(lambda: stored()["objectId"], artists[0])
    # An invalid id isn't offered.
    console.edit(0, "pointer", "not one")
    console.wait_text("No EArtist has the name or the id not one", ".g-message")
    assert console.value("document.querySelector('.g-message button') === null")
    console.press("Escape")
    console.wait("document.querySelector('.g-editor') === null")
    assert stored()["objectId"] == artists[0]


def scenario_38_form_asks_before_saving_an_unknown_name_as_an_id(console, rest):
    rest.define("EArtist", name={"type": "String"})
    rest.define("Formed", artist={"type": "Pointer", "targetClass": "EArtist"})
    artist = rest.create("EArtist", name="Abba")
    console.open_class("Formed")

    def fill(text):
        console.value("(() => { const input = document.querySelector('dialog .picker input'); input.focus(); input.select(); })()")
        console.type(text)
        console.press("Control+Enter")
    console.click_text("New object", "main")
    console.wait("document.querySelector('dialog .picker input')")
    fill("Nobody")
    console.wait_text("No EArtist has the name or the id Nobody", "dialog .field-row")
    assert rest.count("Formed") == 0
    fill("abb")
    until(lambda: [row["artist"]["objectId"] for row in rest.find("Formed")], [artist])
    console.wait("document.querySelector('dialog') === null")
    console.press("Alt+n")
    console.wait("document.querySelector('dialog .picker input')")
    fill("Nobody")
    console.click_text("Keep it as an id", "dialog .field-row")
    console.wait_text("leads nowhere", "dialog:last-of-type")
    console.click_text("Keep it as an id", "dialog:last-of-type .dialog-foot")
    console.wait("document.querySelectorAll('dialog').length === 1")
    console.press("Control+Enter")
    until(lambda: sorted(row["artist"]["objectId"] for row in rest.find("Formed")), sorted([artist, "Nobody"]))


def scenario_41_undo_after_a_password_change_reverts_nothing_else(console, rest):
    name = f"secretive-{time.time_ns()}"
    object_id = rest.call("POST", "/users", {"username": name, "password": "old secret", "phone": "1"})["objectId"]
    stored = lambda: rest.get("_User", object_id)["phone"]
    console.open_class("_User", where={"username": name})
    console.edit(0, "phone", "2")
    until(stored, "2")
    console.wait_text("phone of", ".toasts")
    console.edit(0, "password", "new secret")
    console.wait_text("password of", ".toasts")
    undo(console)
    console.wait_text("can't undo this", ".toasts")
    console.settle()
    assert stored() == "2"
    assert "sessionToken" in rest.call("GET", "/login", username=name, password="new secret")
    # The next undo reverts the previous change.
    undo(console)
    until(stored, "1")
    # The same if the password is set in the user's panel.
    console.edit(0, "phone", "3")
    until(stored, "3")
    console.wait_text("phone of", ".toasts")
    console.value(f"history.pushState(null, '', location.pathname.replace(/data.*/, 'users/user/{object_id}')); dispatchEvent(new PopStateEvent('popstate'))")
    console.click_text("Set password", "main")
    console.wait("document.querySelector('dialog input[type=password]')")
    console.type("newer secret")
    console.press("Enter")
    console.wait_text("has a new password", ".toasts")
    console.wait("document.querySelector('dialog') === null")
    console.press("Control+z")
    console.wait_text("can't undo this", ".toasts")
    console.settle()
    assert stored() == "3"


def scenario_38_keeps_null_members_apart_from_missing_ones(console, rest):
    object_id, _ = edited(console, rest, string="start", object={"a": 1, "b": 2})
    stored = lambda name: (lambda: rest.get("Edited", object_id).get(name, "absent"))
    # A cleared field is restored without a question.
    console.at(0, "string")
    console.press("Delete")
    until(stored("string"), "absent")
    assert console.value("document.querySelector('dialog') === null")
    console.wait_text("string of", ".toasts")
    undo(console)
    until(stored("string"), "start")
    # A member may be null.
    sheet(console, 0, "object")
    fill_area(console, '{"a": null, "b": 2}')
    console.wait_text("Saves only object.a", "dialog")
    save_sheet(console)
    until(stored("object"), {"a": None, "b": 2})
    console.wait_text("object of", ".toasts")
    sheet(console, 0, "object")
    fill_area(console, '{"b": 2}')
    save_sheet(console)
    until(stored("object"), {"b": 2})
    console.settle()
    undo(console)
    until(stored("object"), {"a": None, "b": 2})
    undo(console)
    until(stored("object"), {"a": 1, "b": 2})


def scenario_43_editing_during_an_undo_causes_no_conflict(console, rest):
    object_id, _ = edited(console, rest, string="start", number=1)
    stored = lambda: [rest.get("Edited", object_id)[name] for name in ("string", "number")]
    asked = lambda: console.value("document.querySelector('dialog') !== null")

    def ask_during(change):
        """Makes a change while an undo is being stored."""
        console.settle()
        console.value(HOLD % "'/classes/'")
        undo(console)
        console.wait("window.held === 1")
        change()
        console.settle()
        console.value("window.release()")
        console.wait("document.querySelector('dialog') || document.querySelector('.toasts')?.innerText.includes('of Edited saved')")
        console.settle()
        assert not asked(), console.text("dialog")
    saved = lambda: console.wait_text("saved", ".toasts")
    console.edit(0, "string", "mine")
    saved()
    ask_during(lambda: console.edit(0, "string", "mine again"))
    until(stored, ["mine again", 1])
    # Undoing the later change restores the previous value.
    undo(console)
    until(stored, ["start", 1])
    console.settle()
    # Changes another field at the same time.
    console.edit(0, "string", "second")
    until(stored, ["second", 1])
    saved()
    ask_during(lambda: console.edit(0, "number", "2"))
    until(stored, ["start", 2])
    until(lambda: console.cell(0, "string"), "start")
    # Neither undo overwrites an app's change.
    console.edit(0, "string", "third")
    until(stored, ["third", 2])
    saved()
    console.settle()
    rest.update("Edited", object_id, string="theirs")
    console.value(HOLD % "'/classes/'")
    undo(console)
    console.wait("window.held >= 1")
    console.edit(0, "string", "fourth")
    console.settle()
    console.value("window.release()")
    console.wait_text("Changed by someone else", "dialog")
    assert "theirs" in console.text("dialog") and "fourth" in console.text("dialog")
    console.click_text("Keep theirs", "dialog")
    until(lambda: console.cell(0, "string"), "theirs")
    assert stored() == ["theirs", 2]
