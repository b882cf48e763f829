#!/usr/bin/env python3
"""Copies an app from a Parse server to a Roost, over the REST interface of both.

    export SOURCE_MASTER_KEY=… SOURCE_MAINTENANCE_KEY=… TARGET_MASTER_KEY=…
    python3 scripts/copy_app.py --source https://old.example/parse --source-app-id old \\
        --target https://new.example/parse --target-app-id new

Copied are classes with their permissions and indexes, the configuration, and all objects with their ids, dates and
ACLs: users, roles, installations and sessions among them, and the members of all relations. Fields of files keep the
files' names; the files themselves are not copied (--list-files says which they are). Users keep their passwords when
the source gives the hashes to its maintenance key; without them, they have to reset their passwords.

Objects that the target has already are overwritten, so the same copy may be made again: after an interruption, or to
fetch what has changed. It prints a line for each class, and exits with 1 when something could not be copied.

Needs the package `requests`.
"""

import argparse
import json
import os
import sys
import time
import urllib.parse

import requests

COMMON_FIELDS = {"objectId", "createdAt", "updatedAt", "ACL"}
SERVER_CLASSES = {
    "_Audience", "_ExportProgress", "_GlobalConfig", "_GraphQLConfig", "_Hooks", "_Idempotency", "_JobSchedule",
    "_JobStatus", "_PushStatus",
}
ATTEMPTS = 5
BATCH_SIZE = 50
PAIRS_AT_ONCE = 5000


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, response):
        try:
            body = response.json()
        except ValueError:
            body = {}
        self.code = body.get("code")
        text = body.get("error") or body.get("message") or response.text[:200]
        super().__init__(f"{response.request.method} {response.url.split('?')[0]}: {response.status_code} {text}")


class Server:
    """One server, called with its master key."""

    def __init__(self, url, application_id, master_key, maintenance_key=None):
        self.url = url.rstrip("/")
        self.prefix = urllib.parse.urlsplit(self.url).path
        self.session = requests.Session()
        self.master = {"X-Parse-Application-Id": application_id, "X-Parse-Master-Key": master_key}
        self.maintenance = maintenance_key and {
            "X-Parse-Application-Id": application_id, "X-Parse-Maintenance-Key": maintenance_key}

    def call(self, method, path, headers=None, **arguments):
        """Makes a request, again when the server does not answer: every call here may be made twice."""
        for attempt in range(ATTEMPTS):
            is_last = attempt == ATTEMPTS - 1
            try:
                response = self.session.request(
                    method, self.url + path, headers=headers or self.master, timeout=300, **arguments)
                if response.status_code < 400:
                    return response.json()
                if response.status_code < 500 and response.status_code != 429 or is_last:
                    raise Refused(response)
            except (requests.ConnectionError, requests.Timeout):
                if is_last:
                    raise
            time.sleep(2 ** attempt)

    def find(self, class_name, headers=None, **parameters):
        """The objects that a query finds."""
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in parameters.items()}
        return self.call("GET", f"/classes/{class_name}", headers, params=texts)["results"]

    def pages(self, class_name, size, headers=None, **parameters):
        """All objects of a class, page by page, by windows of the date of their creation."""
        where = {}
        seen = set()
        while True:
            page = self.find(
                class_name, headers, where=where, order="createdAt,objectId", limit=size, **parameters)
            # Dates that hold microseconds are told in milliseconds: the last row may come again, and for ever.
            ids = {row["objectId"] for row in page}
            if not ids - seen:
                return
            yield [row for row in page if row["objectId"] not in seen]
            seen = ids
            # Many objects may be made in one millisecond, so that the id has to tell where the next page begins. The
            # first condition alone would do without it, and is what an index by date serves.
            date = {"__type": "Date", "iso": page[-1]["createdAt"]}
            where = {
                "createdAt": {"$gte": date},
                "$or": [{"createdAt": {"$gt": date}}, {"objectId": {"$gt": page[-1]["objectId"]}}],
            }

    def upload(self, path, rows):
        """Imports rows, and gives what became of each."""
        file = ("export.json", json.dumps({"results": rows}, ensure_ascii=False).encode(), "application/json")
        return self.call("POST", path, files={"importFile": file})["response"]


class Copy:
    """One copy of an app."""

    def __init__(self, source, target, options):
        self.source, self.target, self.options = source, target, options
        self.failures = 0
        self.files = {}

    def fail(self, text):
        self.failures += 1
        print(f"not copied: {text}", file=sys.stderr)

    def run(self):
        schemas = [schema for schema in self.source.call("GET", "/schemas")["results"] if self.is_wanted(schema)]
        for schema in schemas:
            self.copy_schema(schema)
        self.copy_configuration()
        for schema in schemas:
            self.copy_objects(schema["className"])
        for schema in schemas:
            for field, definition in schema["fields"].items():
                if definition["type"] == "Relation":
                    self.copy_relation(schema["className"], field, definition["targetClass"])
        if self.options.list_files:
            with open(self.options.list_files, "w", encoding="utf-8") as list_of_files:
                for name, url in sorted(self.files.items()):
                    list_of_files.write(f"{name}\t{url}\n")

    def is_wanted(self, schema):
        name = schema["className"]
        if name in SERVER_CLASSES or name.startswith("_Join:"):
            return False
        if name == "_Session" and self.options.without_sessions:
            return False
        return not self.options.classes or name in self.options.classes.split(",")

    def copy_schema(self, schema):
        name = schema["className"]
        path = f"/schemas/{name}"
        try:
            try:
                known = self.target.call("GET", path)
            except Refused as error:
                if error.code != 103:
                    raise
                known = self.target.call("POST", path, json={"className": name})
            fields = {}
            for field, definition in schema["fields"].items():
                there = known["fields"].get(field)
                if there is None and field not in COMMON_FIELDS:
                    fields[field] = definition
                elif there and (there["type"], there.get("targetClass")) != (
                        definition["type"], definition.get("targetClass")):
                    self.fail(f"field {name}.{field}: it is {definition['type']} here and {there['type']} there")
            change = {"className": name, "fields": fields}
            if schema.get("classLevelPermissions"):
                change["classLevelPermissions"] = schema["classLevelPermissions"]
            self.target.call("PUT", path, json=change)
        except Refused as error:
            self.fail(f"class {name}: {error}")
            return
        for index, columns in schema.get("indexes", {}).items():
            if index == "_id_" or index in known.get("indexes", {}):
                continue
            try:
                self.target.call("PUT", path, json={"className": name, "indexes": {index: columns}})
            except Refused as error:
                # An index changes nothing that an app could see; some kinds exist on one of the databases only.
                print(f"index {index} of {name} is left out: {error}", file=sys.stderr)

    def copy_configuration(self):
        configuration = self.source.call("GET", "/config")
        if configuration.get("params"):
            change = {key: configuration[key] for key in ("params", "masterKeyOnly") if key in configuration}
            self.target.call("PUT", "/config", json=change)

    def copy_objects(self, name):
        headers = self.source.maintenance if name == "_User" else None
        if name == "_User" and not headers:
            print("there is no maintenance key of the source: users have to reset their passwords", file=sys.stderr)
        copied = 0
        for page in self.source.pages(name, self.options.page, headers):
            for rows in self.chunks(self.prepared(name, row) for row in page):
                copied += self.import_rows(f"/import_data/{name}", rows, lambda row: f"{name} {row['objectId']}")
        there = self.target.call("GET", f"/classes/{name}", params={"count": 1, "limit": 0})["count"]
        if there < copied:
            self.fail(f"class {name}: {copied} objects were copied, and {there} are there")
        print(f"{name}: {copied} objects")

    def prepared(self, name, row):
        """An object as it is imported."""
        if self.options.list_files:
            self.collect_files(row)
        # Some servers give the hash to the maintenance key under the name of the password.
        if name == "_User" and str(row.get("password", "")).startswith("$2"):
            row["_hashed_password"] = row.pop("password")
        return row

    def collect_files(self, value):
        if isinstance(value, list):
            for element in value:
                self.collect_files(element)
        elif isinstance(value, dict):
            if value.get("__type") == "File":
                self.files[value.get("name")] = value.get("url")
            for element in value.values():
                self.collect_files(element)

    def chunks(self, rows):
        """Rows in portions that a server takes in one request."""
        chunk, size = [], 0
        for row in rows:
            length = len(json.dumps(row, ensure_ascii=False).encode())
            if chunk and size + length > self.options.bytes:
                yield chunk
                chunk, size = [], 0
            chunk.append(row)
            size += length
        if chunk:
            yield chunk

    def import_rows(self, path, rows, name):
        """Imports rows, reports those that are refused, and gives the number of the others."""
        copied = 0
        for row, outcome in zip(rows, self.target.upload(path, rows)):
            if "error" in outcome:
                self.fail(f"{name(row)}: {outcome['error'].get('code')} {outcome['error'].get('error')}")
            else:
                copied += 1
        return copied

    def copy_relation(self, name, field, target_class):
        copied = 0
        pairs = []
        for page in self.source.pages(name, self.options.page, keys="objectId,createdAt"):
            owners = [owner["objectId"] for owner in page]
            for start in range(0, len(owners), BATCH_SIZE):
                pairs += self.members(name, field, target_class, owners[start:start + BATCH_SIZE])
                if len(pairs) >= PAIRS_AT_ONCE:
                    copied += self.import_pairs(name, field, pairs)
                    pairs = []
        if pairs:
            copied += self.import_pairs(name, field, pairs)
        print(f"{name}.{field}: {copied} members")

    def import_pairs(self, name, field, pairs):
        return self.import_rows(
            f"/import_relation_data/{name}/{field}", pairs,
            lambda pair: f"{name}.{field} {pair['owningId']} -> {pair['relatedId']}")

    def members(self, name, field, target_class, owners):
        """The members of the relations of some owners, all of them asked in one request as long as they have more."""
        pairs = []
        conditions = {owner: {} for owner in owners}
        while conditions:
            asked = [self.query(name, field, target_class, owner, more) for owner, more in conditions.items()]
            answers = self.source.call("POST", "/batch", json={"requests": asked})
            remaining = {}
            for owner, answer in zip(conditions, answers):
                if "error" in answer:
                    self.fail(f"{name}.{field} of {owner}: {answer['error']}")
                    continue
                page = [member["objectId"] for member in answer["success"]["results"]]
                pairs += [{"owningId": owner, "relatedId": member} for member in page]
                if page:
                    remaining[owner] = {"objectId": {"$gt": page[-1]}}
            conditions = remaining
        return pairs

    def query(self, name, field, target_class, owner, condition):
        """The element of a batch that asks for members of a relation."""
        pointer = {"__type": "Pointer", "className": name, "objectId": owner}
        where = {"$relatedTo": {"object": pointer, "key": field}, **condition}
        return {
            "method": "GET", "path": f"{self.source.prefix}/classes/{target_class}",
            "body": {"where": where, "keys": "objectId", "order": "objectId", "limit": self.options.page},
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for side in ("source", "target"):
        parser.add_argument(f"--{side}", required=True, help=f"the URL of the {side}, with its mount path")
        parser.add_argument(f"--{side}-app-id", required=True, help=f"the application id of the {side}")
    parser.add_argument("--classes", help="copy only these classes, with commas between them")
    parser.add_argument("--without-sessions", action="store_true", help="let all users log in anew")
    parser.add_argument("--list-files", metavar="FILE", help="write names and URLs of all files into a file")
    parser.add_argument("--page", type=int, default=1000, help="read so many objects at once (1000)")
    parser.add_argument("--bytes", type=int, default=4_000_000, help="send so many bytes at once (4000000)")
    options = parser.parse_args()
    keys = os.environ
    for name in ("SOURCE_MASTER_KEY", "TARGET_MASTER_KEY"):
        if not keys.get(name):
            parser.error(f"the variable {name} of the environment must be set")
    copy = Copy(
        Server(options.source, options.source_app_id, keys["SOURCE_MASTER_KEY"], keys.get("SOURCE_MAINTENANCE_KEY")),
        Server(options.target, options.target_app_id, keys["TARGET_MASTER_KEY"]), options)
    try:
        copy.run()
    except (Refused, requests.RequestException) as error:
        copy.fail(str(error))
    return 1 if copy.failures else 0


if __name__ == "__main__":
    sys.exit(main())
