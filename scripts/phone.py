"""A phone with the Objective-C Parse SDK: sends requests in exactly the SDK's format."""

import http.client
import json
import re
import urllib.parse
import uuid


class Mismatch(Exception):
    """The error for a response that doesn't meet the apps' expectations."""

    def __init__(self, request, expected, got):
        super().__init__(f"    request:  {request}\n    expected: {expected}\n    got:      {got}")


class Answer:
    """A response, with a description of its request."""

    def __init__(self, request, status, headers, body):
        self.request = request
        self.status = status
        self.headers = headers
        self.bytes = body
        self.json = None
        if "json" in headers.get("content-type", ""):
            try:
                self.json = json.loads(body)
            except ValueError:
                raise Mismatch(request, "a JSON body", body[:300]) from None

    def __getitem__(self, key):
        self.check(isinstance(self.json, dict) and key in self.json, f"a body with the key {key}")
        return self.json[key]

    def __str__(self):
        body = json.dumps(self.json) if self.json is not None else repr(self.bytes[:200])
        return f"{self.status} {body[:1500]}"

    def check(self, holds, expected):
        """Raises `Mismatch` unless a condition holds. Returns the response."""
        if not holds:
            raise Mismatch(self.request, expected, self)
        return self

    def has(self, status, /, **values):
        """Checks the status and keys of the body."""
        expected = f"{status} with {json.dumps(values)}" if values else str(status)
        self.check(self.status == status, expected)
        for key, value in values.items():
            self.check(isinstance(self.json, dict) and self.json.get(key) == value, expected)
        return self

    def fails(self, status, code):
        """Checks that the response is a Parse error with the given code."""
        self.check(self.status == status and isinstance(self.json, dict) and self.json.get("code") == code,
                   f"{status} with the error code {code}")
        return self.check(isinstance(self.json.get("error"), str), "an error in words")

    def rows(self, key, values):
        """Checks the values of one key in a find's results, in order. Returns the results."""
        self.has(200)
        results = self["results"]
        self.check(isinstance(results, list) and [row.get(key) for row in results] == values,
                   f"results whose {key} are {json.dumps(values)}, in this order")
        return results


TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


def pointer(class_name, object_id):
    return {"__type": "Pointer", "className": class_name, "objectId": object_id}


def date(iso):
    return {"__type": "Date", "iso": iso}


class Phone:
    """One installation of an app, with a current user after `sign_up` or `log_in`."""

    def __init__(self, url, app_id, client_key):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port or 80
        self.mount = parts.path.rstrip("/")
        self.app_id = app_id
        self.client_key = client_key
        self.installation = str(uuid.uuid4())
        self.process = str(uuid.uuid4()).upper()
        self.token = None
        self.user_id = None

    @property
    def user(self):
        return pointer("_User", self.user_id)

    def send(self, method, path, body=None, headers=None, has_session=True):
        """Sends a request with the SDK's headers. `path` is below the mount path."""
        all_headers = {
            "X-Parse-Application-Id": self.app_id,
            "X-Parse-Client-Version": "i1.19.4",
            "X-Parse-OS-Version": "17.5 (21F79)",
            "X-Parse-App-Build-Version": "42",
            "X-Parse-App-Display-Version": "1.3",
            "X-Parse-Installation-Id": self.installation,
            "X-Parse-Request-Id": self.process,
            "Accept": "*/*",
        }
        if self.client_key:
            all_headers["X-Parse-Client-Key"] = self.client_key
        if self.token and has_session:
            all_headers["X-Parse-Session-Token"] = self.token
        all_headers.update(headers or {})
        return self.exchange(method, self.mount + path, body, all_headers)

    def exchange(self, method, target, body, headers):
        shown = body if isinstance(body, str) else "" if body is None else f"<{len(body)} bytes>"
        request = f"{method} {target} {shown}".strip()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, target, body.encode() if isinstance(body, str) else body, headers)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(request, response.status, names, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise Mismatch(request, "an answer", repr(error)) from None
        finally:
            connection.close()

    def send_json(self, method, path, value, has_session=True):
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        kind = {"Content-Type": "application/json; charset=utf-8"}
        answer = self.send(method, path, text, kind, has_session)
        return answer.check(answer.json is not None, "a JSON body")

    # Users

    def sign_up(self, username, password, **fields):
        answer = self.send_json("POST", "/users", {"username": username, "password": password, **fields}, False)
        answer.has(201).check(TIME.match(answer["createdAt"]), "createdAt in milliseconds")
        answer.check(answer["sessionToken"].startswith("r:"), "a session token that begins with r:")
        answer.check(answer.headers.get("location", "").endswith("/users/" + answer["objectId"]), "a Location header")
        self.token, self.user_id = answer["sessionToken"], answer["objectId"]
        return answer

    def log_in(self, username, password):
        answer = self.send_json(
            "POST", "/login", {"_method": "GET", "username": username, "password": password}, False)
        if answer.status == 200:
            self.token, self.user_id = answer["sessionToken"], answer["objectId"]
        return answer

    def me(self):
        return self.send("GET", "/users/me")

    def log_out(self):
        return self.send("POST", "/logout")

    # Objects

    def create(self, class_name, **fields):
        """Saves a new object and returns a pointer to it."""
        answer = self.send_json("POST", "/classes/" + class_name, fields).has(201)
        answer.check(TIME.match(answer["createdAt"]), "createdAt in milliseconds")
        return pointer(class_name, answer["objectId"])

    def fetch(self, target):
        return self.send("GET", f"/classes/{target['className']}/{target['objectId']}")

    def update(self, target, **fields):
        return self.send_json("PUT", f"/classes/{target['className']}/{target['objectId']}", fields)

    def save(self, target, **fields):
        """Updates an object. Raises if that fails."""
        answer = self.update(target, **fields).has(200)
        return answer.check(TIME.match(answer["updatedAt"]), "updatedAt in milliseconds")

    def delete(self, target):
        return self.send("DELETE", f"/classes/{target['className']}/{target['objectId']}")

    def batch(self, *requests):
        """Saves or deletes several objects: (method, class, object id or None, body or None) each."""
        entries = []
        for method, class_name, object_id, body in requests:
            path = f"{self.mount}/classes/{class_name}" + (f"/{object_id}" if object_id else "")
            entries.append({"method": method, "path": path, **({"body": body} if body is not None else {})})
        answer = self.send_json("POST", "/batch", {"requests": entries}).has(200)
        complete = isinstance(answer.json, list) and len(answer.json) == len(entries)
        answer.check(complete, f"a list of {len(entries)} answers")
        return answer.check(all("success" in entry for entry in answer.json), "success everywhere")

    def find(self, class_name, where=None, **options):
        """Runs a query. The SDK sends its numbers as strings."""
        body = {"_method": "GET", **options}
        if where is not None:
            body["where"] = where
        return self.send_json("POST", "/classes/" + class_name, body)

    def count(self, class_name, where):
        return self.find(class_name, where, count="1", limit="0")

    # Files

    def upload(self, name, content, media_type=None):
        """Uploads a file and returns its value for File fields."""
        headers = {"Content-Type": media_type} if media_type else {}
        answer = self.send("POST", "/files/" + name, content, headers).has(201)
        answer.check(answer["name"].endswith("_" + name), f"a name that ends with _{name}")
        answer.check(answer["url"].startswith("http") and answer["url"].endswith(answer["name"]), "an absolute URL")
        return {"__type": "File", "name": answer["name"], "url": answer["url"]}

    def download(self, file, headers=None):
        """Downloads a file by its URL, without Parse headers."""
        target = urllib.parse.urlsplit(file["url"]).path
        return self.exchange("GET", target, None, headers or {})
