"""A proxy that adds Google's accounts, tokens and header names to the bucket server.

google_store.py FOLDER PORT: forwards to the bucket server at PORT. Writes a service account to `account.json`, its own
port to `port`, and each request as a JSON line to `requests`. Checks accounts' signatures with python3-cryptography.
Rejects tokens that are older than the file `revoke`.
"""

import base64
import datetime
import hashlib
import hmac
import http.client
import http.server
import json
import os
import secrets
import sys
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

folder, store_port = sys.argv[1], int(sys.argv[2])
email = "files@songs.iam.example"
key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
tokens = {}
lock = threading.Lock()


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def check(assertion):
    """Returns the problem with a signed token request, by RFC 7523 and Google's documentation."""
    header, claims, signature = assertion.split(".")
    if json.loads(decode(header))["alg"] != "RS256":
        return "algorithm"
    key.public_key().verify(decode(signature), f"{header}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    claims = json.loads(decode(claims))
    now = time.time()
    expected = {"iss": email, "aud": address + "/token",
                "scope": "https://www.googleapis.com/auth/devstorage.read_write"}
    for name, value in expected.items():
        if claims.get(name) != value:
            return name
    if abs(claims["iat"] - now) > 60 or not claims["iat"] < claims["exp"] <= claims["iat"] + 3600:
        return "times"
    return None


def give_token():
    text = secrets.token_hex(16)
    lifetime = 3600
    if os.path.exists(f"{folder}/lifetime"):
        lifetime = float(open(f"{folder}/lifetime").read())
    with lock:
        tokens[text] = time.time() + lifetime
    return json.dumps({"access_token": text, "expires_in": lifetime, "token_type": "Bearer"}).encode()


def signed(method, path, query, headers):
    """Returns the header fields of a request to the bucket server, with Signature Version 4."""
    moment = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%SZ")
    fields = dict(headers, **{"host": f"127.0.0.1:{store_port}", "x-amz-date": moment,
                              "x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
    names = sorted(name for name in fields if name == "host" or name.startswith("x-amz-"))
    pairs = sorted(pair if "=" in pair else pair + "=" for pair in query.split("&") if pair)
    canonical = "\n".join([method, path, "&".join(pairs), *[f"{name}:{fields[name].strip()}" for name in names], "",
                           ";".join(names), "UNSIGNED-PAYLOAD"])
    scope = f"{moment[:8]}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signing = b"AWS4testing"
    for part in scope.split("/"):
        signing = hmac.digest(signing, part.encode(), "sha256")
    fields["authorization"] = (f"AWS4-HMAC-SHA256 Credential=test:tester/{scope}, SignedHeaders={';'.join(names)}, "
                               f"Signature={hmac.digest(signing, text.encode(), 'sha256').hex()}")
    return fields


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, headers=()):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code):
        self.answer(status, f"<Error><Code>{code}</Code><Message>words</Message></Error>".encode())

    def note(self, **others):
        line = {"method": self.command, "path": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()}, **others}
        with lock, open(f"{folder}/requests", "a") as file:
            file.write(json.dumps(line) + "\n")

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.note()
        if self.path == "/token":
            form = urllib.parse.parse_qs(body.decode())
            try:
                wrong = check(form["assertion"][0])
                if form["grant_type"] != ["urn:ietf:params:oauth:grant-type:jwt-bearer"]:
                    wrong = "grant_type"
            except Exception as error:
                wrong = repr(error)
            if wrong:
                return self.answer(400, json.dumps({"error": "invalid_grant", "error_description": wrong}).encode())
            return self.answer(200, give_token())
        if self.path == "/computeMetadata/v1/instance/service-accounts/default/token":
            if self.headers.get("Metadata-Flavor") != "Google":
                return self.answer(403, b"")
            return self.answer(200, give_token())
        if os.path.exists(f"{folder}/revoke"):
            with lock:
                tokens.clear()
            os.remove(f"{folder}/revoke")
        given = self.headers.get("Authorization", "")
        if not given.startswith("Bearer ") or tokens.get(given[7:], 0) < time.time():
            return self.refuse(401, "AuthenticationRequired")
        names = [name.lower() for name in self.headers]
        if any(name.startswith("x-amz-") for name in names):
            return self.refuse(400, "InvalidArgument")
        path, _, query = self.path.partition("?")
        if "encoding-type" in query:
            return self.refuse(400, "InvalidArgument")
        # Swift doesn't store permissions.
        kept = {name.lower().replace("x-goog-", "x-amz-"): value for name, value in self.headers.items()
                if name.lower() not in ("authorization", "host", "x-goog-acl", "accept-encoding", "connection")}
        connection = http.client.HTTPConnection("127.0.0.1", store_port)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in signed(self.command, path, query, kept).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = b"" if self.command == "HEAD" else answer.read()
        headers = [(name.lower().replace("x-amz-", "x-goog-"), value) for name, value in answer.getheaders()
                   if name.lower() not in ("transfer-encoding", "connection")]
        if self.command == "DELETE" and not query and answer.status == 204 and self.path.endswith("absent"):
            return self.refuse(404, "NoSuchKey")
        self.answer(answer.status, content, headers)
        connection.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
address = f"http://127.0.0.1:{server.server_port}"
account = {
    "type": "service_account", "project_id": "songs", "private_key_id": "k1", "client_email": email,
    "private_key": key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption()).decode(),
    "token_uri": address + "/token",
}
with open(f"{folder}/account.json", "w") as file:
    json.dump(account, file)
with open(f"{folder}/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(f"{folder}/port.new", f"{folder}/port")
parent = os.getppid()
threading.Thread(target=server.serve_forever, daemon=True).start()
while os.getppid() == parent:
    time.sleep(0.1)
