"""Scenarios of schema, permissions, users and configuration."""

import copy
import json
import random
import re
import time

PHONE = """document.documentElement.scrollWidth <= innerWidth
    && [...document.querySelectorAll('main *')].every((e) => e.closest('.diagram, .tabs, .sr, svg') || e.getBoundingClientRect().right <= innerWidth + 1)"""


def until(condition, what, seconds=30):
    """Waits until the server returns the expected value."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def open_page(console, path, selector, **query):
    console.open(path, **query)
    console.wait(f"document.querySelector({json.dumps(selector)})")
    console.settle()


def menu(console, label, words):
    console.click(f"[aria-label={json.dumps(label)}]")
    console.wait("document.querySelector('.menu')")
    console.click_text(words, ".menu")


def press_on(console, label):
    """Focuses a button, and presses it with the keyboard."""
    console.wait(f"document.querySelector('[aria-label={json.dumps(label)}]')")
    console.value(f"document.querySelector('[aria-label={json.dumps(label)}]').focus()")
    console.press("Enter")


def choose(console, selector, value):
    console.value(f"""(() => {{
        const select = document.querySelector({json.dumps(selector)});
        select.value = {json.dumps(value)};
        select.dispatchEvent(new Event('change', {{ bubbles: true }}));
    }})()""")


def write(console, selector, text):
    """Replaces the text of a field."""
    console.wait(f"document.querySelector({json.dumps(selector)})")
    console.value(f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.focus(); field.select(); }})()")
    if text:
        console.browser.call("Input.insertText", text=text)
    else:
        console.press("Delete")


def tab_to(console, condition, most=60):
    """Presses Tab until an element has the focus."""
    for _ in range(most):
        if console.value(f"((e) => {condition})(document.activeElement)"):
            return
        console.press("Tab")
    raise AssertionError(f"Tab does not reach {condition} on {console.value('location.pathname')}")


def permissions(rest, class_name):
    return rest.call("GET", f"/schemas/{class_name}")["classLevelPermissions"]


def scenario_57_creates_class_fields_and_indexes_with_the_keyboard(console, rest):
    rest.call("DELETE", "/purge/Keyed")
    rest.call("DELETE", "/schemas/Keyed")
    open_page(console, "schema", "main .primary")
    tab_to(console, "e.textContent.trim() === 'New class' && e.matches('main .primary')")
    console.press("Enter")
    console.wait("document.querySelector('dialog input')")
    console.type("Keyed")
    tab_to(console, "e.matches('dialog [name=may]')")
    console.press("ArrowUp")
    console.wait_text("Anyone who has the app", "dialog .rights")
    console.press("Control+Enter")
    console.wait("location.pathname.endsWith('/schema/Keyed') && document.querySelector('main table')")
    for name, letter in (("plays", "n"), ("author", "p")):
        tab_to(console, "e.textContent.trim() === 'New field'")
        console.press("Enter")
        console.wait("document.querySelector('dialog input')")
        console.type(name)
        console.press("Tab")
        # Letters select options of a list.
        console.press(letter)
        if name == "author":
            console.press("Tab", "_", "U")
        console.press("Control+Enter")
        console.wait(f"document.querySelector('dialog') === null && document.querySelector('main table').innerText.includes('{name}')")
    fields = rest.call("GET", "/schemas/Keyed")["fields"]
    assert fields["plays"] == {"type": "Number"}, fields
    assert fields["author"] == {"type": "Pointer", "targetClass": "_User"}, fields
    tab_to(console, "e.textContent.trim() === 'New index'", 120)
    console.press("Enter")
    console.wait("document.querySelector('dialog select')")
    console.press("p")
    console.press("Control+Enter")
    console.wait_text("plays_1", "main")
    assert rest.call("GET", "/schemas/Keyed")["indexes"]["plays_1"] == {"plays": 1}
    console.wait("document.activeElement.textContent.trim() === 'New index'")
    console.press("Enter")
    console.wait("document.querySelector('dialog select')")
    console.press("a")
    tab_to(console, "e.matches('dialog input[type=checkbox]')", 12)
    console.press("Space")
    console.press("Control+Enter")
    console.wait_text("author_1", "main")
    author = {"__type": "Pointer", "className": "_User", "objectId": "abcdefghij"}
    rest.create("Keyed", plays=1, author=author)
    assert rest.call("POST", "/classes/Keyed", {"author": author})["code"] == 137


def scenario_57_shows_a_new_field_at_once_on_a_phone(console, rest):
    rest.define("Crowded", **{f"f{number:02}": {"type": "String"} for number in range(20)})
    rest.create("Crowded", f00="one")
    console.size(375, 667)
    try:
        console.open_class("Crowded")
        console.click(".content [aria-label='More actions']")
        # The whole menu fits, so nobody overlooks its last entries.
        console.wait("((menu) => menu && menu.scrollHeight <= menu.clientHeight)(document.querySelector('.menu'))")
        console.click_text("New field \u2026", ".menu")
        # Its place is far below the first screen, then far above.
        for name in ("last", "also"):
            console.wait("document.querySelector('dialog input')")
            console.type(name)
            console.press("Enter")
            console.wait(f"location.pathname.endsWith('/schema/Crowded') && document.querySelector('main mark')?.innerText === '{name}'")
            console.wait("(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector('main mark').getBoundingClientRect())")
            if name == "last":
                console.click_text("New field", "main .head")
    finally:
        console.size(1440, 900)


def scenario_57_creates_a_class_with_fields_and_permissions_in_one_request(console, rest):
    """Fields and permissions are sent in one request, and apps get the displayed permissions."""
    for name in ("Owned", "Kept", "Shown", "Run"):
        rest.call("DELETE", f"/purge/{name}")
        rest.call("DELETE", f"/schemas/{name}")
    apps, role = {}, f"Role{time.time_ns()}"
    for name in ("first", "second"):
        user = make_user(rest, name)
        apps[name] = user["objectId"], log_in(rest, user["username"], "secret word")["sessionToken"]
    pointer = lambda name: {"__type": "Pointer", "className": "_User", "objectId": apps[name][0]}

    def app(method, path, body=None, by=None):
        one = type(rest)(rest.url, rest.headers["X-Parse-Application-Id"], "")
        one.headers = {field: value for field, value in rest.headers.items() if field != "X-Parse-Master-Key"}
        one.headers["X-Parse-REST-API-Key"] = rest.client_key
        if by:
            one.headers["X-Parse-Session-Token"] = apps[by][1]
        return one.call(method, path, body)

    def make(name, kind):
        open_page(console, "schema", "main .primary")
        console.value("window.sent = []; const real = fetch; window.fetch = (...all) => { if (!['GET', 'HEAD', undefined].includes(all[1]?.method)) window.sent.push(all[0]); return real(...all); }")
        console.click_text("New class", "main")
        console.wait("document.querySelector('dialog input')")
        console.type(name)
        console.value("document.querySelector('.new-field input').focus()")
        console.type("title")
        console.value("document.querySelector('.new-field [type=checkbox]').click()")
        if name == "Owned":
            for field, letter in (("plays", "n"), ("author", "p")):
                console.click_text("Add field", "dialog")
                console.type(field)
                console.press("Tab", letter, "Tab")
                if field == "author":
                    console.press("_", "R")
                else:
                    console.press("Tab")
                    console.type("7")
        console.click(f"dialog [value={kind}]")
        if kind == "role":
            console.value("document.querySelector('dialog [list]').focus()")
            console.type(role)
            console.wait_text(f"There is no role {role} yet", "dialog .rights")
        said = console.text("dialog .rights")
        console.click_text("Create class", "dialog")
        console.wait(f"location.pathname.endsWith('/schema/{name}') && document.querySelector('dialog') === null")
        assert len(console.value("window.sent")) == 1, console.value("window.sent")
        assert rest.call("GET", f"/schemas/{name}")["fields"]["title"] == {"type": "String", "required": True}
        return said

    began = time.monotonic()
    said = make("Owned", "owned")
    assert time.monotonic() - began < 60
    assert rest.call("GET", "/schemas/Owned")["fields"]["plays"] == {"type": "Number", "defaultValue": 7}
    assert rest.call("GET", "/schemas/Owned")["fields"]["author"] == {"type": "Pointer", "targetClass": "_Role"}
    for words in ("everybody", "logged-in users", "the user in owner", "nobody (only the master key)", "only the user in owner changes and deletes one", "Only a beforeSave trigger can enforce this"):
        assert words in said, said
    assert app("POST", "/classes/Owned", {"title": "one", "owner": pointer("first")})["status"] in (400, 403, 404)
    assert app("POST", "/classes/Owned", {"title": "one"}, "first")["code"] == 142
    made = app("POST", "/classes/Owned", {"title": "one", "owner": pointer("first")}, "first")["objectId"]
    assert app("GET", f"/classes/Owned/{made}")["title"] == "one"
    for by in (None, "second"):
        assert "error" in app("PUT", f"/classes/Owned/{made}", {"title": "two"}, by) and "error" in app("DELETE", f"/classes/Owned/{made}", None, by)
    assert "error" in app("PUT", f"/classes/Owned/{made}", {"other": 1}, "first"), "apps add no fields"
    assert "updatedAt" in app("PUT", f"/classes/Owned/{made}", {"title": "two"}, "first")
    assert "error" not in app("DELETE", f"/classes/Owned/{made}", None, "first")
    said = make("Kept", "private")
    assert "Only the user in owner reads, changes and deletes an object" in said and "logged-in users can create objects for others" in said, said
    assert "objectId" in app("POST", "/classes/Kept", {"title": "foreign", "owner": pointer("second")}, "first")
    made = app("POST", "/classes/Kept", {"title": "one", "owner": pointer("first")}, "first")["objectId"]
    assert len(app("GET", "/classes/Kept", None, "first")["results"]) == 1
    assert [row["title"] for row in app("GET", "/classes/Kept", None, "second")["results"]] == ["foreign"] and not app("GET", "/classes/Kept").get("results")
    assert "error" in app("GET", f"/classes/Kept/{made}", None, "second") and "error" in app("PUT", f"/classes/Kept/{made}", {"title": "two"}, "second")
    said = make("Shown", "readOnly")
    assert "Apps only read" in said and "enforce" not in said, said
    made = rest.create("Shown", title="one")
    assert app("GET", f"/classes/Shown/{made}")["title"] == "one" and "error" in app("PUT", f"/classes/Shown/{made}", {"title": "two"}, "first")
    assert f"Only members of the role {role} create" in make("Run", "role")
    assert "error" in app("POST", "/classes/Run", {"title": "one"}, "first")
    rest.call("POST", "/roles", {"name": role, "ACL": {}, "users": {"__op": "AddRelation", "objects": [pointer("first")]}})
    assert "objectId" in app("POST", "/classes/Run", {"title": "one"}, "first") and "error" in app("POST", "/classes/Run", {"title": "one"}, "second")


def scenario_57_a_wrong_default_gets_the_focus_with_its_message_beside_it(console, rest):
    rest.call("DELETE", "/schemas/Faulty")
    rest.define("Faulted", name={"type": "String"})
    wrong = "document.activeElement.value === 'seven' && document.activeElement.ariaInvalid === 'true' && document.activeElement.closest('.field-row').querySelector('.problem')?.textContent"
    for path, title, words in (("schema", "New class", "Create class"), ("schema/Faulted", "New field", "Add field")):
        open_page(console, path, "main .content h1")
        console.click_text(title, ".content")
        console.wait("document.querySelector('dialog input')")
        name, field = ("dialog .new-field [maxlength]", "dialog .new-field .field-row input") if path == "schema" else ("dialog [maxlength]", "dialog .field-row input")
        if path == "schema":
            write(console, "dialog [maxlength]", "Faulty")
        write(console, name, "plays")
        choose(console, "dialog select", "Number")
        write(console, field, "seven")
        console.click_text(words, "dialog .dialog-foot")
        console.wait(wrong)
        assert "plays is a Number" in console.value(wrong), console.value(wrong)
        write(console, field, "7")
        console.press("Control+Enter")
        console.wait("document.querySelector('dialog') === null")
    fields = lambda class_name: rest.call("GET", f"/schemas/{class_name}")["fields"]["plays"]
    assert fields("Faulty")["defaultValue"] == fields("Faulted")["defaultValue"] == 7, fields("Faulty")
    # A wrong name is beside its field, too.
    open_page(console, "schema", "main .content h1")
    console.click_text("New class", ".content")
    console.wait("document.querySelector('dialog input')")
    write(console, "dialog [maxlength]", "2nd")
    console.click_text("Create class", "dialog .dialog-foot")
    console.wait("document.activeElement.closest('label')?.querySelector('.problem')?.textContent === '2nd is not a valid name.'")
    for _ in range(2):
        console.press("Escape")


def scenario_57_pointers_lead_to_users_and_an_owner_must(console, rest):
    open_page(console, "schema", "main .primary")
    console.click_text("New class", "main")
    console.wait("document.querySelector('dialog input')")
    console.type("Misowned")
    console.value("document.querySelector('.new-field input').focus()")
    console.type("owner")
    console.press("Tab", "p")
    console.wait("document.querySelectorAll('.new-field select')[1].value === '_User'")
    # The owner is required, which can't be changed.
    box = "(({ checked, disabled }) => `${checked} ${disabled}`)(document.querySelector('.new-field input[type=checkbox]'))"
    console.wait(f"{box} === 'true true'")
    console.click("dialog [value=open]")
    console.wait(f"{box} === 'false false'")
    console.press("Tab", "_", "R")
    console.click("dialog [value=private]")
    console.click_text("Create class", "dialog")
    console.wait_text("owner must point to _User", "dialog")
    assert console.value("""(() => {
        const { top, bottom } = document.querySelector('dialog [role=alert]').getBoundingClientRect();
        const foot = document.querySelector('dialog .dialog-foot').getBoundingClientRect();
        return top >= 0 && bottom <= foot.top + 1;
    })()"""), "the message can be seen"
    console.press("Escape")
    assert "error" in rest.call("GET", "/schemas/Misowned")


def scenario_58_warns_of_permissions_that_name_a_deleted_field(console, rest):
    rest.define("Owned", owner={"type": "Pointer", "targetClass": "_User"}, other={"type": "String"})
    rest.call("PUT", "/schemas/Owned", {"className": "Owned", "classLevelPermissions": {"update": {"pointerFields": ["owner"]}}})
    open_page(console, "schema/Owned", "main table")
    for field, warns in (("owner", True), ("other", False)):
        menu(console, f"Actions of {field}", "Delete \u2026")
        console.wait_text(f"have a value in {field}", "dialog")
        assert ("Permissions name this field" in console.text("dialog")) == warns, console.text("dialog")
        console.press("Escape")


def scenario_58_shows_what_a_deletion_removes_before_it_happens(console, rest):
    rest.define("Going", name={"type": "String"}, plays={"type": "Number"})
    rest.create_many("Going", [{"name": str(number), **({"plays": number} if number < 7 else {})} for number in range(12)])
    open_page(console, "schema/Going", "main table")
    console.wait_text("58%", "main table")
    menu(console, "Actions of plays", "Delete \u2026")
    console.wait_text("7 of 12 objects have a value in plays", "dialog")
    assert console.value("document.querySelector('dialog .danger').disabled")
    console.type("plays")
    console.press("Enter")
    console.wait_text("Field plays deleted", ".toasts")
    assert "plays" not in rest.call("GET", "/schemas/Going")["fields"]
    rest.call("PUT", "/schemas/Going", {"className": "Going", "indexes": {"name_1": {"name": 1}}})
    open_page(console, "schema/Going", "[aria-label='Delete index name_1']")
    console.click("[aria-label='Delete index name_1']")
    console.wait_text("No value is deleted", "dialog")
    console.press("Enter")
    console.wait_text("Index name_1 deleted", ".toasts")
    menu(console, "More actions", "Delete class \u2026")
    console.wait_text("with its 12 objects", "dialog")
    console.type("Going")
    console.press("Enter")
    console.wait("location.pathname.endsWith('/schema')")
    assert "error" in rest.call("GET", "/schemas/Going")


def scenario_58_changes_required_and_default_and_keeps_other_fields(console, rest):
    rest.define("Options", name={"type": "String"}, target={"type": "Pointer", "targetClass": "_User"})
    without = rest.create("Options")
    rest.create("Options")
    rest.create("Options", name="one")
    open_page(console, "schema/Options", "main table")
    menu(console, "Actions of name", "Required, default \u2026")
    console.wait("document.querySelector('dialog input[type=checkbox]')")
    console.press("Space")
    console.wait_text("2 of 3 objects lack it. Apps can still save these", "dialog")
    console.press("Space")
    console.wait("!document.querySelector('dialog').innerText.includes('objects lack it')")
    console.press("Space")
    console.value("document.querySelector('dialog input:not([type=checkbox])').focus()")
    console.type("nobody")
    console.press("Enter")
    console.wait_text("Field name changed", ".toasts")
    fields = rest.call("GET", "/schemas/Options")["fields"]
    assert fields["name"] == {"type": "String", "required": True, "defaultValue": "nobody"}, fields
    assert fields["target"] == {"type": "Pointer", "targetClass": "_User"}, fields
    assert "updatedAt" in rest.update("Options", without, target=None) and rest.update("Options", without, name="")["code"] == 142


def scenario_59_diagram_boxes_and_lines_do_not_overlap(console, rest):
    names = [f"Box{number:02d}" for number in range(40)]
    for number, name in enumerate(names):
        rest.define(name, text={"type": "String"}, aVeryLongFieldName={"type": "GeoPoint"}, **{f"to{other}": {"type": "Pointer", "targetClass": names[other]} for other in (number // 2, number // 3) if other != number},
                    **({"all": {"type": "Relation", "targetClass": names[(number * 7) % 40]}} if number % 5 == 0 else {}))
    try:
        open_page(console, "schema", ".classes-drawing")
        console.value("localStorage.removeItem('roost.diagram')")
        is_whole = not console.value("[...document.querySelectorAll('main select')].some((e) => e.checkVisibility())")
        if not is_whole:
            choose(console, "main select", "Box03")
        covered = console.value("""(() => {
            const boxes = [...document.querySelectorAll('.box rect')].map((e) => e.getBoundingClientRect());
            return boxes.some((a, i) => boxes.some((b, j) => i < j && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
        })()""")
        assert covered is False and console.value("document.querySelectorAll('.box').length") >= (40 if is_whole else 4)
        # The columns fit the page, so that the diagram scrolls only down.
        console.wait("document.querySelector('.diagram').scrollWidth <= document.querySelector('.diagram').clientWidth")
        # All lines pass through gaps between boxes.
        crossed = console.value("""(() => {
            const boxes = [...document.querySelectorAll('.box')].map((e) => [e.dataset.class, e.transform.baseVal[0].matrix.e, e.transform.baseVal[0].matrix.f, e.querySelector('rect').height.baseVal.value]);
            const width = document.querySelector('.box rect').width.baseVal.value;
            return [...document.querySelectorAll('.lines path')].flatMap((path) => Array.from({ length: Math.floor(path.getTotalLength() / 4) }, (_, n) => path.getPointAtLength(n * 4))
                .flatMap(({ x, y }) => boxes.filter(([, left, top, height]) => x > left + 1 && x < left + width - 1 && y > top + 1 && y < top + height - 1).map(([name]) => name))).slice(0, 5);
        })()""")
        assert crossed == [] and console.value("document.querySelectorAll('.lines path').length") > 4, crossed
        for name in names:
            assert name in console.text("main table"), name
        # Names and types share a line.
        assert console.value("""[...document.querySelectorAll('.box')].every((box) => [...box.querySelectorAll('text')].every((one, i, all) => {
            const next = all[i + 1];
            return one.getAttribute('y') !== next?.getAttribute('y') || one.getBoundingClientRect().right < next.getBoundingClientRect().left;
        }))""")
        # A box moved with keys keeps its position.
        place = "document.querySelector('[data-class=Box07]').getAttribute('transform')"
        before = console.value(place)
        console.value("document.querySelector('[data-class=Box07]').focus()")
        console.press("Alt+ArrowRight", "Alt+ArrowDown")
        after = console.value(place)
        assert before != after, after
        open_page(console, "schema", ".classes-drawing")
        if not is_whole:
            choose(console, "main select", "Box03")
        assert console.value(place) == after
        console.click_text("Reset positions", "main")
        assert console.value(place) == before
        console.value("document.querySelector('[data-class=Box07]').focus()")
        console.press("Enter")
        console.wait("location.pathname.endsWith('/schema/Box07')")
    finally:
        for name in names:
            rest.call("DELETE", f"/schemas/{name}")


def scenario_59_says_what_an_unknown_address_lacks(console, rest):
    for path, words in (("nothing", "There is no page nothing"), ("dashboard", "There is no page dashboard"),
                        ("data/NoSuchClass", "There is no class NoSuchClass"), ("schema/NoSuchClass", "There is no class NoSuchClass")):
        open_page(console, path, ".state")
        console.wait_text(words, ".state")
    console.value("location.hash = '#/nothing'")
    console.wait_text("There is no page nothing", ".state")
    console.click_text("Go to Data", ".state")
    console.wait("location.pathname.includes('/data') && location.hash === ''")


def scenario_59_names_changed_fields_in_the_audit_log(console, rest):
    rest.define("Named", name={"type": "String"})
    console.open("schema/Named")
    for field in ({"type": "Number"}, {"__op": "Delete"}):
        assert console.api("PUT", "parse/schemas/Named", {"className": "Named", "fields": {"extra": field}}) == 200
    assert console.api("POST", "parse/requestPasswordReset", {"email": "nobody@example.org"}) in (200, 400, 404)
    open_page(console, "audit", "main tbody")
    for words in ("Saved the field extra of Named", "Deleted the field extra of Named", "equested a password reset for"):
        console.wait_text(words, "main tbody")


CLP = {"find": {"*": True}, "get": {"requiresAuthentication": True, "pointerFields": ["owner"]}, "count": {}, "create": {"role:Editors": True},
       "update": {"pointerFields": ["owner"]}, "delete": {}, "addField": {}, "readUserFields": ["owner"], "writeUserFields": [],
       "protectedFields": {"*": ["secret"], "role:Editors": [], "userField:owner": []}}


def guarded(rest):
    rest.define("Guarded", name={"type": "String"}, secret={"type": "String"}, owner={"type": "Pointer", "targetClass": "_User"})
    answer = rest.call("PUT", "/schemas/Guarded", {"className": "Guarded", "classLevelPermissions": CLP})
    assert "error" not in answer, answer


def scenario_51_shows_every_permission_as_a_sentence(console, rest):
    guarded(rest)
    open_page(console, "access/Guarded", ".operation")
    said = console.text("main")
    chips = console.value("[...document.querySelectorAll('.operation')].map((e) => [...e.parentElement.querySelectorAll('.who')].map((one) => one.innerText).join(', '))")
    assert chips == ["everybody", "the user in owner", "the user in owner", "role Editors", "the user in owner", "nobody (only the master key)", "nobody (only the master key)"], chips
    for sentence in ( "role Editors", "the user in owner", "nobody (only the master key)",
                     "Find and get: owner", "Update and delete: no field", "Hidden from everybody: secret", "Nothing is hidden from role Editors",
                     "Nothing is hidden from the user in owner"):
        assert sentence in said, (sentence, said)


def scenario_51_follows_changes_made_elsewhere(console, rest):
    guarded(rest)
    user = make_user(rest, "followed")
    open_page(console, "access/Guarded", ".operation")
    console.click_text("Check without signing in", "main")
    console.wait_text("the class allows everybody", ".may")
    console.browser.fill("[aria-label=\"Check a user's access\"]", "half a name")
    rest.call("PUT", "/schemas/Guarded", {"className": "Guarded", "classLevelPermissions": {**CLP, "find": {"role:Editors": True}}})
    console.wait("document.querySelector('.operation').parentElement.innerText.includes('role Editors')", 5)
    console.wait_text("the class allows only role Editors", ".may", 5)
    # What the operator is typing stays.
    assert console.value("document.activeElement.value") == "half a name"
    open_page(console, "schema/Guarded", "main table")
    rest.call("PUT", "/schemas/Guarded", {"className": "Guarded", "fields": {"later": {"type": "String"}}})
    console.wait_text("later", "main table", 5)
    # Rows offer a new field, because the operator may be editing one.
    rest.create("Guarded", name="one")
    console.open_class("Guarded")
    rest.call("PUT", "/schemas/Guarded", {"className": "Guarded", "fields": {"alone": {"type": "String"}}})
    console.wait_text("1 new field", ".head", 5)
    console.click(".head .pill")
    console.wait("document.querySelector('r-grid')?.columns.some(({ name }) => name === 'alone')", 5)
    # So do the pages of an object and a user.
    one = rest.create("Guarded", name="first")
    open_page(console, f"data/Guarded/{one}", ".fields")
    rest.update("Guarded", one, name="second")
    console.wait_text("1 changed", ".head", 5)
    console.click(".head .pill")
    console.wait_text("second", ".fields")
    open_page(console, f"users/user/{user['objectId']}", ".facts, .member")
    log_in(rest, user["username"], "secret word")
    console.wait_text("1 changed", ".head", 5)
    console.click(".head .pill")
    console.wait("document.querySelector('.head .pill') === null")
    rest.update("_User", user["objectId"], email=f"{user['username']}@example.org")
    console.wait_text("1 changed", ".head", 5)
    console.click(".head .pill")
    console.wait_text("@example.org", "main")


def scenario_51_opens_the_permissions_of_the_class_before(console, rest):
    guarded(rest)
    for page in ("data", "schema"):
        open_page(console, f"{page}/Guarded", ".content h1")
        console.click(".rail [aria-label=Permissions]")
        console.wait("location.pathname.endsWith('/access/Guarded') && document.querySelector('.operation')")
    console.open_class("Guarded")
    console.press("g", "w")
    console.wait("location.pathname.endsWith('/access/Guarded')")
    for words, page in (("Schema", "schema"), ("Permissions", "access")):
        console.open_class("Guarded")
        console.click(".content [aria-label='More actions']")
        console.wait("document.querySelector('.menu')")
        console.click_text(words, ".menu")
        console.wait(f"location.pathname.endsWith('/{page}/Guarded')")


def scenario_52_sends_nothing_from_an_unchanged_dialog_and_keeps_other_permissions(console, rest):
    guarded(rest)
    before = permissions(rest, "Guarded")
    open_page(console, "access/Guarded", ".operation")
    console.value("""window.sent = []; const real = fetch; window.fetch = (...all) => { if (all[1]?.method === 'PUT') window.sent.push(all[0]); return real(...all); }""")
    for label in ("Edit permission: Get", "Edit the fields for find and get", "Change what is hidden from everybody", "Edit the default ACL"):
        press_on(console, label)
        console.wait("document.querySelector('dialog .primary')")
        console.press("Control+Enter")
        console.wait("document.querySelector('dialog') === null")
        assert console.value("document.activeElement.getAttribute('aria-label')") == label
    assert console.value("window.sent") == []
    press_on(console, "Edit permission: Count")
    console.wait("document.querySelector('dialog input')")
    console.press("Space")
    console.wait_text("Lets in: everybody.", "dialog .notice")
    console.click_text("Save", "dialog")
    console.wait_text("Permissions of Guarded changed", ".toasts")
    assert permissions(rest, "Guarded") == {**before, "count": {"*": True}}, permissions(rest, "Guarded")
    console.wait("document.activeElement.getAttribute('aria-label') === 'Edit permission: Count'")
    console.press("Control+z")
    console.wait_text("restored", ".toasts")
    assert permissions(rest, "Guarded") == before


def scenario_53_keeps_unknown_permission_keys(console, rest):
    guarded(rest)
    rest.sql("""UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema"::jsonb, '{classLevelPermissions,future}', '{"mode": "strict"}')
        WHERE "className" = 'Guarded'; SELECT pg_notify('schema.change', '{}')""")
    until(lambda: "future" in permissions(rest, "Guarded"), "the key is not seen")
    before = permissions(rest, "Guarded")
    open_page(console, "access/Guarded", ".operation")
    press_on(console, "Edit permission: Count")
    console.wait("document.querySelector('dialog input')")
    console.press("Space")
    console.wait_text("Lets in: everybody.", "dialog .notice")
    console.click_text("Save", "dialog")
    console.wait_text("Permissions of Guarded changed", ".toasts")
    assert permissions(rest, "Guarded") == {**before, "count": {"*": True}}, permissions(rest, "Guarded")
    # Fields that don't exist can't be added.
    answer = rest.call("PUT", "/schemas/Guarded", {"className": "Guarded", "classLevelPermissions": {"future": {"mode": "other"}}})
    assert answer.get("code") == 107, answer
    assert permissions(rest, "Guarded")["future"] == {"mode": "strict"}


def scenario_56_shows_who_loses_access_before_saving(console, rest):
    guarded(rest)
    open_page(console, "access/Guarded", ".operation")
    console.click("[aria-label='Edit permission: Find']")
    console.wait("document.querySelector('dialog input')")
    assert console.value("document.activeElement.type") == "checkbox"
    console.press("Space")
    console.wait_text("Shuts out: everybody but the user in owner.", "dialog .notice")
    console.press("Tab", "Space")
    # Requiring a login adds nobody to the users in a field.
    console.wait_text("Only those logged-in users that a field of the object points to.", "dialog")
    assert "Shuts out: everybody but the user in owner." in console.text("dialog .notice"), console.text("dialog .notice")
    console.click_text("Save", "dialog")
    console.wait_text("changed", ".toasts")
    assert permissions(rest, "Guarded")["find"] == {"requiresAuthentication": True}
    console.click("[aria-label='Change what is hidden from everybody']")
    console.wait("document.querySelector('dialog input')")
    console.value("[...document.querySelectorAll('dialog label')].find((e) => e.textContent === 'name').querySelector('input').click()")
    console.wait_text("Hides: name.", "dialog .notice")
    console.click_text("Save", "dialog")
    until(lambda: permissions(rest, "Guarded")["protectedFields"]["*"] == ["secret", "name"], "nothing is hidden")


def scenario_51_hides_fields_from_groups_and_edits_the_default_acl(console, rest):
    guarded(rest)
    role = f"Hiders{time.time_ns()}"
    rest.call("POST", "/roles", {"name": role, "ACL": {"*": {"read": True}}})
    box = "[...document.querySelectorAll('dialog.sheet label')].find((e) => e.textContent === 'name')?.querySelector('input')"
    for choice, key in (("Logged-in users", "authenticated"), ("A role \u2026", f"role:{role}"), ("The user in a field \u2026", "userField:owner")):
        open_page(console, "access/Guarded", ".operation")
        console.click_text("Hide fields from \u2026", "main")
        console.wait("document.querySelector('.menu')")
        console.click_text(choice, ".menu")
        if key.startswith("role:"):
            console.wait("document.querySelector('dialog input')")
            console.type(role)
            console.wait(f"document.querySelector('dialog [aria-selected=true]')?.innerText.includes('{role}')")
            console.press("Enter")
            console.press("Control+Enter")
        elif key.startswith("userField:"):
            console.wait("document.querySelector('dialog select')")
            console.press("Control+Enter")
        console.wait(box)
        console.value(box + ".click()")
        console.wait_text("Hides: name.", "dialog .notice")
        console.click_text("Save", "dialog")
        until(lambda: permissions(rest, "Guarded")["protectedFields"].get(key) == ["name"], permissions(rest, "Guarded"))
    # The rule itself can be removed.
    open_page(console, "access/Guarded", ".operation")
    press_on(console, "Change what is hidden from logged-in users")
    console.wait("document.querySelector('dialog input')")
    console.press("Space")
    console.wait_text("Shows: name.", "dialog .notice")
    console.press("Control+Enter")
    until(lambda: "authenticated" not in permissions(rest, "Guarded")["protectedFields"], permissions(rest, "Guarded"))
    press_on(console, "Edit the default ACL")
    console.wait("document.querySelector('dialog .matrix input')")
    console.value("document.querySelectorAll('dialog .matrix input')[1].click()")
    console.press("Control+Enter")
    until(lambda: permissions(rest, "Guarded")["ACL"] == {"*": {"read": True}}, permissions(rest, "Guarded"))


def scenario_56_keeps_concurrent_changes_to_permissions_and_config(console, rest):
    guarded(rest)
    rest.call("PUT", "/config", {"params": {"contended": 1}})
    open_page(console, "access/Guarded", ".operation")
    press_on(console, "Edit permission: Count")
    console.wait("document.querySelector('dialog input')")
    others = {**permissions(rest, "Guarded"), "delete": {"role:Editors": True}}
    rest.call("PUT", "/schemas/Guarded", {"className": "Guarded", "classLevelPermissions": others})
    console.press("Space")
    console.click_text("Save", "dialog")
    console.wait_text("changed meanwhile", "dialog .problem")
    console.press("Escape")
    assert permissions(rest, "Guarded") == others
    assert console.value("[...document.querySelectorAll('.operation')].find((e) => e.textContent === 'Delete').parentElement.innerText.includes('role Editors')")
    open_page(console, "config", "main table")
    menu(console, "Actions of contended", "Delete")
    console.wait("document.querySelector('dialog .danger')")
    rest.call("PUT", "/config", {"params": {"contended": 2}})
    console.press("Enter")
    console.wait_text("changed meanwhile", ".toasts")
    assert rest.call("GET", "/config")["params"]["contended"] == 2


def make_user(rest, name):
    made = rest.call("POST", "/users", {"username": f"{name}{time.time_ns()}", "password": "secret word"})
    rest.headers["X-Parse-Installation-Id"] = f"device of {name}"
    try:
        return rest.call("GET", "/login", username=rest.get("_User", made["objectId"])["username"], password="secret word")
    finally:
        del rest.headers["X-Parse-Installation-Id"]


def log_in(rest, name, password):
    """Logs in like an app. The master key also admits locked-out users."""
    app = copy.copy(rest)
    app.headers = {field: value for field, value in rest.headers.items() if field != "X-Parse-Master-Key"}
    app.headers["X-Parse-REST-API-Key"] = rest.client_key
    return app.call("GET", "/login", username=name, password=password)


def scenario_55_checks_access_and_explains_it(console, rest):
    guarded(rest)
    user = make_user(rest, "asked")["objectId"]
    own = rest.create("Guarded", name="own", owner={"__type": "Pointer", "className": "_User", "objectId": user})
    open_page(console, "access/Guarded", ".operation")
    console.click_text("Check without signing in", "main")
    console.wait_text("the class allows everybody", ".may")
    console.browser.fill("[aria-label^='Object id']", own)
    console.value("document.querySelector('[aria-label^=Check]').focus()")
    console.type(user)
    console.wait("document.querySelector('.choices [aria-selected=true]')")
    console.press("Enter")
    console.wait_text("owner is asked", ".may")
    console.click_text("Check without signing in", "main")
    console.wait_text("Without signing in", ".may")
    console.wait_text("the class allows only role Editors", ".may")
    assert console.value("document.querySelector('[aria-label^=Check]').value") == "" and "nonymous" not in console.text("main")


def may_lines(console, class_name, user=None, object_id=""):
    """Returns the answer for a user or an anonymous client by operation."""
    open_page(console, f"access/{class_name}", ".operation")
    console.browser.fill("[aria-label^='Object id']", object_id)
    if user is None:
        console.click_text("Check without signing in", "main")
    else:
        console.browser.fill("[aria-label=\"Check a user's access\"]", user)
        console.wait("document.querySelector('.choices [aria-selected=true]')")
        console.press("Enter")
    console.wait("document.querySelectorAll('.may .line').length === 7")
    lines = console.value("[...document.querySelectorAll('.may .line')].map((line) => line.innerText.replace(/\\s+/g, ' ').trim())")
    return {line.split(" ")[1]: line for line in lines}


def outcomes(app, class_name, object_id, title):
    """Tries each operation, and returns the successful ones. Deletes the object last."""
    path = f"/classes/{class_name}"
    where = {"title": title}
    done = {
        "Find": len(app.call("GET", path, where=where).get("results", [])) == 1,
        "Count": app.call("GET", path, where=where, count="1", limit="0").get("count") == 1,
        "Get": "objectId" in app.call("GET", f"{path}/{object_id}"),
        "Update": "updatedAt" in app.call("PUT", f"{path}/{object_id}", {"n": 1}),
        "Add": "updatedAt" in app.call("PUT", f"{path}/{object_id}", {f"new{title}": 1}),
        "Create": "objectId" in app.call("POST", path, {"title": "made"}),
    }
    return {**done, "Delete": "error" not in app.call("DELETE", f"{path}/{object_id}")}


def scenario_55_descriptions_of_generated_permissions_agree_with_requests(console, rest):
    chance = random.Random(56)
    users = [make_user(rest, name) for name in ("kim", "lou")]
    (kim, kims), (lou, lous) = [(user["objectId"], user["username"]) for user in users]
    role = f"Editor{time.time_ns()}"
    assert "objectId" in rest.call("POST", "/roles", {"name": role, "ACL": {}, "users": {"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "_User", "objectId": kim}]}})
    callers = []
    for user in (None, *users):
        app = copy.copy(rest)
        app.headers = {field: value for field, value in rest.headers.items() if field != "X-Parse-Master-Key"}
        app.headers["X-Parse-REST-API-Key"] = rest.client_key
        if user:
            app.headers["X-Parse-Session-Token"] = user["sessionToken"]
        callers.append((user and user["objectId"], user and user["username"], app))
    entries = [{"*": True}, {"*": True}, {}, {"requiresAuthentication": True}, {"requiresAuthentication": True, f"role:{role}": True}, {f"role:{role}": True}, {lou: True}, {kim: True, f"role:{role}": True},
               {"pointerFields": ["host"]}, {"pointerFields": ["host"]}, {"pointerFields": ["host", "guests"]}, {"requiresAuthentication": True, "pointerFields": ["guests"]},
               {f"role:{role}": True, "pointerFields": ["host"]}, {"requiresAuthentication": True, f"role:{role}": True, "pointerFields": ["host"]},
               {"*": True, "requiresAuthentication": True, "pointerFields": ["host"]}]
    both = {"read": True, "write": True}
    acls = [None, None, {}, {"*": {"read": True}}, {"*": both}, {f"role:{role}": both}, {"*": {"read": True}, lou: both}, {kim: {"read": True}}]
    for number in range(40):
        class_name = f"Ruled{number}"
        rest.define(class_name, title={"type": "String"}, n={"type": "Number"}, host={"type": "Pointer", "targetClass": "_User"}, guests={"type": "Array"})
        rules = {operation: chance.choice(entries[:8] if operation == "create" else entries) for operation in ("find", "count", "get", "update", "addField", "create", "delete")}
        rules |= {key: ["guests"] for key in ("readUserFields", "writeUserFields") if chance.randrange(5) == 0}
        answer = rest.call("PUT", f"/schemas/{class_name}", {"className": class_name, "classLevelPermissions": rules})
        assert "error" not in answer, answer
        acl, host, guests = chance.choice(acls), chance.choice([None, kim, lou]), [user for user in (kim, lou) if chance.random() < 0.5]
        values = {"guests": [{"__type": "Pointer", "className": "_User", "objectId": user} for user in guests]}
        values |= {"host": {"__type": "Pointer", "className": "_User", "objectId": host}} if host else {}
        values |= {"ACL": acl} if acl is not None else {}
        # The users whom each displayed name means.
        named = {"everybody": {None, kim, lou}, "logged-in users": {kim, lou}, f"role {role}": {kim}, "the user in host": {host} - {None},
                 "the user in guests": set(guests), kims: {kim}, lous: {lou}, f"user {kim}": {kim}, f"user {lou}": {lou}}
        told, done = {}, {}
        for place, (user, name, app) in enumerate(callers):
            object_id = rest.create(class_name, title=f"title{place}", **values)
            of_class = may_lines(console, class_name, name)
            told[user] = may_lines(console, class_name, name, object_id)
            done[user] = outcomes(app, class_name, object_id, f"title{place}")
            assert set(told[user]) == set(of_class) == set(done[user]), (told, of_class)
            for operation, allowed in done[user].items():
                general, line = of_class[operation], told[user][operation]
                context = (class_name, operation, name, line, general, rules, acl, host, guests)
                assert line.startswith("yes " if allowed else "no "), context
                assert not (allowed and general.startswith("no ")), context
                fields = re.search(r"Only objects whose (.*) is ", general)
                if fields and allowed:
                    assert any(user in named[f"the user in {field}"] for field in fields[1].split(" or ")), context
        chips = console.value("[...document.querySelectorAll('.operation')].map((e) => [e.textContent.split(' ')[0], [...e.parentElement.querySelectorAll('.who')].map((one) => one.innerText)])")
        for operation, words in chips:
            members = set().union(*(named[who] for who in words)) if words != ["nobody (only the master key)"] else set()
            allowed = {user for user, all_done in done.items() if all_done[operation]}
            # An ACL narrows the permissions of the class, and adding a field is an update, too.
            assert allowed <= members and (allowed == members or acl is not None or operation == "Add"), (class_name, operation, words, allowed, rules, host, guests)
        for asked, lines in told.items():
            for operation, line in lines.items():
                rule = re.compile(r"(?:the class|its ACL) allows (?:only )?(.*)")
                groups = [set().union(*(named[who] for who in found[1].split(" or "))) if found[1] != "nobody" else set()
                          for part in re.sub(r"^(yes|no) (Add fields|\w+) ", "", line).split("; ") if (found := rule.match(part))]
                for user in told:
                    context = (class_name, operation, asked, user, line, rules, acl, host, guests)
                    if done[asked][operation]:
                        assert user != asked or all(asked in group for group in groups), context
                    elif done[user][operation]:
                        # The refused rules name everyone whom the server lets in.
                        assert groups and all(user in group for group in groups), context
        rest.call("DELETE", f"/purge/{class_name}")
        rest.call("DELETE", f"/schemas/{class_name}")


def scenario_55_explains_access_limited_by_pointer_fields(console, rest):
    rest.define("Party", host={"type": "Pointer", "targetClass": "_User"})
    rest.call("PUT", "/schemas/Party", {"className": "Party", "classLevelPermissions": {
        "find": {"pointerFields": ["host"]}, "get": {"*": True}, "count": {}, "update": {"role:Editors": True, "pointerFields": ["host"]}}})
    kim = make_user(rest, "kim")["username"]
    others = rest.create("Party", host={"__type": "Pointer", "className": "_User", "objectId": make_user(rest, "lou")["objectId"]})
    hidden = rest.create("Party", ACL={"role:Editors": {"read": True}})
    lines = may_lines(console, "Party", kim)
    assert lines["Find"] == f"some Find Only objects whose host is {kim}", lines
    assert lines["Get"] == "yes Get the class allows everybody" and lines["Count"] == "no Count the class allows nobody", lines
    lines = may_lines(console, "Party")
    assert lines["Find"] == "no Find the class allows only the user in host", lines
    lines = may_lines(console, "Party", kim, others)
    assert lines["Find"] == f"no Find host is not {kim}; the class allows only the user in host", lines
    assert lines["Update"].endswith("the class allows only role Editors or the user in host"), lines
    lines = may_lines(console, "Party", object_id=hidden)
    assert lines["Get"] == "no Get its ACL allows only role Editors", lines


def scenario_56_warns_about_operations_left_open_when_find_is_restricted(console, rest):
    rest.define("Ajar", host={"type": "Pointer", "targetClass": "_User"})
    open_page(console, "access/Ajar", ".operation")
    console.click("[aria-label='Edit permission: Find']")
    console.wait("document.querySelector('dialog input')")
    assert "stays open" not in console.text("dialog")
    console.press("Space")
    console.value("[...document.querySelectorAll('dialog label')].find((e) => e.textContent === 'host').querySelector('input').click()")
    console.wait_text("Shuts out: everybody but the user in host.", "dialog .notice")
    console.wait_text("Get stays open to: everybody.", "dialog")
    console.wait_text("Count stays open to: everybody.", "dialog")
    console.value("[...document.querySelectorAll('dialog label')].find((e) => e.textContent === 'Change Get, Count in the same way').querySelector('input').click()")
    console.click_text("Save", "dialog")
    console.wait_text("Permissions of Ajar changed", ".toasts")
    stored = permissions(rest, "Ajar")
    assert stored["find"] == stored["get"] == stored["count"] == {"pointerFields": ["host"]} and stored["update"] == {"*": True}, stored


def scenario_48_finds_users_and_manages_their_sessions_password_and_lock(console, rest):
    made = make_user(rest, "helped")
    user = made["objectId"]
    name = made["username"]
    role = rest.call("POST", "/roles", {"name": f"Inner{time.time_ns()}", "ACL": {}, "users": {"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "_User", "objectId": user}]}})["objectId"]
    outer = rest.call("POST", "/roles", {"name": f"Outer{time.time_ns()}", "ACL": {}, "roles": {"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "_Role", "objectId": role}]}})["objectId"]
    rest.call("PUT", f"/roles/{role}", {"roles": {"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "_Role", "objectId": outer}]}})
    rest.call("POST", "/installations", {"deviceType": "ios", "installationId": "device of helped", "appName": "Songs"})
    open_page(console, "users", "main table")
    console.press("/")
    console.type(name)
    console.wait("document.querySelectorAll('main tbody tr').length === 1")
    console.press("Enter")
    console.wait_text("through Inner", "main")
    console.wait_text("login", "main")
    console.wait_text("ios, Songs", "main")
    console.wait("[...document.querySelectorAll('main .member')].some((e) => /^Last log-in\\s*(now|.* ago)/.test(e.innerText))")
    assert console.text("main .avatar") == name[0].upper()
    buttons = console.value("[...document.querySelectorAll('main .panel:last-child .member button')].map((e) => e.textContent)")
    assert buttons[0] == "View" and buttons[-2:] == ["Set password", "Lock out"], buttons
    assert made["sessionToken"] not in console.text("main")
    # The page shows the server's lock after failed log-ins.
    assert "may log in" in console.text("main")
    lock_until = lambda moment: rest.sql(f"""UPDATE "_User" SET "_account_lockout_expires_at" = {moment} WHERE "objectId" = '{user}'""")
    lock_until("now() + interval '1 hour'")
    open_page(console, f"users/user/{user}", "main .avatar")
    console.wait_text("locked after failed log-ins", "main")
    lock_until("NULL")
    console.click("[aria-label^='End the session of']")
    console.wait_text("no open session", "main")
    console.click_text("Set password", "main")
    console.wait("document.querySelector('dialog input')")
    console.type("another word")
    console.press("Enter")
    console.wait_text("has a new password", ".toasts")
    assert "sessionToken" in log_in(rest, name, "another word")
    console.click_text("Lock out", "main")
    console.wait_text("cannot log in", "dialog")
    assert "below" not in console.text("dialog")
    console.press("Enter")
    console.wait_text("locked out", "main")
    assert "error" in log_in(rest, name, "another word")
    # A list of choices has no undo of its own.
    console.value("document.querySelector('main select').focus()")
    console.press("Control+z")
    console.wait_text("may log in", "main")
    until(lambda: "sessionToken" in log_in(rest, name, "another word"), "the user stays out")
    console.open("audit", object=user)
    for words in ("Locked out the user", "Unlocked the user"):
        console.wait_text(f"{words} {user}", "main table")
    console.open(f"users/user/{user}")
    open_page(console, f"users/role/{outer}", ".two")
    console.wait_text("leads back to Outer", "main")


def scenario_35_start_code_reads_a_class_of_the_app(console, rest):
    rest.define("Aardvark", label={"type": "String"})
    try:
        open_page(console, "start", "main pre.code")
        for name in ("Swift (Parse iOS SDK)", "Parse-Swift", "Kotlin (Android)", "JavaScript", "Flutter", "curl"):
            console.click_text(name, "main")
            code = console.text("main pre.code")
            assert "Aardvark" in code and "User" not in code, code
            assert name != "Parse-Swift" or "var label: String?" in code, code
        console.click_text("Kotlin (Android)", "main")
        open_page(console, "start", "main pre.code")
        assert console.text("main [aria-pressed=true]") == "Kotlin (Android)", console.text("main [aria-pressed=true]")
        # Instead of the first class, the address may name another one.
        rest.define("Zebra", label={"type": "String"})
        open_page(console, "start?class=Zebra", "main pre.code")
        assert "Zebra" in console.text("main pre.code"), console.text("main pre.code")
        # A class that the first request can't read is left out.
        rest.call("PUT", "/schemas/Aardvark", {"className": "Aardvark", "classLevelPermissions": {"find": {}}})
        open_page(console, "start", "main pre.code")
        assert "Aardvark" not in console.text("main pre.code"), console.text("main")
    finally:
        console.value("localStorage.removeItem('roost.language')")
        rest.call("DELETE", "/schemas/Zebra")
        rest.call("DELETE", "/schemas/Aardvark")


def scenario_35_unknown_ids_say_what_to_do(console, rest):
    rest.define("Sought", name={"type": "String"})
    for path, words in (("data/Sought/nosuchid01", "Sought has no object nosuchid01. Check the id, or look in the trash."),
                        ("users/user/nosuchid01", "No user has this id"), ("users/role/nosuchid01", "No role has this id")):
        console.open(path)
        console.wait_text(words, "main .state")
        assert "Check the id" in console.text("main .state"), console.text("main .state")
    console.press("Control+k")
    console.wait("document.querySelector('dialog.palette input')")
    console.type("nosuchid01")
    console.wait_text("Nothing has this name or id. Check it", "dialog.palette")
    console.press("Escape")


def scenario_48_creates_users_and_roles(console, rest):
    name = f"made{time.time_ns()}"
    field = lambda label: f"[...document.querySelectorAll('dialog .field-row')].find((e) => e.innerText.startsWith('{label}')).querySelector('input')"
    for path, words, label in (("users", "New user", "username"), ("users/roles", "New role", "name")):
        open_page(console, path, "main .tabs")
        console.click_text(words, "main header")
        console.wait("document.querySelector('dialog .field-row')")
        assert console.text("dialog h2") == words, console.text("dialog h2")
        console.value(field(label) + ".focus()")
        console.type(name)
        if path == "users":
            assert "required" in console.value(field("username") + ".closest('.field-row').innerText")
            console.press("Enter")
            console.wait_text("password is required.", "dialog")
            console.value(field("password") + ".focus()")
            console.type("secret word")
        console.press("Enter")
        console.wait(f"document.querySelector('dialog') === null && document.querySelector('main table')?.innerText.includes('{name}')")
    assert "sessionToken" in log_in(rest, name, "secret word")
    # The palette finds users by name on every page.
    console.press("Control+k")
    console.wait("document.querySelector('dialog.palette input')")
    console.type(name)
    console.wait_text("in _User", "dialog.palette")
    console.press("Escape")
    assert rest.find("_Role", {"name": name})[0]["ACL"] == {"*": {"read": True}}


def scenario_48_lists_sessions_and_installations_without_tokens(console, rest):
    make_user(rest, "listed")
    rest.call("POST", "/installations", {"deviceType": "ios", "installationId": f"i{time.time_ns()}", "deviceToken": "ab" * 16, "channels": ["news"]})
    open_page(console, "users/sessions", "main table")
    console.wait_text("listed", "main table")
    assert console.value("[...document.querySelectorAll('main td')].every((e) => !/r:[0-9a-f]{8}/.test(e.innerText))")
    open_page(console, "users/installations", "main table")
    assert "news" in console.text("main table") and "abab" not in console.text("main table")
    open_page(console, "users/roles", "main .tabs")


def scenario_48_creates_changes_and_restores_config_parameters(console, rest):
    name = f"limit{time.time_ns()}"
    config = lambda: rest.call("GET", "/config")
    open_page(console, "config", "main .primary")
    assert "Values that apps can read without an update of the app." in console.text("main"), console.text("main")
    console.press("Alt+n")
    console.wait("document.querySelector('dialog input')")
    console.type(name)
    choose(console, "dialog select", "Number")
    console.value("document.querySelector('dialog [id^=value-]').focus()")
    console.type("many")
    console.press("Enter")
    console.wait_text("Number", "dialog .problem")
    assert name not in config()["params"]
    console.value("document.querySelector('dialog [id^=value-]').value = ''")
    console.browser.fill("dialog [id^=value-]", "12")
    console.value("document.querySelector('dialog input[type=checkbox]').click()")
    console.press("Control+Enter")
    console.wait_text(name, "main table")
    assert config()["params"][name] == 12 and config()["masterKeyOnly"][name] is True
    menu(console, f"Actions of {name}", "Change")
    console.wait("document.querySelector('dialog input[type=checkbox]')")
    console.value("document.querySelector('dialog [id^=value-]').value = ''")
    console.browser.fill("dialog [id^=value-]", "13")
    console.press("Enter")
    console.wait("document.querySelector('dialog') === null")
    # A parameter for the master key keeps its visibility.
    until(lambda: config()["params"][name] == 13 and config()["masterKeyOnly"][name] is True, config())
    menu(console, f"Actions of {name}", "History")
    console.wait_text("12", "dialog")
    console.click_text("Set again", "dialog")
    until(lambda: config()["params"][name] == 12, config())
    console.wait("document.querySelector('dialog') === null")
    menu(console, f"Actions of {name}", "Delete")
    console.wait("document.querySelector('dialog .danger')")
    console.press("Enter")
    until(lambda: name not in config()["params"], config())
    console.press("Control+z")
    until(lambda: config()["params"].get(name) == 12 and config()["masterKeyOnly"][name] is True, config())
    # A change of visibility keeps values without an editor.
    for value in ({"__type": "Bytes", "base64": "SGk="}, {"__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1], [0, 0]]}):
        rest.call("PUT", "/config", {"params": {name: value}, "masterKeyOnly": {name: False}})
        open_page(console, "config", "main table")
        menu(console, f"Actions of {name}", "Change")
        console.wait("document.querySelector('dialog select')?.selectedOptions[0].text === " + json.dumps(f"{value['__type']}, kept as it is"))
        console.value("document.querySelector('dialog input[type=checkbox]').click()")
        console.press("Control+Enter")
        until(lambda: config()["masterKeyOnly"].get(name) is True, config())
        assert config()["params"][name] == value, config()["params"][name]


def scenario_80_keyboard_shortcuts_open_every_page(console, rest):
    open_page(console, "data", ".classes")
    for key, page in (("b", "start"), ("s", "schema"), ("w", "access"), ("u", "users"), ("f", "files"), ("c", "config"), ("l", "logs"), ("k", "cloud"), ("n", "push"), ("a", "rest"), ("v", "live"), ("p", "performance"), ("h", "health"), ("o", "settings"), ("t", "trash"), ("e", "audit"), ("d", "data")):
        console.press("g", key)
        console.wait(f"location.pathname.includes('/console/{page}') && document.querySelector('main h1, main .classes')")
        console.wait(f"document.querySelector('.rail [aria-current]').getAttribute('href').endsWith('/{page}')")
        console.settle()
        console.press("?")
        console.wait_text("Keys", "dialog")
        keys = console.value("[...document.querySelectorAll('dialog .keys > span:nth-of-type(odd)')].map((e) => e.innerText)")
        assert len(keys) == len(set(keys)) > 17, keys
        console.press("Escape")
        console.wait("document.querySelector('dialog') === null")
        tab_to(console, "e.closest('main') && e.matches('a, button, input, select, [tabindex]') && e.id !== 'main'", 2)
        console.value("document.activeElement.blur()")


def scenario_80_pages_fit_a_phone_in_dark_mode_with_labels(console, rest):
    guarded(rest)
    user = make_user(rest, "phone")["objectId"]
    try:
        for dark in (False, True):
            console.size(375, 667, dark)
            for path, selector in (("schema", ".classes-drawing"), ("schema/Guarded", "main table"), ("access/Guarded", ".operation"), ("access/Guarded?as=anonymous", ".may .line"),
                                   ("users", "main table"), ("users/sessions", "main table"), (f"users/user/{user}", ".two"), ("files", "main table, main .state"), ("config", "main .head"),
                                   ("performance", ".chart"), ("health", "main .panel"), ("settings", "main table")):
                open_page(console, path, selector)
                assert console.value(PHONE), path
                # Every button has a label.
                nameless = console.value("""[...document.querySelectorAll('main button, main a, main input, main select')]
                    .filter((e) => !(e.getAttribute('aria-label') ?? e.textContent).trim() && !e.closest('label') && !document.querySelector(`label[for="${e.id}"]`)).length""")
                assert nameless == 0, (path, nameless)
        open_page(console, "schema", ".classes-drawing")
        console.click(".rail button.item:last-child")
        console.wait("document.querySelector('.menu')")
        console.click_text("Config", ".menu")
        console.wait("location.pathname.endsWith('/config')")
    finally:
        console.size(1440, 900)
