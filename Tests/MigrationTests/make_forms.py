"""Creates a source in one format for import tests: many rows, or malicious rows.

  make_forms.py rows FORM FOLDER COUNT      COUNT objects of Many, and relation pairs up to 100,000 rows
  make_forms.py hostile FORM FOLDER CASE    deep, duplicates, text or names

Forms: dump, packed, archive, archive.gz, canonical, relaxed, legacy, parse, parse.zip. Prints the path.
"""

import hashlib
import io
import json
import pathlib
import sys
import zipfile

import bson
from bson import json_util
from bson.datetime_ms import DatetimeMS
from bson.int64 import Int64
from bson.objectid import ObjectId

import make_dump
from make_dump import archive, at, dated, gzipped, iso, schema

OPTIONS = {"canonical": json_util.CANONICAL_JSON_OPTIONS, "relaxed": json_util.RELAXED_JSON_OPTIONS,
           "legacy": json_util.LEGACY_JSON_OPTIONS}
MANY = schema("Many", {"n": "number", "s": "string", "r": "relation<Many>"})


def identifier(number):
    return f"m{number:08d}"


def text(number):
    return f"row {number} \u00e4\U0001F984" if number % 7 == 0 else f"row {number}"


def mongo_rows(count):
    start = int(at(0).timestamp() * 1000)
    for number in range(count):
        yield {"_id": identifier(number), "n": Int64(number * 11), "s": text(number),
               "_created_at": DatetimeMS(start + number), "_updated_at": DatetimeMS(start + number + 1)}


def mongo_pairs(count):
    for number in range(100_000 - count):
        yield {"_id": ObjectId(number.to_bytes(12, "big")), "owningId": identifier(number), "relatedId": identifier(count)}


def parse_rows(count):
    for number in range(count):
        yield {"objectId": identifier(number), "n": number * 11, "s": text(number), "createdAt": iso(at(number)),
               "updatedAt": iso(at(number + 1)), "r": {"__type": "Relation", "className": "Many"}}


def parse_pairs(count):
    for pair in mongo_pairs(count):
        yield {"owningId": pair["owningId"], "relatedId": pair["relatedId"]}


def expected(count):
    """Returns the MD5 hash of the expected rows."""
    start = int(at(0).timestamp() * 1000)
    lines = "\n".join(f"{identifier(n)}|{n * 11}|{text(n)}|{start + n}|{start + n + 1}" for n in range(count))
    return hashlib.md5(lines.encode()).hexdigest()


# Lines of extended JSON are copies of a line by MongoDB's encoder, with the values replaced.
def json_lines(form, documents):
    marks = {"n": Int64(4444444444444), "s": "@text@", "_id": "@id@"}
    pattern = None
    for document in documents:
        if not isinstance(document.get("n"), Int64):
            yield json_util.dumps(document, json_options=OPTIONS[form])
            continue
        if pattern is None:
            model = {**document, **marks, "_created_at": at(0), "_updated_at": at(1)}
            pattern = json_util.dumps(model, json_options=OPTIONS[form])
            dates = [json_util.dumps({"d": at(n)}, json_options=OPTIONS[form])[6:-1] for n in (0, 1)]
            pattern = pattern.replace(dates[0], "@created@").replace(dates[1], "@updated@")
        number = int(document["_id"][1:])
        line = pattern.replace("@id@", document["_id"]).replace("4444444444444", str(number * 11))
        line = line.replace("@text@", json.dumps(document["s"])[1:-1])
        for mark, offset in (("@created@", 0), ("@updated@", 1)):
            line = line.replace(mark, json_date(form, number + offset))
        yield line


def json_date(form, number):
    milliseconds = int(at(0).timestamp() * 1000) + number
    if form == "canonical":
        return '{"$date": {"$numberLong": "%d"}}' % milliseconds
    if form == "relaxed":
        return '{"$date": "%s"}' % iso(at(number))
    return '{"$date": %d}' % milliseconds


def harmed(data):
    """Replaces a placeholder by invalid UTF-8 of the same length."""
    return data.replace(b"@harm@", b"x\xff\xfe\xc3(y")


def write(form, folder, collections, schemas):
    """Writes the classes in a format, and returns the path."""
    folder.mkdir(parents=True, exist_ok=True)
    if form in ("dump", "packed", "archive", "archive.gz"):
        collections = {"_SCHEMA": schemas, **collections}
        original = bson.encode
        make_dump.bson.encode = lambda document: harmed(original(document))
        if form in ("dump", "packed"):
            make_dump.write_dump(folder / "parse", collections, pack=form == "packed")
            return folder / "parse"
        data = archive({name: list(documents) for name, documents in collections.items()}, size=1000)
        path = folder / f"dump.{form}"
        path.write_bytes(gzipped(data, 1) if form == "archive.gz" else data)
        return path
    if form in OPTIONS:
        for name, documents in {"_SCHEMA": schemas, **collections}.items():
            lines = json_lines(form, documents)
            data = "[" + ",\n".join(lines) + "]\n" if form == "relaxed" else "\n".join(lines) + "\n"
            (folder / f"{name.replace(':', '%3A')}.json").write_bytes(harmed(data.encode()))
        return folder
    files = {name: harmed(("{\"results\":[\n" + ",\n".join(json.dumps(one) for one in objects) + "\n]}\n").encode())
             for name, objects in collections.items()}
    if form == "parse":
        for name, data in files.items():
            (folder / f"{name}.json").write_bytes(data)
        return folder
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, data in files.items():
            file.writestr(f"export/{name}.json", data)
    return path


def is_parse(form):
    return form.startswith("parse")


def rows(form, folder, count):
    if is_parse(form):
        collections = {"Many": parse_rows(count), "_Join:r:Many": parse_pairs(count)}
    else:
        collections = {"Many": mongo_rows(count), "_Join:r:Many": mongo_pairs(count)}
    return write(form, folder, collections, [MANY])


def hostile(form, folder, case):
    def one(number, **fields):
        if is_parse(form):
            return {"objectId": identifier(number), **fields, "createdAt": iso(at(0)), "updatedAt": iso(at(1))}
        return dated(identifier(number), fields)

    others = {}
    if case == "deep":
        value = {"end": 1}
        for _ in range(99):
            value = {"a": value}
        objects = [one(0, o=value), one(1, o={})]
    elif case == "duplicates":
        objects = [one(0, s="first"), one(1, s="x"), one(0, s="second"), one(0, s="third")]
    elif case == "text":
        objects = [one(0, s="good"), one(1, s="@harm@"), one(2, s="good")]
    else:
        # Look-alike names: a letter with two encodings, and different case.
        names = {"x": 1, "X": 2, "caf\u00e9": 3, "cafe\u0301": 4}
        objects = [one(0, o=names), one(1, o={"caf\u00e9": 5})]
        others = {"song": [one(2, s="small")], "Caf\u00e9": [one(3)], "Cafe\u0301": [one(4)]}
    return write(form, folder, {"Song": objects, **others}, [schema("Song", {"s": "string", "o": "object"})])


if __name__ == "__main__":
    what, form, folder, last = sys.argv[1:5]
    if what == "rows":
        print(rows(form, pathlib.Path(folder), int(last)), expected(int(last)))
    else:
        print(hostile(form, pathlib.Path(folder), last))
