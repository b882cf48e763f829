"""A collector of traces for tests: writes its port to FOLDER/port, and each span that comes as a line of JSON to FOLDER/spans.

While FOLDER/busy exists it answers 503 with Retry-After: 1.
"""

import http.server
import json
import os
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "TelemetryTests"))
from decode_spans import decoded


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if (folder / "busy").exists():
            (folder / "refused").touch()
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf":
            self.send_error(415)
            return
        with open(folder / "spans", "a") as file:
            for span in decoded(data):
                span["authorization"] = self.headers.get("Authorization", "")
                file.write(json.dumps(span) + "\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(folder / "port.new").write_text(str(server.server_port))
os.rename(folder / "port.new", folder / "port")
server.serve_forever()
