"""A webhook server that saves another object before it responds."""

import http.server
import json
import threading
import urllib.request

from attacks.sending import APPLICATION_ID


# Large enough to queue with other large requests.
NESTED = json.dumps({"text": "x" * 20_000}).encode()


class Hooks:
    """Listens on 127.0.0.1 inside a `with` block."""

    def __enter__(self):
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                call = urllib.request.Request(
                    f"http://127.0.0.1:{hooks.server_port}/parse/classes/Item", data=NESTED,
                    headers={"X-Parse-Application-Id": APPLICATION_ID, "Content-Type": "application/json"})
                try:
                    urllib.request.urlopen(call, timeout=30).read()
                    answer = {"success": {}}
                except OSError as error:
                    answer = {"error": str(error)}
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.listener.daemon_threads = True
        threading.Thread(target=self.listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown()
        self.listener.server_close()

    def url(self, server_port):
        """Returns the URL of a webhook that saves to the server on that port."""
        self.server_port = server_port
        return f"http://127.0.0.1:{self.listener.server_address[1]}/hook"
