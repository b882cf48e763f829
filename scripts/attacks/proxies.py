"""Debian's nginx and HAProxy in front of the server under attack."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from ports import free_port


def _nginx(folder, own, port):
    paths = "\n".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""
        daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
        events {{ worker_connections 1024; }}
        http {{
            access_log off;
            {paths}
            server {{
                listen 127.0.0.1:{own};
                location / {{
                    proxy_pass http://127.0.0.1:{port};
                    proxy_http_version 1.1;
                    proxy_set_header Upgrade $http_upgrade;
                    proxy_set_header Connection "upgrade";
                    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                }}
            }}
        }}"""


def _haproxy(_, own, port):
    return f"""
global
    maxconn 1024
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend public
    bind 127.0.0.1:{own}
    option forwardfor
    default_backend roost
backend roost
    server roost 127.0.0.1:{port}
"""


def _command(name, program, folder):
    if name == "nginx":
        return [program, "-p", folder, "-e", f"{folder}/error.log", "-c", f"{folder}/settings"]
    return [program, "-db", "-f", f"{folder}/settings"]


PROXIES = {"nginx": _nginx, "haproxy": _haproxy}


@contextlib.contextmanager
def proxy(name, port):
    """Runs a proxy in front of the server. Yields its port, or None if the proxy isn't installed."""
    program = shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix=f"roost-attack-{name}.") as folder:
        own = free_port()
        pathlib.Path(folder).chmod(0o755)
        pathlib.Path(folder, "settings").write_text(PROXIES[name](folder, own, port), encoding="utf-8")
        process = subprocess.Popen(
            _command(name, program, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", own)):
                    break
                time.sleep(0.05)
            else:
                raise ConnectionError(f"{name} did not start")
            yield own
        finally:
            process.terminate()
            process.wait()
