"""Reference servers: a bare route of an HTTP library, and nginx with the same file."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

from ports import free_port

BARE = pathlib.Path(__file__).resolve().parent.parent / ".build/reference/release/bare"

NGINX = """
daemon off;
worker_processes auto;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    default_type audio/mpeg;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/temporary;
    proxy_temp_path {folder}/temporary;
    fastcgi_temp_path {folder}/temporary;
    uwsgi_temp_path {folder}/temporary;
    scgi_temp_path {folder}/temporary;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
    }}
}}
"""


class Neighbour:
    """A server process on 127.0.0.1 that runs inside a `with` block."""

    def __init__(self, command, port):
        self.command, self.port = command, port

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.process = subprocess.Popen(self.command)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.process.kill()
                    raise SystemExit(f"bench: {self.command[0]} didn't start listening") from None
                time.sleep(0.02)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)


def bare():
    """Returns the bare route, or None if scripts/bench.sh didn't build it."""
    port = free_port()
    return Neighbour([BARE, str(port)], port) if os.access(BARE, os.X_OK) else None


def nginx(folder, content):
    """Returns nginx with `content` as /song.mp3, or None if it isn't installed."""
    binary = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not binary:
        return None
    folder, port = pathlib.Path(folder) / "nginx", free_port()
    (folder / "files").mkdir(parents=True)
    (folder / "files/song.mp3").write_bytes(content)
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
    return Neighbour([binary, "-e", "stderr", "-c", configuration], port)
