"""An S3 store (moto) with object tags, ACLs and encryption, which doesn't check signatures.

tagging_store.py FOLDER: runs until its parent process ends, and writes its port to the file `port` in the folder.
The bucket is `files`.
"""

import logging
import os
import socket
import sys
import time
import urllib.request

from moto.server import ThreadedMotoServer

folder = sys.argv[1]
parent = os.getppid()
logging.getLogger("werkzeug").setLevel(logging.ERROR)
with socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/files", method="PUT"), timeout=60).close()
with open(f"{folder}/port.new", "w") as file:
    file.write(str(port))
os.rename(f"{folder}/port.new", f"{folder}/port")
while os.getppid() == parent:
    time.sleep(0.1)
