"""An S3 store that checks signatures: OpenStack Swift with s3api, on loopback.

bucket_server.py FOLDER: runs in the folder until its parent process ends, and writes its port to the file `port`.
The bucket is `files`, the key `test:tester`, the secret `testing`.
"""

import base64
import email.utils
import getpass
import hmac
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from swift.common.ring import RingBuilder

folder = sys.argv[1]
parent = os.getppid()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def write(name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def default(port):
    # The usual timeouts of half a second and a second are too short for a busy machine, and ten exceeded ones suspend
    # the only device.
    return f"""[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
user = {getpass.getuser()}
workers = 0
log_level = ERROR
conn_timeout = 30
node_timeout = 60
container_update_timeout = 60
error_suppression_limit = 1000000
"""


os.makedirs(f"{folder}/devices/d1", exist_ok=True)
write("swift.conf", "[swift-hash]\nswift_hash_path_suffix = roost\n[swift-constraints]\n")
ports = {name: free_port() for name in ("account", "container", "object", "proxy")}
for name in ("account", "container", "object"):
    ring = RingBuilder(4, 1, 1)
    ring.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": ports[name], "device": "d1", "weight": 1,
                  "replication_ip": "127.0.0.1", "replication_port": ports[name]})
    ring.rebalance()
    ring.get_ring().save(f"{folder}/{name}.ring.gz")
    write(f"{name}.conf", default(ports[name])
          + f"[pipeline:main]\npipeline = {name}-server\n[app:{name}-server]\nuse = egg:swift#{name}\n")
filters = "catch_errors gatekeeper cache listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink".split()
settings = {
    "cache": "memcache_servers = 127.0.0.1:1\n",
    "tempauth": "user_test_tester = testing .admin\n",
    "s3api": "location = us-east-1\ns3_acl = false\n",
    "versioned_writes": "allow_object_versioning = true\n",
}
text = default(ports["proxy"]) + f"[pipeline:main]\npipeline = {' '.join(filters)} proxy-server\n"
text += "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n"
for name in filters:
    entry = {"cache": "memcache"}.get(name, name)
    text += f"[filter:{name}]\nuse = egg:swift#{entry}\n" + settings.get(name, "")
write("proxy.conf", text)
environment = dict(os.environ, SWIFT_DIR=folder)
log = open(f"{folder}/log", "w")
processes = [
    subprocess.Popen([f"/usr/bin/swift-{name}-server", f"{folder}/{name}.conf"], stdout=log, stderr=log, env=environment)
    for name in ports
]


def make_bucket():
    # Uses the older, shorter signature. The tests' own requests are signed by the code under test.
    date = email.utils.formatdate(usegmt=True)
    signature = base64.b64encode(hmac.digest(b"testing", f"PUT\n\n\n{date}\n/files".encode(), "sha1")).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{ports['proxy']}/files", method="PUT",
        headers={"Date": date, "Authorization": f"AWS test:tester:{signature}"})
    urllib.request.urlopen(request, timeout=20).close()


try:
    end = time.monotonic() + 120
    while True:
        try:
            make_bucket()
            break
        except OSError:
            if time.monotonic() > end or any(process.poll() is not None for process in processes):
                sys.exit(open(f"{folder}/log").read()[-4000:] or "the store did not start")
            time.sleep(0.1)
    write("port.new", str(ports["proxy"]))
    os.rename(f"{folder}/port.new", f"{folder}/port")
    while os.getppid() == parent:
        time.sleep(0.1)
finally:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    shutil.rmtree(folder)
