"""Creates dumps and exports for import tests, with MongoDB's own encoder (pymongo's bson package).

  make_dump.py sample FOLDER          small samples of all types, system classes and formats, as in Samples/
  make_dump.py rows FOLDER COUNT      a mongodump folder with COUNT objects of 10 fields
  make_dump.py app FOLDER COUNT       the same plus the sample's data
"""

import datetime
import io
import json
import pathlib
import struct
import sys
import zipfile
import zlib

import bson
from bson import json_util
from bson.binary import Binary
from bson.code import Code
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.max_key import MaxKey
from bson.min_key import MinKey
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp

UTC = datetime.timezone.utc


def at(milliseconds):
    return datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC) + datetime.timedelta(milliseconds=milliseconds)


# "correct horse"
HASH = "$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu"


def dated(identifier, fields, number=0):
    return {"_id": identifier, **fields, "_created_at": at(number), "_updated_at": at(number + 1)}


def schema(name, fields, **metadata):
    row = {"_id": name, "objectId": "string", "createdAt": "date", "updatedAt": "date", **fields}
    return {**row, "_metadata": metadata} if metadata else row


SCHEMA = [
    schema(
        "Everything",
        {
            "s": "string", "n": "number", "big": "number", "dec": "number", "b": "boolean", "d": "date", "o": "object",
            "l": "array", "y": "bytes", "g": "geopoint", "q": "polygon", "f": "file", "p": "*_User", "m": "map",
            "r": "relation<Everything>",
        },
        class_permissions={"find": {"*": True}, "get": {"requiresAuthentication": True}, "protectedFields": {"*": ["s"]}},
        indexes={"_id_": {"_id": 1}, "byNumber": {"n": -1, "_p_p": 1}},
        fields_options={"s": {"required": True, "defaultValue": "none"}},
    ),
    schema("Empty", {"text": "string"}),
    schema("_User", {"username": "string", "email": "string", "emailVerified": "boolean", "authData": "object",
                     "score": "number"}),
    schema("_Role", {"name": "string", "users": "relation<_User>", "roles": "relation<_Role>"}),
    schema("_Session", {"user": "*_User", "installationId": "string", "sessionToken": "string", "expiresAt": "date",
                        "createdWith": "object", "restricted": "boolean"}),
    schema("_Installation", {"installationId": "string", "deviceToken": "string", "channels": "array",
                             "deviceType": "string", "pushType": "string", "GCMSenderId": "string",
                             "timeZone": "string", "localeIdentifier": "string", "badge": "number",
                             "appVersion": "string", "appName": "string", "appIdentifier": "string",
                             "parseVersion": "string", "user": "*_User"}),
]

EVERYTHING = [
    dated("every0001", {
        "s": "text with \"quotes\" and \U0001F984", "n": 12.5, "big": Int64(9007199254740991), "dec": Decimal128("0.1"),
        "b": True, "d": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC),
        "o": {"a": {"deep": at(7)}, "list": [1, "two", None], "with.dot": 1, "$dollar": 2},
        "l": [{"__type": "Pointer", "className": "_User", "objectId": "user000001"}, at(8), 3, Int64(4)],
        "y": Binary(b"\x01\x02\x03"), "g": [13.4, 52.5],
        "q": {"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 0]]]}, "f": "abc_photo 1.jpg",
        "_p_p": "_User$user000001", "m": {}, "_rperm": ["*"], "_wperm": ["role:editors", "user000001"],
        "_acl": {"*": {"r": True}, "role:editors": {"w": True}, "user000001": {"w": True}},
    }, 1),
    dated("every0002", {"s": "", "n": 7, "b": False, "l": [], "o": {}, "_rperm": [], "_wperm": []}, 2),
    dated("every0003", {"s": None, "_acl": {"user000001": {"r": True, "w": True}, "*": {"r": True}}}, 3),
    {"_id": "every0004"},
]

MISFITS = [
    dated("miss000001", {"s": 5}),
    dated("miss000002", {"n": float("nan")}),
    dated("miss000003", {"n": float("-inf"), "o": {"x": float("inf")}}),
    dated("miss000004", {"n": Int64(9007199254740993)}),
    dated("miss000005", {"d": bson.DatetimeMS(9000000000000000)}),
    dated("miss000006", {"d": bson.DatetimeMS(253402300800000)}),
    dated("miss000007", {"s": "a\0b"}),
    dated("miss000008", {"unknown": "x", "_tombstone": 1}),
    dated("miss000009", {"l": [Regex("a", "i"), Code("f()"), Timestamp(1, 2), MinKey(), MaxKey()]}),
    dated("miss000010", {"_p_p": "Other$x"}),
    dated("miss000011", {"dec": Decimal128("1234567890123456789.25")}),
    dated("miss000013", {"dec": Decimal128("1E-400")}),
    {"_id": {"a": 1}, "s": "no id"},
    dated("miss000012", {"o": {"n": Int64(-9007199254740995)}}),
    dated(ObjectId("5f0000000000000000000001"), {"s": "an ObjectId"}),
    dated("miss000001", {"s": "the second of its id"}),
]

FILE = bytes(range(256)) * 4

COLLECTIONS = {
    "_SCHEMA": SCHEMA,
    "Everything": EVERYTHING,
    "Empty": [],
    "_Join:r:Everything": [
        {"_id": ObjectId("5f0000000000000000000010"), "owningId": "every0001", "relatedId": "every0002"},
        {"_id": ObjectId("5f0000000000000000000011"), "owningId": "every0001", "relatedId": "every0003"},
    ],
    "_User": [
        dated("user000001", {
            "username": "ann", "email": "ann@example.com", "emailVerified": True, "_hashed_password": HASH,
            "_auth_data_facebook": {"id": "f1", "access_token": "t"}, "_auth_data_anonymous": None,
            "_email_verify_token": "evt", "_email_verify_token_expires_at": at(9), "_perishable_token": "pt",
            "_password_changed_at": at(10), "_password_history": [HASH], "_failed_login_count": 2,
            "_account_lockout_expires_at": at(11), "score": 3, "_rperm": ["*", "user000001"], "_wperm": ["user000001"],
        }),
        dated("user000002", {"username": "bob", "_hashed_password": HASH}, 1),
    ],
    "_Role": [dated("role000001", {"name": "editors", "_rperm": ["*"], "_wperm": []})],
    "_Join:users:_Role": [
        {"_id": ObjectId("5f0000000000000000000012"), "owningId": "role000001", "relatedId": "user000001"}
    ],
    "_Join:roles:_Role": [],
    "_Session": [
        dated("sess000001", {
            "_session_token": "r:0123456789abcdef0123456789abcdef", "_p_user": "_User$user000001",
            "createdWith": {"action": "login", "authProvider": "password"}, "restricted": False,
            "expiresAt": datetime.datetime(2099, 1, 1, tzinfo=UTC), "installationId": "inst-1",
        })
    ],
    "_Installation": [
        dated("inst000001", {
            "installationId": "inst-1", "deviceToken": "token-1", "deviceType": "ios", "channels": ["news", "a.b"],
            "badge": 4, "timeZone": "Europe/Berlin", "_p_user": "_User$user000001",
        })
    ],
    "_GlobalConfig": [{"_id": "1", "params": {"greeting": "hello", "since": at(12)}, "masterKeyOnly": {"greeting": True}}],
    "_Hooks": [
        {"_id": ObjectId("5f0000000000000000000013"), "functionName": "f", "url": "https://hooks.example/f"},
        {"_id": ObjectId("5f0000000000000000000014"), "className": "Everything", "triggerName": "beforeSave",
         "url": "https://hooks.example/t"},
    ],
    "_Audience": [dated("audi000001", {"name": "all", "query": "{}", "_last_used": at(13), "times_used": 3})],
    "_JobSchedule": [dated("jobs000001", {"jobName": "nightly", "params": "{}", "daysOfWeek": ["1"], "repeatMinutes": 60})],
    "_PushStatus": [dated("push000001", {
        "pushTime": "2020-01-02T03:04:05.000Z", "source": "rest", "query": "{}", "payload": "{}", "status": "succeeded",
        "numSent": 3, "sentPerType": {"ios": 3}})],
    "_Idempotency": [{"_id": "idem000001", "reqId": "x", "expire": at(0)}],
    "fs.files": [{"_id": ObjectId("5f0000000000000000000020"), "filename": "abc_photo 1.jpg", "length": len(FILE),
                  "chunkSize": 600, "uploadDate": at(0)}],
    "fs.chunks": [
        {"_id": ObjectId("5f0000000000000000000022"), "files_id": ObjectId("5f0000000000000000000020"), "n": 1,
         "data": Binary(FILE[600:])},
        {"_id": ObjectId("5f0000000000000000000021"), "files_id": ObjectId("5f0000000000000000000020"), "n": 0,
         "data": Binary(FILE[:600])},
    ],
}

METADATA = {
    "Everything": [
        {"v": 2, "key": {"_id": 1}, "name": "_id_"},
        {"v": 2, "key": {"s": 1}, "name": "byText", "unique": True},
        {"v": 2, "key": {"d": 1}, "name": "ttlOfD", "expireAfterSeconds": 10},
    ]
}


def encoded(documents):
    return b"".join(bson.encode(document) for document in documents)


def metadata(name):
    indexes = METADATA.get(name, [{"v": 2, "key": {"_id": 1}, "name": "_id_"}])
    return json.dumps({"indexes": indexes, "uuid": "00", "collectionName": name, "type": "collection"})


def write_dump(folder, collections, pack=False):
    """Writes a mongodump folder. Colons in file names are percent-encoded."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, documents in collections.items():
        stem = name.replace(":", "%3A")
        for suffix, data in ((".bson", encoded(documents)), (".metadata.json", metadata(name).encode())):
            path = folder / (stem + suffix + (".gz" if pack else ""))
            path.write_bytes(gzipped(data) if pack else data)


def gzipped(data, level=9):
    """Compresses without a timestamp, so that samples are reproducible."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ 0xC96C5795D7870F42 if byte & 1 else byte >> 1
    TABLE.append(byte)


def crc64(data):
    state = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        state = TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFFFFFFFFFF


END = b"\xff\xff\xff\xff"


def archive(collections, database="parse", size=2):
    """Writes a mongodump archive with interleaved blocks of the collections, each of this many documents."""
    out = [struct.pack("<I", 0x8199E26D)]
    out.append(bson.encode({"concurrent_collections": 4, "version": "0.1", "server_version": "7.0.0",
                            "tool_version": "100.9.0"}))
    for name in collections:
        out.append(bson.encode({"db": database, "collection": name, "metadata": metadata(name), "size": 0,
                                "type": "collection"}))
    out.append(END)
    rest = {name: [bson.encode(document) for document in documents] for name, documents in collections.items()}
    sums = {name: crc64(b"".join(documents)) for name, documents in rest.items()}
    while any(rest.values()):
        for name, documents in rest.items():
            if documents:
                part, rest[name] = documents[:size], documents[size:]
                out += [bson.encode({"db": database, "collection": name, "EOF": False, "CRC": Int64(0)}), *part, END]
    for name in collections:
        checksum = struct.unpack("<q", struct.pack("<Q", sums[name]))[0]
        out += [bson.encode({"db": database, "collection": name, "EOF": True, "CRC": Int64(checksum)}), END]
    return b"".join(out)


def write_json(folder, collections, options, as_list=False):
    """Writes mongoexport files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, documents in collections.items():
        if name in ("Empty", "_Idempotency") or name.startswith("fs."):
            continue
        lines = [json_util.dumps(document, json_options=options) for document in documents]
        text = "[" + ",\n".join(lines) + "]\n" if as_list else "".join(line + "\n" for line in lines)
        (folder / f"{name.replace(':', '%3A')}.json").write_text(text)


def iso(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


PARSE = {
    "Song": [
        {"objectId": "song000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "title": "One", "plays": 3,
         "at": {"__type": "Date", "iso": iso(at(3))}, "place": {"__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4},
         "artist": {"__type": "Pointer", "className": "Artist", "objectId": "arti000001"}, "tags": ["a", "b"],
         "cover": {"__type": "File", "name": "tfss-cover.png", "url": "http://files.example/tfss-cover.png"},
         "fans": {"__type": "Relation", "className": "_User"}, "raw": {"__type": "Bytes", "base64": "AQID"},
         "area": {"__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [0, 0]]},
         "info": {"a": {"b": 1}}, "ACL": {"*": {"read": True}, "role:x": {"write": True}}},
        {"objectId": "song000002", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "title": "Two", "ACL": {}},
    ],
    "Artist": [{"objectId": "arti000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "name": "Them", "mixed": 1},
               {"objectId": "arti000002", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "name": "Us", "mixed": "1"}],
    "_User": [{"objectId": "user000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "username": "ann",
               "bcryptPassword": HASH, "authData": {"facebook": {"id": "f1"}}, "sessionToken": "old"}],
    "_Role": [{"objectId": "role000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "name": "x",
               "users": {"__type": "Relation", "className": "_User"}, "ACL": {"*": {"read": True}}}],
    "_Session": [{"objectId": "sess000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "restricted": False,
                  "sessionToken": "r:0123456789abcdef0123456789abcdef", "createdWith": {"action": "login"},
                  "user": {"__type": "Pointer", "className": "_User", "objectId": "user000001"},
                  "expiresAt": {"__type": "Date", "iso": "2099-01-01T00:00:00.000Z"}, "ACL": {}}],
    "_Installation": [{"objectId": "inst000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "deviceType": "ios",
                       "installationId": "inst-1", "deviceToken": "token-1", "channels": ["news"], "badge": 4}],
    "_PushStatus": [{"objectId": "push000001", "createdAt": iso(at(1)), "updatedAt": iso(at(2)), "status": "succeeded",
                     "numSent": 3, "sentPerType": {"ios": 3}, "query": "{}", "payload": "{}", "source": "rest"}],
    "_Join:users:_Role": [{"owningId": "role000001", "relatedId": "user000001"}],
    "_Join:fans:Song": [{"owningId": "song000001", "relatedId": "user000001"}],
}


def parse_export():
    """Writes an export of Parse.com or Back4App as a zip file."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as file:
        for name, objects in PARSE.items():
            text = "{ \"results\": [\n" + ",\n".join(json.dumps(one) for one in objects) + "\n] }"
            file.writestr(zipfile.ZipInfo(f"export/{name}.json", (2020, 1, 2, 3, 4, 6)), text,
                          zipfile.ZIP_DEFLATED)
    return memory.getvalue()


def sample(folder):
    write_dump(folder / "dump/parse", COLLECTIONS)
    misfits = {"_SCHEMA": [SCHEMA[0]], "Everything": MISFITS}
    write_dump(folder / "misfits", misfits)
    write_dump(folder / "packed", {name: COLLECTIONS[name] for name in ("_SCHEMA", "Everything")}, pack=True)
    (folder / "dump.archive.gz").write_bytes(gzipped(archive(COLLECTIONS)))
    write_json(folder / "canonical", COLLECTIONS, json_util.CANONICAL_JSON_OPTIONS)
    write_json(folder / "relaxed", COLLECTIONS, json_util.RELAXED_JSON_OPTIONS, as_list=True)
    write_json(folder / "legacy", COLLECTIONS, json_util.LEGACY_JSON_OPTIONS)
    (folder / "parse.zip").write_bytes(parse_export())


def rows(folder, count, others=None):
    fields = {"title": "string", "plays": "number", "rating": "number", "isOpen": "boolean", "at": "date",
              "owner": "*_User", "tags": "array", "info": "object", "place": "geopoint"}
    others = dict(others or {})
    others["_SCHEMA"] = others.get("_SCHEMA", []) + [schema("Game", fields)]
    write_dump(folder, others)
    with open(folder / "Game.bson", "wb") as file:
        for number in range(count):
            file.write(bson.encode(dated(f"g{number:09d}", {
                "title": f"Game number {number}", "plays": number, "rating": number / 7, "isOpen": number % 2 == 0,
                "at": at(number), "_p_owner": f"_User$u{number % 1000}", "tags": ["a", f"t{number % 10}"],
                "info": {"level": number % 50, "name": "x"}, "place": [number % 180, number % 90],
                "_rperm": ["*"], "_wperm": [f"u{number % 1000}"],
            }, number)))


if __name__ == "__main__":
    if sys.argv[1] == "sample":
        sample(pathlib.Path(sys.argv[2]))
    else:
        rows(pathlib.Path(sys.argv[2]), int(sys.argv[3]), COLLECTIONS if sys.argv[1] == "app" else None)
