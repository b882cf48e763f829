"""Scenarios of malicious data, and of views as another user."""

import json
import time

from signing_in import in_a_browser_of

MARKUP = ['<img src=x onerror="window.ran=1">', '"><script>window.ran=1</script>', "javascript:window.ran=1",
          "<svg onload=window.ran=1>", "{{constructor.constructor('window.ran=1')()}}", "'-window.ran=1-'"]
LIES = {"abc\u202etxt.exe": "\\u202e", "zero\u200bwidth": "\\u200b", "\ufeffmark": "\\ufeff", "bell\u0007": "\\u0007",
        "line\nbreak": "\u23ce", "blank\u2800": "\\u2800", "admin\ufe0f": "\\ufe0f", "tag\U000e0041": "\\u{e0041}",
        "note\U0001d173": "\\u{1d173}", "joined\u034f": "\\u034f", "\u2764\ufe0f": "\u2764\ufe0f", "     ": "5 spaces", "": "empty", "saved": "saved", "null": "null"}
PATHS = ("data", "data/{class}", "data/{class}/{id}", "schema", "schema/{class}", "access/{class}", "access/{class}?as=anonymous", "users",
         "users/roles", "users/sessions", "users/installations", "users/user/{user}", "files", "config", "performance", "health", "settings", "logs", "cloud", "cloud/triggers", "cloud/jobs", "cloud/hooks", "cloud/hosts", "push", "rest", "live", "trash", "trash/{class}", "audit", "audit?class={class}")


def scenario_65_shows_markup_as_text_on_every_page(console, rest):
    rest.define("Markup", name={"type": "String"}, list={"type": "Array"}, object={"type": "Object"}, file={"type": "File"},
                pointer={"type": "Pointer", "targetClass": "Markup"}, **{"ACL": {"type": "ACL"}})
    first = None
    for text in MARKUP:
        values = {"name": text, "list": [text], "object": {"text": text, text.replace("$", "").replace(".", ""): 1},
                  "ACL": {"*": {"read": True}, f"role:{text}": {"read": True}}}
        if first:
            values["pointer"] = {"__type": "Pointer", "className": "Markup", "objectId": first}
        answer = rest.call("POST", "/classes/Markup", values)
        if "objectId" not in answer:
            values["object"] = {"text": text}
            answer = rest.call("POST", "/classes/Markup", values)
        first = first or answer["objectId"]
    gone = rest.create("Markup", name=MARKUP[0])
    console.open_class("Markup")
    console.wait_text(MARKUP[0], "r-grid")
    # The names also appear in the trash and in a message.
    row = console.value(f"document.querySelector('r-grid').rows.indexOf({json.dumps(gone)})")
    console.at(row, "objectId")
    console.press("Space", "Delete")
    console.wait_text(MARKUP[0], "dialog")
    console.click_text("Delete", "dialog")
    console.wait_text("deleted", ".toasts")
    console.edit(0, "name", MARKUP[1])
    # Names of accounts, devices and parameters are untrusted, too.
    user = ""
    for number, text in enumerate(MARKUP):
        made = rest.call("POST", "/users", {"username": f"{text}{time.time_ns()}", "password": "secret"})
        user = made.get("objectId", user)
        rest.call("POST", "/installations", {"installationId": f"{text}{time.time_ns()}", "deviceType": "ios", "appName": text, "appVersion": text, "channels": ["news"]})
        rest.call("PUT", "/config", {"params": {f"markup{number}": text}})
    for path in PATHS:
        console.open(path.replace("{class}", "Markup").replace("{id}", first).replace("{user}", user))
        console.settle()
        faults = console.faults()
        assert not faults, (path, faults)
    console.open(f"data/Markup/{first}")
    console.wait("document.querySelector('.object')")
    console.value("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    console.settle()
    console.open_class("Markup", where={"name": MARKUP[1]})
    for field in ("object", "list", "ACL"):
        console.at(0, field)
        console.press("Enter")
        console.wait("document.querySelector('dialog.sheet')")
        console.settle()
        console.press("Escape")
    console.press("Control+k")
    console.wait("document.querySelector('dialog.palette')")
    console.type("<img src=x onerror=window.ran=1>")
    console.settle()
    console.press("Escape")


def scenario_65_shows_markup_in_user_agents_and_names_as_text(console, rest):
    if not console.credentials:
        return
    console.open("data")
    rest.call("PUT", "/config", {"params": {f"{MARKUP[1]}": 1, "plain": {MARKUP[0].replace(".", ""): MARKUP[0]}}})
    name = f"{MARKUP[0]}{time.time_ns()}"
    assert console.api("POST", "operators", {"name": name, "password": "a long password", "role": "owner"}) in (200, 201)
    other = in_a_browser_of(console, name=name, password="a long password")
    try:
        other.browser.call("Network.setUserAgentOverride", userAgent=MARKUP[0] + " \u202e")
        other.sign_in()
        other.wait_text(MARKUP[0][:10], ".rail")
        other.click(".rail button.item:last-child")
        other.click_text("My account", ".menu")
        other.wait_text(MARKUP[0], "dialog")
        assert "\u202e" not in other.text("dialog")
        other.press("Escape")
        other.wait("document.querySelector('dialog') === null")
        other.click(".rail button.item:last-child")
        other.click_text("Operators", ".menu")
        other.wait_text(MARKUP[0], "dialog")
        other.press("Escape")
        # The object's history and the trash name the operator.
        object_id = rest.create("Markup", name="kept")
        assert other.api("PUT", f"parse/classes/Markup/{object_id}", {"name": MARKUP[2]}) == 200
        other.open(f"data/Markup/{object_id}")
        other.wait("document.querySelector('.object')")
        other.value("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
        other.wait_text(MARKUP[0], ".object .history")
        assert other.api("DELETE", f"parse/classes/Markup/{object_id}") == 200
        other.open("trash")
        other.wait_text(MARKUP[0], ".trash-list")
        other.open("config")
        other.wait_text("plain", "main table")
        assert other.value("document.querySelector('main img, main script, dialog img')") is None
        assert other.faults() == []
    finally:
        other.close()
    rest.call("PUT", "/config", {"params": {MARKUP[1]: {"__op": "Delete"}, "plain": {"__op": "Delete"}}})


def scenario_66_escapes_invisible_and_misleading_characters(console, rest):
    rest.define("Lies", name={"type": "String"}, number={"type": "Number"})
    rest.create_many("Lies", [{"name": text, "number": number} for number, text in enumerate(LIES)])
    rest.create("Lies", name="a" + "\u0301" * 100, number=100)
    rest.create("Lies", name="x" * 2_000_000, number=101)
    console.open_class("Lies", order="number")
    for number, expected in enumerate(LIES.values()):
        assert expected in console.cell(number, "name"), (number, console.cell(number, "name"))
    assert "\u00d7100" in console.cell(len(LIES), "name"), console.cell(len(LIES), "name")
    assert "2 MB" in console.cell(len(LIES) + 1, "name")
    heights = console.value("[...document.querySelectorAll('.g-row')].every((row) => row.getBoundingClientRect().height === 32)")
    assert heights
    # Values that look like the console's own words are ordinary texts.
    assert console.value("[...document.querySelectorAll('.g-cell .apart')].map((e) => e.innerText).sort()") == ["5 spaces", "empty"]


def scenario_66_layout_survives_ten_thousand_marks_and_five_megabytes(console, rest):
    rest.define("Heaps", name={"type": "String"}, number={"type": "Number"})
    marks = rest.create("Heaps", name="a" + "\u0301" * 10_000, number=0)
    rest.create("Heaps", name="x" * 5_000_000, number=1)
    console.open_class("Heaps", order="number")
    assert "\u00d7" in console.cell(0, "name") and len(console.cell(0, "name")) < 200, console.cell(0, "name")[:300]
    assert "5 MB" in console.cell(1, "name") and len(console.cell(1, "name")) < 400, console.cell(1, "name")[:300]
    assert console.value("[...document.querySelectorAll('.g-row')].every((row) => row.getBoundingClientRect().height === 32)")
    for path in (f"data/Heaps/{marks}", "data/Heaps"):
        console.open(path)
        console.wait("document.querySelector('.object, r-grid .g-cell')")
        console.settle()
        assert console.value("document.documentElement.scrollWidth <= innerWidth")
        assert console.value("[...document.querySelectorAll('main *')].every((e) => e.childElementCount || e.textContent.length < 10000)")


def scenario_66_escapes_misleading_names_on_every_page(console, rest):
    lie, shown = f"evil\u202e{time.time_ns()}", "evil\\u202e"
    user = rest.call("POST", "/users", {"username": lie, "password": "secret", "email": f"lie{time.time_ns()}@example.org"})["objectId"]
    role = rest.call("POST", "/roles", {"name": f"plain{time.time_ns()}", "ACL": {f"role:{lie}": {"read": True}}, "users": {
        "__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "_User", "objectId": user}]}})["objectId"]
    rest.call("PUT", "/config", {"params": {"lying": lie, "listed": [lie]}})
    rest.define("Lied", name={"type": "String"})
    rest.create("Lied", name=lie, ACL={})
    answer = rest.call("PUT", "/schemas/Lied", {"className": "Lied", "fields": {"text": {"type": "String", "defaultValue": lie}}, "classLevelPermissions": {
        "find": {"*": True}, "get": {user: True}, "protectedFields": {user: ["text"]}}})
    assert "error" not in answer, answer
    for path in ("users", f"users/user/{user}", f"users/role/{role}", "config", "schema/Lied", "access/Lied", "access/Lied?as=anonymous"):
        console.open(path)
        console.wait_text(shown, "main")
        console.settle()
        assert "\u202e" not in console.text("body") + console.value("[...document.querySelectorAll('[title], [aria-label]')].map((e) => e.title + e.getAttribute('aria-label')).join()"), path
        assert "\u202e" not in console.value("document.title"), path


def scenario_66_shows_letters_of_all_scripts_unescaped(console, rest):
    """Harmless letters of all scripts aren't escaped, even inside sentences."""
    rest.define("Scripts", name={"type": "String"})
    name = "Zo\u00eb \u05e9\u05dc\u05d5\u05dd"
    object_id = rest.create("Scripts", name=name, ACL={f"role:{name}": {"read": True}})
    console.open_class("Scripts", where={"name": name})
    console.wait("document.querySelector('.chip')")
    said = [console.text(".chip"), console.cell(0, "ACL")]
    console.at(0, "ACL")
    console.press("Enter")
    console.wait("document.querySelector('dialog .matrix')")
    said += [console.text("dialog .sentences"), console.value("document.querySelector('dialog .matrix input').getAttribute('aria-label')")]
    console.press("Escape")
    console.open(f"data/Scripts/{object_id}")
    console.wait("document.querySelector('.object-side p')")
    said.append(console.text(".object-side"))
    assert all(name in text and "\\u20" not in text for text in said), said


def open_tree(console, row, field):
    """Opens the sheet of an object or array, and expands every branch."""
    console.at(row, field)
    console.press("Enter")
    console.wait("document.querySelector('dialog.sheet .tree')")
    console.value("document.querySelectorAll('dialog .branch').forEach((e) => e.click())")


def close_sheet(console):
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")


def scenario_67_opens_deep_and_unusual_objects(console, rest):
    deep = {"end": True}
    for number in range(60):
        deep = {"inner": deep, "number": number}
    rest.define("Deep", name={"type": "String"}, object={"type": "Object"}, many={"type": "Object"})
    rest.create("Deep", name="deep", object={"toString": 1, "length": "9", "hasOwnProperty": 2, "valueOf": None, "deep": deep},
                many={f"key{number}": number for number in range(10000)})
    console.open_class("Deep")
    for field in ("object", "many"):
        open_tree(console, 0, field)
        console.settle()
        assert console.value("document.querySelectorAll('dialog .leaf').length") < 400
        close_sheet(console)
    assert console.value("({}).end === undefined && Object.keys(Object.prototype).length === 0")


def scenario_67_opens_objects_that_apps_cannot_store(console, rest):
    if not rest.database:
        return
    rest.define("Stranger", name={"type": "String"}, object={"type": "Object"})
    deep = {"end": True}
    for number in range(150):
        deep = {"inner": deep}
    odd = {"__proto__": {"polluted": True}, "constructor": {"prototype": {"polluted": True}}, "toString": 1, "length": -1, "": 0, "deep": deep}
    rest.create("Stranger", name="deep")
    rest.sql("UPDATE \"Stranger\" SET \"object\" = '" + json.dumps(odd).replace("'", "''") + "'")
    console.open_class("Stranger")
    open_tree(console, 0, "object")
    for name in ("__proto__", "constructor", "toString", "length"):
        assert name in console.text("dialog .tree"), name
    # Expands branches until none is collapsed.
    console.value("""(() => {
        for (let depth = 0; depth < 200; depth += 1) {
            const closed = document.querySelectorAll('dialog .branch[aria-expanded=false]');
            if (closed.length === 0) return;
            closed.forEach((branch) => branch.click());
        }
    })()""")
    assert console.value("document.querySelector('dialog .tree').textContent.includes('end')")
    close_sheet(console)
    console.open(f"data/Stranger/{rest.find('Stranger')[0]['objectId']}")
    console.wait("document.querySelector('.object')")
    console.value("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    console.settle()
    assert console.value("({}).polluted === undefined && Object.keys(Object.prototype).length === 0 && Object.keys(Function.prototype).length === 0")


def scenario_67_shows_values_with_wrong_types_as_objects(console, rest):
    claims = [{"__type": name} for name in ("Array", "String", "Number", "Bytes", "Date", "Polygon", "File", "constructor")]
    claims += [{"__type": "Shortened", "type": "constructor", "bytes": 1}, {"__type": "Pointer", "className": "..", "objectId": ".."},
               {"__type": "Date", "iso": "2024\u202e"}, {"__type": "Object", "className": ["x"]}]
    rest.define("Claims", name={"type": "String"}, list={"type": "Array"}, object={"type": "Object"})
    stored = [rest.call("POST", "/classes/Claims", {"name": "claims", "list": [claim], "object": {"inner": claim}}) for claim in claims]
    ids = [answer["objectId"] for answer in stored if "objectId" in answer]
    assert len(ids) >= 4, stored
    console.open_class("Claims")
    for row in range(len(ids)):
        for field in ("list", "object"):
            open_tree(console, row, field)
            assert "\u202e" not in console.text("dialog .tree")
            close_sheet(console)
    console.open(f"data/Claims/{ids[0]}")
    console.wait("document.querySelector('.object')")


def scenario_67_rejects_prototype_names_and_dot_segments(console, rest):
    """Tests pure modules with texts that JavaScript or browsers interpret specially."""
    console.open("data")
    console.wait("document.querySelector('.classes a')")
    found = console.value("""(async () => {
        const folder = document.querySelector('script[type=module]').src.replace(/main[.]js$/, '');
        const [api, values] = await Promise.all([import(folder + 'core/api.js'), import(folder + 'data/values.js')]);
        const refused = (body) => Promise.resolve().then(body).then(() => false, (problem) => problem.message || true);
        return {
            words: await Promise.all(['constructor', 'toString', '__proto__'].map((text) => refused(() => values.fromText(text, { name: 'f', type: 'Boolean' })))),
            steps: await Promise.all(['.', '..'].map((id) => refused(() => api.parse.delete(api.objectPath('Track', id))))),
            said: new api.Refusal(400, { error: 'a\\u202eb\\u0007' }).message,
            own: Object.keys(values.setOwn({}, '__proto__', { x: 1 })),
        };
    })()""")
    assert all(found["words"]) and all(found["steps"]), found
    assert found["said"] == "a\\u202eb\\u0007" and found["own"] == ["__proto__"], found


def scenario_68_editing_keeps_extreme_numbers_and_dates(console, rest):
    rest.define("Extreme", name={"type": "String"}, number={"type": "Number"}, date={"type": "Date"})
    numbers = [1e21, 12345678901234567, 0.1, 5e-324, -3]
    dates = ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]
    ids = rest.create_many("Extreme", [{"name": str(number), "number": number} for number in numbers])
    ids += rest.create_many("Extreme", [{"name": iso, "date": {"__type": "Date", "iso": iso}} for iso in dates])
    before = [rest.get("Extreme", object_id) for object_id in ids]
    console.open_class("Extreme")
    for row in range(len(ids)):
        for field in ("number", "date"):
            console.at(row, field)
            console.press("Enter")
            console.wait("document.querySelector('.g-editor')")
            console.press("Enter")
            console.wait("document.querySelector('.g-editor') === null")
    console.settle()
    assert [rest.get("Extreme", object_id) for object_id in ids] == before
    assert "1e+21" in console.text("r-grid") and "5e-324" in console.text("r-grid")


def scenario_68_editing_keeps_the_limits_of_numbers_and_dates(console, rest):
    if not rest.database:
        return
    rest.define("Edges", name={"type": "String"}, number={"type": "Number"}, date={"type": "Date"})
    for name, number, date in (("a", "'-0'", "NULL"), ("b", "12345678901234567", "'0001-01-01 00:00:00+00 BC'"),
                               ("c", "1e21", "'275760-09-13 00:00:00+00'"), ("d", "5e-324", "'0001-01-01 00:00:00+00'")):
        object_id = rest.create("Edges", name=name)
        rest.sql(f"""UPDATE "Edges" SET "number" = {number}, "date" = {date} WHERE "objectId" = '{object_id}'""")
    stored = """SELECT string_agg(concat_ws(' ', "name", "number"::text, "date"::text), ',' ORDER BY "name") FROM "Edges" """
    before = rest.sql(stored)
    console.open_class("Edges", order="name")
    # The server returns 0, like JavaScript's JSON.
    assert console.cell(0, "number") in ("0", "-0") and "1e+21" in console.cell(2, "number"), (console.cell(0, "number"), console.cell(2, "number"))
    assert "0000-01-01" in console.cell(1, "date") and "275760-09-1" in console.cell(2, "date"), (console.cell(1, "date"), console.cell(2, "date"))
    for row in range(4):
        for field in ("number", "date"):
            console.at(row, field)
            console.press("Enter")
            console.wait("document.querySelector('.g-editor')")
            console.press("Enter")
            console.wait("document.querySelector('.g-editor') === null")
    console.settle()
    assert rest.sql(stored) == before and console.text(".toasts") == ""
    # Types the year 275760.
    console.edit(0, "date", "+275760-09-13T00:00:00.000Z")
    console.wait_text("saved", ".toasts")
    assert "275760-09-13" in rest.sql("""SELECT "date"::text FROM "Edges" WHERE "name" = 'a'""")


ALIKE = ["saved", "\u2713 saved", "[Undo]", "\u2716 Delete", "(Artist 37)", "\u25cf 5 items", "null", "empty", "Everybody may read and change this", "1 selected", "\u26a0 the object is gone"]


def scenario_70_shows_text_that_imitates_the_page_as_text(console, rest):
    rest.define("Alike", name={"type": "String"}, number={"type": "Number"}, pointer={"type": "Pointer", "targetClass": "Alike"}, list={"type": "Array"})
    ids = [rest.create("Alike", name=text, number=number, list=[text]) for number, text in enumerate(ALIKE)]
    for number, object_id in enumerate(ids):
        rest.update("Alike", object_id, pointer={"__type": "Pointer", "className": "Alike", "objectId": ids[number - 1]})
    texts = """(where) => [...document.querySelectorAll(where)].map((cell) => { const text = cell.querySelector('bdi.text'); return [text?.textContent,
        getComputedStyle(text).unicodeBidi, cell.querySelectorAll('button, a, svg, .pill, .tag, .flag, .apart, .warn').length]; })"""
    console.open_class("Alike", order="number")
    console.wait("document.querySelectorAll('.g-row .pill').length === %d" % len(ALIKE))
    column = console.value("document.querySelector('r-grid').columns.findIndex(({ name }) => name === 'name')")
    for number, text in enumerate(ALIKE):
        drawn = console.value(f"""(() => {{ const cell = document.querySelector('r-grid').cellElement({number}, {column}); cell.classList.add('alike'); return ({texts})('.alike').at(-1); }})()""")
        console.value("document.querySelectorAll('.alike').forEach((cell) => cell.classList.remove('alike'))")
        assert drawn == [text, "isolate", 0], (text, drawn)
        # The name of a pointer's object is inside the single pill.
        assert ALIKE[number - 1] in console.cell(number, "pointer"), (number, console.cell(number, "pointer"))
    assert console.value("document.querySelectorAll('.g-row .pill').length") == len(ALIKE)
    assert console.text(".toasts") == "" and console.value("document.querySelectorAll('.g-row button').length") == 0
    console.open(f"data/Alike/{ids[2]}")
    console.wait("document.querySelector('.object')")
    console.wait_text(ALIKE[2], ".object")
    found = console.value("[...document.querySelectorAll('main bdi.text')].filter((e) => e.textContent === %s).map((e) => getComputedStyle(e).unicodeBidi)" % json.dumps(ALIKE[2]))
    assert found and set(found) == {"isolate"}, found


def scenario_72_shows_markup_in_errors_as_text(console, rest):
    rest.define("Faulty", name={"type": "String"})
    console.open_class("Faulty", where={"name": {"$<img src=x onerror=window.ran=1>": 1}})
    console.wait("document.querySelector('.state.failed')")
    assert console.value("document.querySelectorAll('.state img').length") == 0
    assert console.text(".state").count("Try again") == 1


def scenario_80_labels_every_control_and_fits_a_phone(console, rest):
    for path in ("data", "data/Markup", "schema", "schema/Markup", "access/Markup", "access/Markup?as=anonymous", "users", "users/roles", "users/sessions", "files", "config", "trash"):
        for width, height, dark in ((1440, 900, False), (768, 900, True), (375, 667, False)):
            console.size(width, height, dark)
            console.open(path)
            console.settle()
            nodes = console.browser.call("Accessibility.getFullAXTree")["nodes"]
            for node in nodes:
                role = node.get("role", {}).get("value")
                if role in ("button", "link", "textbox", "searchbox", "combobox", "checkbox", "grid", "navigation") and not node.get("ignored"):
                    assert node.get("name", {}).get("value"), (path, width, role, node.get("properties"))
            assert console.value("document.documentElement.scrollWidth <= innerWidth"), (path, width)
    console.size(1440, 900)
    hosts = console.value("[...new Set(performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host))]")
    assert hosts == [console.value("location.host")], hosts
    low = console.value("""[...document.querySelectorAll('body *')].filter((e) => {
        const style = getComputedStyle(e);
        return e.childNodes.length && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && e.checkVisibility() && parseFloat(style.fontSize) < 11;
    }).map((e) => e.outerHTML.slice(0, 80))""")
    assert low == [], low
