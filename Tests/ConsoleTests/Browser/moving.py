"""Scenarios of import, export and files, and of rows as another user sees them."""

import base64
import csv
import io
import json
import os
import pathlib
import random
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from pages import log_in, make_user, menu, open_page, until
from signing_in import in_a_browser_of, new_operator

csv.field_size_limit(10 ** 8)
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="roost-moving-"))


def class_menu(console, words):
    console.click(".content [aria-label='More actions']")
    console.click_text(words, ".menu")
    console.wait("document.querySelector('dialog')")


def give(console, name, content):
    """Chooses a file in the dialog."""
    path = FOLDER / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    give_path(console, path)


def give_path(console, path):
    console.wait("document.querySelector('dialog input[type=file]')")
    root = console.browser.call("DOM.getDocument")["root"]["nodeId"]
    node = console.browser.call("DOM.querySelector", nodeId=root, selector="dialog input[type=file]")["nodeId"]
    console.browser.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def open_import(console, class_name):
    console.open_class(class_name)
    class_menu(console, "Import \u2026")


def choose(console, label, value):
    console.value(f"""(() => {{
        const select = document.querySelector('dialog select[aria-label=' + {json.dumps(json.dumps(label))} + ']');
        select.value = {json.dumps(value)};
        select.dispatchEvent(new Event('change', {{ bubbles: true }}));
    }})()""")


def ended(console, seconds=120):
    console.wait("document.querySelector('dialog .primary')?.textContent === 'Close'", seconds)
    return console.text("dialog")


def export(console, class_name, form="csv", exact=False, **query):
    """Exports a class, and returns the file's bytes."""
    folder = FOLDER / f"{class_name}-{form}-{random.randrange(10 ** 9)}"
    folder.mkdir()
    console.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    console.open_class(class_name, **query)
    class_menu(console, "Export \u2026")
    console.value(f"""(() => {{
        const form = [...document.querySelectorAll('dialog select')].at(-1);
        form.value = {json.dumps(form)};
        form.dispatchEvent(new Event('change', {{ bubbles: true }}));
        if ({json.dumps(exact)}) document.querySelector('dialog input[type=checkbox]').click();
    }})()""")
    console.click_text("Export", "dialog")
    said = ended(console, 300)
    assert "exported" in said, said
    end = time.monotonic() + 20
    while not (files := [path for path in folder.iterdir() if not path.name.endswith(".crdownload")]):
        assert time.monotonic() < end, "the file does not come"
        time.sleep(0.05)
    assert [path.name for path in files] == [f"{class_name}.{form}"], files
    console.click_text("Close", "dialog")
    return files[0].read_bytes()


def scenario_60_imports_a_large_table_and_reports_invalid_rows(console, rest):
    rest.define("Prices", name={"type": "String"})
    n = max(rest.rows, 3000)
    lines = ["name,Preis,ok,since,Leer"] + [f"row {number},{number / 4},true,2024-01-{number % 28 + 1:02d}," for number in range(n)]
    for place, text in ((50, "bad,1.x,true,2024-01-01,"), (1500, "bad,1"), (2600, "bad,2,true,yesterday,")):
        lines[place] = text
    open_import(console, "Prices")
    give(console, "prices.csv", "\n".join(lines) + "\n")
    console.wait("document.querySelector('dialog table')")
    row = lambda place: console.text(f"dialog tbody tr:nth-child({place})")
    assert "String" in row(1) and "Number" == console.value("document.querySelector('dialog [aria-label=\"Type of column Preis\"]').value")
    assert console.value("[...document.querySelectorAll('dialog tbody select:last-of-type')].map((e) => e.value)")[:1] == ["name"]
    assert "1 doesn't fit" in row(2), row(2)
    assert [console.value(f"document.querySelector('dialog [aria-label=\"Type of column {name}\"]').value") for name in ("ok", "since")] == ["Boolean", "Date"]
    choose(console, "Field of column Leer", "")
    console.click_text("Dry run", "dialog")
    console.wait_text(f"{n - 3:,} rows can be imported, 3 rejected", "dialog")
    console.wait("document.querySelector('dialog .primary')?.textContent === 'Import'")
    said = console.text("dialog")
    assert all(f"Line {line}:" in said for line in ("51", "1,501", "2,601")), said
    assert rest.count("Prices") == 0 and "preis" not in rest.call("GET", "/schemas/Prices")["fields"]
    # The import starts from the dry run's result.
    console.click_text("Import", "dialog")
    said = ended(console)
    assert f"{n - 3:,} rows imported, 3 rejected" in said and f"Prices has {n - 3:,} objects now" in said, said
    assert rest.count("Prices") == n - 3
    fields = rest.call("GET", "/schemas/Prices")["fields"]
    assert (fields["preis"], fields["ok"], fields["since"]) == ({"type": "Number"}, {"type": "Boolean"}, {"type": "Date"}), fields
    assert rest.find("Prices", {"name": "row 7"})[0]["preis"] == 7 / 4
    console.click_text("Close", "dialog")
    console.wait_text(f"{n - 3:,} objects", ".content header")


def scenario_41_undo_reverts_no_edit_older_than_a_change_that_cannot_be_undone(console, rest):
    rest.define("Lasting", name={"type": "String"}, plays={"type": "Number"})
    object_id = rest.create("Lasting", name="start")
    name = lambda: rest.get("Lasting", object_id)["name"]
    console.open_class("Lasting")
    console.edit(0, "name", "mine")
    until(lambda: name() == "mine", "the edit is stored")
    console.wait_text("name of", ".toasts")

    def open_in_place(path):
        """Opens a page without losing the changes to undo."""
        console.value(f"history.pushState(null, '', location.pathname.replace(/console.*/, 'console/{path}')); dispatchEvent(new PopStateEvent('popstate'))")

    def rejects(change):
        console.wait_text(change, ".toasts")
        console.wait("document.querySelector('dialog') === null")
        console.press("Control+z")
        console.wait_text(f"{change}: you can't undo this.", ".toasts")
        console.settle()
        assert name() == "mine"
    # The dialog of the import shows its result, so there is no message.
    class_menu(console, "Import \u2026")
    give(console, "lasting.csv", "plays\n1\n2\n")
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    ended(console)
    console.click_text("Close", "dialog")
    console.wait("document.querySelector('dialog') === null")
    console.press("Control+z")
    console.wait_text("Import into Lasting: you can't undo this.", ".toasts")
    assert name() == "mine"
    open_in_place("schema/Lasting")
    console.click_text("New field", "main")
    console.wait("document.querySelector('dialog input')")
    console.type("state")
    console.press("Control+Enter")
    rejects("Field state added to Lasting")
    menu(console, "Actions of state", "Delete \u2026")
    console.wait_text("have a value in state", "dialog")
    console.type("state")
    console.press("Enter")
    rejects("Field state deleted")
    open_in_place("data/Lasting?where=" + urllib.parse.quote('{"plays":{"$exists":true}}'))
    console.wait_text("2 objects", ".content header")
    class_menu(console, "Delete all 2 \u2026")
    console.click_text("Delete", "dialog")
    rejects("2 objects of Lasting deleted")
    assert rest.count("Lasting") == 1
    console.click_text("Trash", ".toasts")
    console.wait("location.pathname.endsWith('/trash/Lasting') && document.querySelector('.trash-row')")
    console.click(".trash-row .button")
    console.wait_text("is back in Lasting", ".toasts")
    until(lambda: rest.count("Lasting") == 2, "the object is restored")
    console.settle()
    console.press("Control+z")
    console.wait("[...document.querySelectorAll('.toasts span')].some((e) => /is back in Lasting: you can't undo this/.test(e.textContent))")
    assert name() == "mine" and rest.count("Lasting") == 2
    # The next undo reverts the edit.
    console.press("Control+z")
    until(lambda: name() == "start", "the edit is undone")


def scenario_61_reports_an_import_that_ended_with_its_tab(console, rest):
    rest.define("Left", n={"type": "Number"})
    open_import(console, "Left")
    give(console, "left.csv", "n\n" + "\n".join(str(number) for number in range(300_000)))
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    console.wait("/[1-9][\\d,]* rows imported/.test(document.querySelector('dialog')?.innerText)", 60)
    console.click_text("Pause", "dialog")
    console.wait("[...document.querySelectorAll('dialog button')].some((button) => button.textContent === 'Resume')")
    asked = console.value("(() => { const event = new Event('beforeunload', { cancelable: true }); dispatchEvent(event); return event.defaultPrevented; })()")
    assert asked, "the browser would close the tab without a question"
    console.open_class("Left")
    console.wait_text("The import of left.csv ended when its browser tab closed", ".toasts", 30)
    stored = rest.count("Left")
    assert 0 < stored < 300_000, stored


def scenario_61_stopping_an_import_keeps_stored_rows(console, rest):
    rest.define("Halt", n={"type": "Number"})
    open_import(console, "Halt")
    give(console, "halt.csv", "n\n" + "\n".join(str(number) for number in range(300_000)))
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    console.wait("/[1-9][\\d,]* rows imported/.test(document.querySelector('dialog')?.innerText)", 60)
    console.click_text("Stop", "dialog")
    said = ended(console)
    n = rest.count("Halt")
    assert "Stopped" in said and f"Halt has {n:,} objects now" in said and n < 300_000, (said, n)
    console.click_text("Close", "dialog")


TABLES = {
    "quotes": ('a,b\r\n"x ""y"" z","1,2"\r\n"two\r\nlines",\'\r\nin "the" middle,"closed"after\r\n', "utf-8", ","),
    "semicolons": ("a;b\n1,5;\"x;y\"\n;z\n", "utf-8", ";"),
    "mark": ("\ufeffa,b\nä,ö\n", "utf-8", ","),
    "utf16": ("a\tb\nä\t日本\n", "utf-16", "\t"),
    "old": ("a,b\nä,ß€\n", "cp1252", ","),
    "returns": ("a,b\r1,2\r3,4", "utf-8", ","),
    "large": ("a,b\n" + "x" * 1_000_000 + ',"' + "y\n" * 400_000 + '"\n', "utf-8", ","),
}

LARGE = r"""new TextEncoder().encode('a,b\n' + 'x'.repeat(1000000) + ',"' + 'y\n'.repeat(400000) + '"\n')"""


def scenario_62_parses_csv_files_like_python(console, rest):
    console.open("data")
    for name, (text, encoding, delimiter) in TABLES.items():
        data = list(text.encode(encoding))
        # Long files are generated in the page.
        bytes_of = json.dumps(data) if len(data) < 9999 else LARGE
        expected = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter))
        found = console.value(f"""(async () => {{
            const assets = document.querySelector('script[type=module]').src.replace(/main\\.js$/, '');
            const {{ detect, records }} = await import(assets + 'data/import/reader.js');
            const file = new File([new Uint8Array({bytes_of})], 'x.csv');
            const form = await detect(file);
            const rows = [];
            for await (const {{ cells }} of records(file, form)) rows.push(cells.map((cell) => cell ?? ''));
            return [form.delimiter, rows];
        }})()""")
        assert found == [delimiter, expected], (name, str(found)[:300], str(expected)[:300])


def scenario_62_imports_restore_exported_objects_exactly(console, rest):
    fields = dict(text={"type": "String"}, n={"type": "Number"}, yes={"type": "Boolean"}, at={"type": "Date"}, place={"type": "GeoPoint"},
                  list={"type": "Array"}, object={"type": "Object"}, bytes={"type": "Bytes"}, file={"type": "File"},
                  pointer={"type": "Pointer", "targetClass": "_User"})
    rest.define("Round", **fields)
    texts = ["=1+1", "'=1", "''@x", "", " spaces ", "a\nb", 'say "x"', "\ttab", "-5", "line\r\nend", "\u202eturned"]
    for index, text in enumerate(texts):
        rest.create("Round", text=text, n=-index * 1.5, yes=index % 2 == 0, at={"__type": "Date", "iso": "1999-12-31T23:59:59.999Z"},
                    place={"__type": "GeoPoint", "latitude": -33.5, "longitude": 151}, list=[1, "=x"], object={"a": {"b": 1}},
                    bytes={"__type": "Bytes", "base64": "AAEC"}, pointer={"__type": "Pointer", "className": "_User", "objectId": "abcdefghij"},
                    ACL={"*": {"read": True}})
    before = rest.find("Round", order="objectId")
    for form in ("csv", "json", "ndjson"):
        content = export(console, "Round", form)
        rest.define("Round", **fields)
        open_import(console, "Round")
        give(console, f"again.{form}", content)
        console.wait("document.querySelector('dialog table')")
        console.click_text("Import", "dialog")
        said = ended(console)
        assert f"{len(texts)} rows imported" in said and "rejected" not in said, (form, said)
        assert rest.find("Round", order="objectId") == before, (form, rest.find("Round", order="objectId"), before)


def scenario_62_imports_resolve_names_in_pointer_columns(console, rest):
    rest.define("Singer", name={"type": "String"})
    rest.define("Sung", title={"type": "String"}, singer={"type": "Pointer", "targetClass": "Singer"})
    ada, bo, _ = (rest.create("Singer", name=name) for name in ("ada", "bo", "bo"))
    open_import(console, "Sung")
    give(console, "sung.csv", f"title,singer\na,ada\nb,{bo}\nc,nobody\nd,bo\ne,abcdefghij\nf,\n".encode())
    console.wait("document.querySelector('dialog table')")
    console.click_text("Dry run", "dialog")
    console.wait_text("4 rows can be imported, 2 rejected", "dialog")
    console.wait_text("Line 4: No Singer has the name or the id nobody.", "dialog")
    console.wait_text("Line 5: Several Singer have the name bo. Write the id.", "dialog")
    console.click_text("Import", "dialog")
    assert "4 rows imported, 2 rejected" in ended(console)
    # An id leads to an object that may be imported later.
    stored = {row["title"]: row.get("singer", {}).get("objectId") for row in rest.find("Sung")}
    assert stored == {"a": ada, "b": bo, "e": "abcdefghij", "f": None}, stored


def scenario_60_imports_that_are_refused_create_no_fields(console, rest):
    rest.define("Needing", owner={"type": "String", "required": True})
    fields = lambda: set(rest.call("GET", "/schemas/Needing")["fields"]) - {"objectId", "createdAt", "updatedAt", "ACL"}
    open_import(console, "Needing")
    give(console, "needing.csv", b"title,other\na,\nb,\n")
    console.wait("document.querySelector('dialog table')")
    for words in ("Dry run", "Import"):
        console.click_text(words, "dialog")
        console.wait_text("Choose a column for owner, which is required", "dialog .problem")
    # Rows without the field are refused.
    choose(console, "Field of column other", "owner")
    console.click_text("Import", "dialog")
    assert "0 rows imported, 2 rejected" in ended(console) and fields() == {"owner"}, (console.text("dialog"), fields())
    console.click_text("Close", "dialog")
    open_import(console, "Needing")
    give(console, "needing.csv", b"title,other\na,\nb,me\n")
    console.wait("document.querySelector('dialog table')")
    choose(console, "Field of column other", "owner")
    console.click_text("Dry run", "dialog")
    console.wait_text("1 row can be imported, 1 rejected", "dialog")
    assert fields() == {"owner"}, fields()
    console.click_text("Import", "dialog")
    assert "1 row imported, 1 rejected" in ended(console) and fields() == {"owner", "title"}, (console.text("dialog"), fields())


def scenario_62_imports_restore_numbers_exactly(console, rest):
    rest.define("Digits", n={"type": "Number"})
    by_chance = random.Random(62)
    numbers = [0.1, 12.34, 123456.789, 4.35 * 100, 0.1 + 0.2, 1e21, 5e-324, 1.7976931348623157e308, 2 ** 53, -2 / 3]
    numbers += [by_chance.uniform(-1000, 1000) for _ in range(300)]
    rest.create_many("Digits", [{"n": number} for number in numbers])
    content = export(console, "Digits")
    rest.define("Digits", n={"type": "Number"})
    open_import(console, "Digits")
    # Numbers that a double can't represent are rejected.
    names = content.decode("utf-8-sig").splitlines()[0].split(",")
    lines = [",".join(text if name == "n" else "" for name in names) for text in ("12345678901234567890", "9007199254740993", "0.1234567890123456789")]
    give(console, "digits.csv", content.rstrip() + "\n".join(["", *lines]).encode())
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    said = ended(console)
    assert f"{len(numbers)} rows imported, 3 rejected" in said and "9007199254740993 has more digits than a Number keeps" in said, said
    assert sorted(row["n"] for row in rest.find("Digits", limit="1000")) == sorted(numbers)
    console.click_text("Close", "dialog")
    # A column of such numbers has the type Number.
    rest.define("Guessed", text={"type": "String"})
    open_import(console, "Guessed")
    give(console, "guessed.csv", "m\n" + "\n".join(map(repr, numbers[9:])))
    console.wait("document.querySelector('dialog table')")
    assert console.value("document.querySelector('dialog [aria-label=\"Type of column m\"]').value") == "Number"
    console.press("Escape")


def scenario_63_large_export_is_complete_and_can_be_stopped(console, rest):
    rest.define("Big", n={"type": "Number"}, text={"type": "String"})
    n = 1_000_000
    rest.sql(f"""INSERT INTO "Big" ("objectId", "createdAt", "updatedAt", n, text)
        SELECT lpad(i::text, 10, '0'), now(), now(), i, repeat('x', 20) FROM generate_series(1, {n}) i""")
    lines = export(console, "Big", "ndjson", order="n").splitlines()
    assert len(lines) == n and json.loads(lines[0])["n"] == 1 and json.loads(lines[-1])["n"] == n
    assert all(json.loads(lines[place])["n"] == place + 1 for place in range(0, n, 997))
    heap = console.value("performance.memory.usedJSHeapSize")
    assert heap < 300_000_000, heap
    # The browser doesn't download the export, which waits and is then stopped.
    console.browser.call("Browser.setDownloadBehavior", behavior="deny")
    console.open_class("Big")
    class_menu(console, "Export \u2026")
    console.value("HTMLAnchorElement.prototype.click = () => {}")
    console.click_text("Export", "dialog")
    console.click_text("Stop", "dialog")
    console.wait_text("Stopped: the file is not complete", "dialog")
    console.click_text("Close", "dialog")


def scenario_63_reports_an_export_that_no_longer_exists(console, rest):
    rest.define("Forgotten", n={"type": "Number"})
    rest.create("Forgotten", n=1)
    console.browser.call("Browser.setDownloadBehavior", behavior="deny")
    console.open_class("Forgotten")
    class_menu(console, "Export \u2026")
    console.value("""(() => {
        const { fetch } = window;
        window.fetch = async (address, options) => String(address).includes('api/exports/') && options.method === 'GET'
            ? Response.json({ error: 'There is no such export.' }, { status: 404 }) : fetch(address, options);
    })()""")
    console.click_text("Export", "dialog")
    console.wait_text("There is no such export.", "dialog")
    console.click_text("Close", "dialog .dialog-foot")
    console.wait("document.querySelector('dialog') === null")


def scenario_64_escapes_formulas_in_csv_exports(console, rest):
    rest.define("Formula", text={"type": "String"}, n={"type": "Number"})
    texts = ['=HYPERLINK("http://evil.example","x")', "@SUM(A1)", "-2+3", "\t=1", "+1", "fine"]
    for number, text in enumerate(texts):
        rest.create("Formula", text=text, n=-number - 5)
    read = lambda content: [row["text"] for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))]
    guarded = export(console, "Formula", order="-n")
    assert read(guarded) == ["'" + text for text in texts[:-1]] + ["fine"], guarded
    assert [row["n"] for row in csv.DictReader(io.StringIO(guarded.decode("utf-8-sig")))] == [str(-number - 5) for number in range(6)]
    assert read(export(console, "Formula", exact=True, order="-n")) == texts
    objects = json.loads(export(console, "Formula", "json", order="-n"))["results"]
    assert [row["text"] for row in objects] == texts
    filtered = export(console, "Formula", where={"n": {"$lt": -7}})
    assert len(read(filtered)) == 3, filtered


def scenario_73_rejects_hostile_import_files_with_a_reason(console, rest):
    rest.define("Guest", name={"type": "String"})
    def refused(name, content, words):
        open_import(console, "Guest")
        give(console, name, content)
        console.wait_text(words, "dialog", 60)
        console.press("Escape")
    refused("wide.csv", ",".join("c%d" % number for number in range(1_000_000)) + "\n1\n", "more than 1,000 columns")
    path = FOLDER / "long.csv"
    with open(path, "wb") as file:
        file.write(b'name\n"')
        file.truncate(200_000_000)
    open_import(console, "Guest")
    began = time.monotonic()
    give_path(console, path)
    console.wait_text("too large", "dialog", 60)
    # The page stays responsive during the import and afterward.
    assert console.value("1 + 1") == 2
    console.press("Escape")
    path.unlink()
    refused("none.json", "[1, 2, 3]", "expected objects")
    refused("empty.csv", "", "The file is empty")
    # Names of members of JavaScript objects.
    open_import(console, "Guest")
    give(console, "proto.json", '{"name":"one","__proto__":{"polluted":true}}\n{"name":"two","object":{"constructor":{"a":1}}}\n{"name":"three"}\n{"name":')
    console.wait_text("middle of the object", "dialog")
    give(console, "proto.json", '{"name":"one","__proto__":{"polluted":true}}\n{"name":"two","object":{"constructor":{"a":1}}}\n{"name":"three"}\n{"name": nonsense}\n')
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    said = ended(console)
    assert "1 row imported, 3 rejected" in said and "__proto__ is not a field name" in said, said
    assert [row["name"] for row in rest.find("Guest")] == ["three"]
    assert console.value("({}).polluted === undefined")
    console.click_text("Close", "dialog")
    open_import(console, "Guest")
    give(console, "proto.csv", "name,__proto__,<img src=x onerror=window.ran=1>\n<script>window.ran=1</script>,2,3\n")
    console.wait("document.querySelector('dialog table')")
    assert "don't import" in console.value("document.querySelector('dialog [aria-label=\"Field of column __proto__\"]').selectedOptions[0].textContent")
    assert console.value("document.querySelectorAll('dialog table img, dialog table script').length") == 0
    console.press("Escape")


def shown_names(console):
    return console.value("[...document.querySelectorAll('r-grid')[0].rows.loaded()].map((row) => row.values.get('name'))")


def scenario_54_view_as_a_user_shows_their_rows_and_is_read_only(console, rest):
    everybody = {key: {"*": True} for key in ("find", "get", "count", "create", "update", "delete", "addField")}
    rest.define("Eyes", name={"type": "String"}, secret={"type": "String"}, n={"type": "Number"})
    rest.call("PUT", "/schemas/Eyes", {"className": "Eyes", "classLevelPermissions": {**everybody, "protectedFields": {"*": ["secret"]}}})
    made = make_user(rest, "seer")
    for number in range(40):
        acl = {} if number % 4 == 0 else {made["objectId"]: {"read": True}} if number % 4 == 1 else None
        rest.create("Eyes", name=f"row {number}", secret="hush", n=number, **({} if acl is None else {"ACL": acl}))
    sessions = rest.count("_Session")
    console.open_class("Eyes", order="n")
    class_menu(console, "View as \u2026")
    console.wait("document.querySelector('dialog .picker input')")
    console.value("document.querySelector('dialog .picker input').focus()")
    console.type(made["username"])
    console.wait(f"document.querySelector('dialog [role=option][aria-selected=true]')?.innerText.includes('{made['username']}')")
    console.press("Enter")
    console.wait_text("30 of 40; 10 hidden", ".viewing")
    console.wait_text("The first object is shown without secret.", ".viewing")
    assert made["username"] in console.text(".viewing") and "hush" not in console.text("r-grid")
    app = log_in(rest, made["username"], "secret word")
    sessions += 1
    rest.headers["X-Parse-Session-Token"] = app["sessionToken"]
    master = rest.headers.pop("X-Parse-Master-Key")
    rest.headers["X-Parse-REST-API-Key"] = rest.client_key
    try:
        seen = rest.find("Eyes", order="n", limit="100")
    finally:
        del rest.headers["X-Parse-Session-Token"], rest.headers["X-Parse-REST-API-Key"]
        rest.headers["X-Parse-Master-Key"] = master
    assert shown_names(console) == [row["name"] for row in seen] and len(seen) == 30
    # No key, menu or button changes anything.
    console.at(0, "name")
    for keys in (("Enter",), ("Delete",), ("x",), ("Alt+n",)):
        console.press(*keys)
        console.settle()
        assert console.value("document.querySelector('.g-editor, dialog, .toast') === null"), keys
    console.at(0, "name")
    console.press("Space")
    console.wait_text("1 selected", ".content .foot")
    assert "Delete" not in console.text(".content .foot") and "New object" not in console.text(".content header")
    console.click(".content [aria-label='More actions']")
    console.wait("document.querySelector('.menu')")
    assert not [word for word in ("Import", "Delete", "Set a field", "Export") if word in console.text(".menu")]
    console.press("Escape")
    assert rest.count("Eyes", {"name": {"$exists": True}}) == 40
    # The filter is kept when the user is chosen, and vice versa.
    console.open_class("Eyes", where={"n": {"$lt": 20}}, **{"as": "anonymous"})
    console.wait_text("10 of 20; 10 hidden", ".viewing")
    console.click_text("End", ".viewing")
    console.wait("document.querySelector('.viewing') === null && location.search.includes('where')")
    # A user who finds nothing isn't asked to create the first object.
    rest.define("Unseen", name={"type": "String"})
    for number in range(3):
        rest.create("Unseen", name=f"row {number}", ACL={})
    console.open("data/Unseen", **{"as": made["objectId"]})
    console.wait_text(f"{made['username']} finds none of the 3 objects.", ".state")
    console.wait_text("0 of 3; 3 hidden", ".viewing")
    assert "first one" not in console.text("main") and "New field" not in console.text("main")
    # If the user may not even query the class, the page says so.
    rest.call("PUT", "/schemas/Eyes", {"className": "Eyes", "classLevelPermissions": {**everybody, "find": {}}})
    console.open("data/Eyes", **{"as": made["objectId"]})
    console.wait_text("sees nothing", ".state")
    console.click_text("Why", ".state")
    console.wait("location.pathname.endsWith('/access/Eyes') && document.querySelector('.may .flag.bad')")
    console.wait_text(f"{made['username']} may", ".may")
    console.wait_text("the class allows nobody", ".may")
    assert rest.count("_Session") == sessions
    console.open("data/Eyes", **{"as": "<img/src=x/onerror=window.ran=1>"})
    console.wait("document.querySelector('.state')")
    # An id that can't be in a header field is ignored: the operator's own view opens.
    for path in ("data/Eyes", "access/Eyes"):
        console.open(path, **{"as": "\u65e5\u672c\n"})
        console.wait("document.querySelector('r-grid')?.rows?.isCounted || document.querySelector('.operation')")
        assert console.value("document.querySelector('.viewing, .may .line, .banner.bad:not([hidden])') === null"), path


def scenario_31_tolerates_invalid_shared_views(console, rest):
    rest.define("Odd", name={"type": "String"})
    rest.create("Odd", name="there")
    console.open("data")
    for number, (columns, status) in enumerate((("name", 400), (7, 400), ([1, None], 400), ([], 200), (["gone"], 200), (["name", "gone"], 200))):
        assert console.api("PUT", f"views/odd{number}", {"className": "Odd", "name": f"view {number}", "shared": True, "columns": columns, "order": 7, "where": [1]}) == status, columns
    for number, content in enumerate(('{"columns": "name"}', '{"columns": 7, "order": {}}', '{"columns": [1, null], "where": "x"}')):
        rest.sql(f"""UPDATE "_roost_view" SET "content" = '{content}' WHERE id = 'odd{number + 3}'""")
    for number in (3, 4, 5):
        console.open("data")
        console.wait_text(f"view {number}", ".classes")
        console.value(f"[...document.querySelectorAll('.classes a')].find((e) => e.textContent.includes('view {number}')).click()")
        console.wait("document.querySelector('r-grid')?.rows?.isCounted")
        console.wait_text("there", "r-grid")


def scenario_47_file_chooser_is_a_single_tab_stop(console, rest):
    rest.define("Stop", name={"type": "String"}, file={"type": "File"})
    rest.create("Stop", name="one")
    open_import(console, "Stop")
    stops = console.value("[...document.querySelectorAll('dialog .drop, dialog .drop *')].filter((e) => e.tabIndex >= 0).length")
    assert stops == 1, stops
    console.press("Escape")
    console.wait("!document.querySelector('dialog')")
    console.at(0, "file")
    console.press("F2")
    console.wait("document.querySelector('dialog .drop')")
    stops = console.value("[...document.querySelectorAll('dialog .drop, dialog .drop *')].filter((e) => e.tabIndex >= 0).length")
    assert stops == 1, stops
    console.press("Escape")


def scenario_13_switches_to_the_operator_who_signed_in_last(console, rest):
    if not console.credentials:
        return
    console.open("data")
    first, second = new_operator(console, "owner"), new_operator(console, "viewer")
    other = in_a_browser_of(console, name=first, password="a long password")
    try:
        other.sign_in()
        other.open("data")
        other.wait(f"document.querySelector('.rail')?.textContent.includes({json.dumps(first)})")
        other.value("window.isOld = true")
        # Simulates another operator's sign-in in another tab.
        signed = other.value(f"""fetch(document.baseURI.replace(/data.*/, '') + 'api/session', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }},
            body: JSON.stringify({{ name: {json.dumps(second)}, password: 'a long password' }}) }}).then((answer) => answer.json()).then(({{ token }}) => {{
                localStorage.setItem('roost.token', token);
                dispatchEvent(new StorageEvent('storage', {{ key: 'roost.token', newValue: token }}));
                return true;
            }})""")
        assert signed
        other.wait(f"!window.isOld && document.querySelector('.rail')?.textContent.includes({json.dumps(second)})")
        assert first not in other.text()
        other.settle()
        assert "New class" not in other.text(".classes")
    finally:
        other.close()


def scenario_57_lists_indexes_with_uniqueness_usage_and_origin(console, rest):
    rest.define("Indexed", name={"type": "String"}, plays={"type": "Number"})
    rest.create_many("Indexed", [{"name": f"row {number}", "plays": number} for number in range(200)])
    open_page(console, "schema/Indexed", "main table")
    for field, unique, words in (("name", True, "name_1"), ("plays", False, "plays_1")):
        console.click_text("New index", "main")
        console.wait("document.querySelector('dialog select')")
        console.value(f"document.querySelector('dialog select').value = {json.dumps(field)}")
        if unique:
            console.value("document.querySelector('dialog input[type=checkbox]').click()")
        console.press("Control+Enter")
        console.wait_text(words, "main")
    console.wait_text("unique", "main .member")
    console.wait_text("never used", "main")
    assert rest.call("POST", "/classes/Indexed", {"name": "row 7"})["code"] == 137
    # A unique index on duplicate values reports them, and no index remains.
    rest.create("Indexed", name="other", plays=7)
    console.click_text("New index", "main")
    console.wait("document.querySelector('dialog select')")
    console.value("document.querySelector('dialog select').value = 'plays'")
    console.value("document.querySelectorAll('dialog select')[1].value = '-'")
    console.value("document.querySelector('dialog input[type=checkbox]').click()")
    console.press("Control+Enter")
    console.wait("document.querySelector('dialog .problem').textContent !== ''", 30)
    console.press("Escape")
    assert "plays_-1" not in rest.call("GET", "/schemas/Indexed")["indexes"]
    for _ in range(3):
        rest.find("Indexed", {"name": "row 9"})
    rest.sql("SELECT pg_stat_force_next_flush()")
    console.open("data")
    open_page(console, "schema/Indexed", "main table")
    console.wait_text("Created by the server", "main")


def upload(rest, name, content, kind):
    headers = {**rest.headers, "Content-Type": kind}
    request = urllib.request.Request(f"{rest.url}/files/{name}", content if isinstance(content, bytes) else content.encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return {"__type": "File", **json.loads(answer.read())}


PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


def open_file(console, name):
    console.open("files", text=name)
    console.wait("document.querySelector('main table .link')")
    console.settle()
    console.click("main table .link")
    console.wait("document.querySelector('dialog .preview')?.childElementCount")
    console.settle()


def scenario_47_lists_previews_and_deletes_files(console, rest):
    mark = f"m{time.time_ns()}"
    files = [upload(rest, f"{mark}-{number}.txt", "words " * number, "text/plain") for number in range(1, 4)]
    picture = upload(rest, f"{mark}-p.png", PIXEL, "image/png")
    console.open("files", text=mark)
    console.wait("document.querySelectorAll('main tbody tr').length === 4")
    console.value("(() => { const e = document.querySelector('main .filters select'); e.value = 'size'; e.dispatchEvent(new Event('change')); })()")
    console.wait("location.search.includes('sort=size')")
    console.wait(f"document.querySelector('main tbody tr')?.textContent.includes('{mark}-p.png')")
    # The page uses the full width, its title isn't cut, and the image has a thumbnail.
    console.wait("document.querySelector('main .thumbnail canvas')?.width > 0 && document.querySelectorAll('main .thumbnail .icon').length === 3")
    assert console.value("(({ width }) => width > innerWidth - 300)(document.querySelector('main .scroll').getBoundingClientRect())")
    assert console.value("(({ scrollWidth, clientWidth, textContent }) => textContent === 'Files' && scrollWidth <= clientWidth)(document.querySelector('main h1'))")
    open_file(console, f"{mark}-2")
    console.wait_text("words words", "dialog .preview")
    open_file(console, f"{mark}-p")
    console.wait("document.querySelector('dialog .preview img')?.naturalWidth === 1 || document.querySelector('dialog .preview p')")
    console.click_text("Delete \u2026", "dialog")
    console.wait_text("You can't undo this. Objects that refer to the file keep a broken link", "dialog:last-of-type")
    console.click_text("Delete", "dialog:last-of-type")
    console.wait_text("deleted", ".toasts")
    assert "Undo" not in console.text(".toasts")
    console.wait("document.querySelector('dialog') === null && document.querySelector('main .state')")
    # More than one page.
    for number in range(105):
        upload(rest, f"{mark}-x{number}.txt", "x", "text/plain")
    console.open("files", text=f"{mark}-x")
    console.wait("document.querySelectorAll('main tbody tr').length === 100")
    console.click_text("Show more", "main")
    console.wait("document.querySelectorAll('main tbody tr').length === 105")
    assert console.value("new Set([...document.querySelectorAll('main tbody tr')].map((e) => e.textContent)).size") == 105
    # Previews' blobs are released with their dialog.
    console.value("window.blobs = 0; (() => { const [make, end] = [URL.createObjectURL, URL.revokeObjectURL]; URL.createObjectURL = (blob) => { blobs += 1; return make(blob); }; URL.revokeObjectURL = (url) => { blobs -= 1; end(url); }; })()")
    picture = upload(rest, f"{mark}-q.png", PIXEL, "image/png")
    console.value(f"(() => {{ const e = document.querySelector('main input[type=search]'); e.value = '{mark}-q'; e.dispatchEvent(new Event('change')); }})()")
    console.wait("document.querySelectorAll('main tbody tr').length === 1")
    console.click("main table .link")
    console.wait("document.querySelector('dialog .preview img')")
    assert console.value("blobs") == 1, "thumbnails keep none"
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null && blobs === 0")


def scenario_47_offers_files_uploaded_by_apps(console, rest):
    mark = f"n{time.time_ns()}"
    console.open("files", text=mark)
    console.wait_text("0 files", ".head")
    upload(rest, f"{mark}.txt", "words", "text/plain")
    console.wait_text("Refresh", ".head", 6)
    console.click_text("Refresh", ".head")
    console.wait_text("1 file", ".head")
    assert "Refresh" not in console.text(".head"), console.text(".head")


def scenario_69_previews_run_no_code_of_uploaded_files(console, rest):
    mark = f"h{time.time_ns()}"
    script = "<script>window.ran=1;parent.ran=1</script>"
    contents = {
        "page.html": (f"<html><body onload='window.ran=1'>{script}</body></html>", "text/html"),
        "draw.svg": (f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.ran=1'>{script}</svg>", "image/svg+xml"),
        "code.js": ("window.ran=1", "text/javascript"), "paper.pdf": ("%PDF-1.4 /OpenAction /JS (app.alert(1))", "application/pdf"),
        "text.txt": (script, "text/plain"), "lies.png": (f"<svg>{script}</svg>", "image/png"),
    }
    for name, (content, kind) in contents.items():
        try:
            upload(rest, f"{mark}-{name}", content, kind)
        except urllib.error.HTTPError:
            continue
        open_file(console, f"{mark}-{name}")
        assert console.value("document.querySelectorAll('iframe, object, embed, dialog .preview script, dialog .preview svg:not(.icon)').length") == 0, name
        assert console.value("window.ran === undefined"), name
        console.press("Escape")
    console.open("files", text='"><img src=x onerror=window.ran=1>')
    console.wait("document.querySelector('main .state, main table')")


def scenario_69_page_cannot_run_an_uploaded_script(console, rest):
    mark = f"s{time.time_ns()}"
    kinds = {"run.js": ("window.ran = 1; export const ran = 1;", "text/javascript"), "page.html": ("<script>parent.ran = 1</script>", "text/html"),
             "draw.svg": ("<svg xmlns='http://www.w3.org/2000/svg' onload='parent.ran = 1'/>", "image/svg+xml")}
    console.open("data")
    console.wait("document.querySelector('.classes a')")
    for name, (content, kind) in kinds.items():
        path = urllib.parse.urlparse(upload(rest, f"{mark}-{name}", content, kind)["url"]).path
        address = console.value("location.origin") + path
        # The file is served with its uploaded type, so only the policy blocks it.
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.read().decode() == content
            assert "sandbox" in (answer.headers["Content-Security-Policy"] or "") and answer.headers["X-Content-Type-Options"] == "nosniff", answer.headers
        if not name.endswith(".js"):
            continue
        script = console.value(f"""new Promise((done) => {{
            const element = document.createElement('script');
            try {{ element.src = {json.dumps(address)}; }} catch (problem) {{ return done('refused'); }}
            element.onload = () => done('ran');
            element.onerror = () => done('blocked');
            document.body.append(element);
        }})""")
        assert script in ("refused", "blocked"), script
        # Modules are loaded by URL, which Trusted Types don't cover.
        assert console.value(f"import({json.dumps(address)}).then(() => 'ran', () => 'blocked')") == "blocked"
        assert any("script-src" in violation for violation in console.value("window.violations")), console.value("window.violations")
        assert console.value("window.ran === undefined")
    console.value("window.violations = []")
    console.browser.events = []
