"""Scenarios of data that come and go: import, export."""

import csv
import io
import json
import os
import pathlib
import random
import tempfile
import time

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
    """Exports a class, and gives the bytes of the file."""
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
    said = ended(console)
    assert "exported" in said, said
    end = time.monotonic() + 20
    while not (files := [path for path in folder.iterdir() if not path.name.endswith(".crdownload")]):
        assert time.monotonic() < end, "the file does not come"
        time.sleep(0.05)
    assert [path.name for path in files] == [f"{class_name}.{form}"], files
    console.click_text("Close", "dialog")
    return files[0].read_bytes()


def scenario_60_a_table_of_many_rows_comes_in_and_three_bad_ones_are_told(console, rest):
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
    assert "1 odd" in row(2), row(2)
    assert [console.value(f"document.querySelector('dialog [aria-label=\"Type of column {name}\"]').value") for name in ("ok", "since")] == ["Boolean", "Date"]
    choose(console, "Field of column Leer", "")
    console.click_text("Dry run", "dialog")
    said = ended(console)
    assert f"{n - 3:,} good, 3 refused" in said, said
    assert all(f"Line {line}:" in said for line in ("51", "1,501", "2,601")), said
    assert rest.count("Prices") == 0 and "preis" not in rest.call("GET", "/schemas/Prices")["fields"]
    console.click_text("Back", "dialog")
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    said = ended(console)
    assert f"{n - 3:,} stored, 3 refused" in said and f"Prices has {n - 3:,} objects now" in said, said
    assert rest.count("Prices") == n - 3
    fields = rest.call("GET", "/schemas/Prices")["fields"]
    assert (fields["preis"], fields["ok"], fields["since"]) == ({"type": "Number"}, {"type": "Boolean"}, {"type": "Date"}), fields
    assert rest.find("Prices", {"name": "row 7"})[0]["preis"] == 7 / 4
    console.click_text("Close", "dialog")
    console.wait_text(f"{n - 3:,} objects", ".content header")


def scenario_61_what_an_import_stored_is_told_when_its_tab_is_gone(console, rest):
    rest.define("Left", n={"type": "Number"})
    open_import(console, "Left")
    give(console, "left.csv", "n\n" + "\n".join(str(number) for number in range(60000)))
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    console.wait("/[1-9][\\d,]* stored/.test(document.querySelector('dialog')?.innerText)", 60)
    console.click_text("Pause", "dialog")
    asked = console.value("(() => { const event = new Event('beforeunload', { cancelable: true }); dispatchEvent(event); return event.defaultPrevented; })()")
    assert asked, "the browser would close the tab without a question"
    console.open_class("Left")
    console.wait_text("The import of left.csv ended with its tab", ".toasts", 30)
    stored = rest.count("Left")
    assert 0 < stored < 60000, stored


def scenario_61_an_import_is_stopped_and_what_is_stored_stays(console, rest):
    rest.define("Halt", n={"type": "Number"})
    open_import(console, "Halt")
    give(console, "halt.csv", "n\n" + "\n".join(str(number) for number in range(60000)))
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    console.wait("/[1-9][\\d,]* stored/.test(document.querySelector('dialog')?.innerText)", 60)
    console.click_text("Stop", "dialog")
    said = ended(console)
    n = rest.count("Halt")
    assert "Stopped" in said and f"Halt has {n:,} objects now" in said and n < 60000, (said, n)
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


def scenario_62_tables_of_all_kinds_are_read_as_python_reads_them(console, rest):
    console.open("data")
    for name, (text, encoding, delimiter) in TABLES.items():
        data = list(text.encode(encoding))
        # What is long is made in the page.
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


def scenario_62_what_an_export_wrote_an_import_reads_again(console, rest):
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
        assert f"{len(texts)} stored" in said and "refused" not in said, (form, said)
        assert rest.find("Round", order="objectId") == before, (form, rest.find("Round", order="objectId"), before)


def scenario_63_a_large_export_is_whole_and_can_be_stopped(console, rest):
    rest.define("Big", n={"type": "Number"}, text={"type": "String"})
    n = max(rest.rows, 3000) * 10
    rest.sql(f"""INSERT INTO "Big" ("objectId", "createdAt", "updatedAt", n, text)
        SELECT lpad(i::text, 10, '0'), now(), now(), i, repeat('x', 400) FROM generate_series(1, {n}) i""")
    lines = export(console, "Big", "ndjson", order="n").splitlines()
    assert len(lines) == n and json.loads(lines[0])["n"] == 1 and json.loads(lines[-1])["n"] == n
    heap = console.value("performance.memory.usedJSHeapSize")
    assert heap < 300_000_000, heap
    # A browser that takes nothing: the export waits, and is stopped.
    console.browser.call("Browser.setDownloadBehavior", behavior="deny")
    console.open_class("Big")
    class_menu(console, "Export \u2026")
    console.value("HTMLAnchorElement.prototype.click = () => {}")
    console.click_text("Export", "dialog")
    console.click_text("Stop", "dialog")
    console.wait_text("Stopped: the file is not complete", "dialog")
    console.click_text("Close", "dialog")


def scenario_64_no_cell_of_a_table_begins_a_formula(console, rest):
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


def scenario_73_hostile_files_are_refused_in_words(console, rest):
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
    console.wait_text("too long", "dialog", 60)
    # The page answers meanwhile, and afterwards.
    assert console.value("1 + 1") == 2
    console.press("Escape")
    path.unlink()
    refused("none.json", "[1, 2, 3]", "objects are expected here")
    refused("empty.csv", "", "nothing in this file")
    # Names that objects of JavaScript have.
    open_import(console, "Guest")
    give(console, "proto.json", '{"name":"one","__proto__":{"polluted":true}}\n{"name":"two","object":{"constructor":{"a":1}}}\n{"name":"three"}\n{"name":')
    console.wait_text("middle of the object", "dialog")
    give(console, "proto.json", '{"name":"one","__proto__":{"polluted":true}}\n{"name":"two","object":{"constructor":{"a":1}}}\n{"name":"three"}\n{"name": nonsense}\n')
    console.wait("document.querySelector('dialog table')")
    console.click_text("Import", "dialog")
    said = ended(console)
    assert "1 stored, 3 refused" in said and "__proto__ is no name of a field" in said, said
    assert [row["name"] for row in rest.find("Guest")] == ["three"]
    assert console.value("({}).polluted === undefined")
    console.click_text("Close", "dialog")
    open_import(console, "Guest")
    give(console, "proto.csv", "name,__proto__,<img src=x onerror=window.ran=1>\n<script>window.ran=1</script>,2,3\n")
    console.wait("document.querySelector('dialog table')")
    assert "leave out" in console.value("document.querySelector('dialog [aria-label=\"Field of column __proto__\"]').selectedOptions[0].textContent")
    assert console.value("document.querySelectorAll('dialog table img, dialog table script').length") == 0
    console.press("Escape")
