"""Live-query connections whose subscriptions contain patterns that are slow to match."""

import base64
import json
import os
import time

from attacks.sending import APPLICATION_ID, Wave, connect, request, spread

CONNECTIONS = 40
SUBSCRIPTIONS = 10
PATTERN = "(a+)+(b|c)*(a|aa)+$"


def frame(value):
    """Returns a client's text frame, masked as the protocol requires."""
    data = json.dumps(value).encode()
    length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
    return b"\x81" + length + bytes(4) + data


def _read(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed in a message")
        data += piece
    return data


def read_message(connection):
    """Returns the next text message. Ignores pings."""
    while True:
        first, length = _read(connection, 2)
        if length == 126:
            length = int.from_bytes(_read(connection, 2), "big")
        elif length == 127:
            length = int.from_bytes(_read(connection, 8), "big")
        data = _read(connection, length)
        if first & 0x0F == 1:
            return data
        if first & 0x0F == 8:
            raise ConnectionError("closed by the server")


def open_socket(port, sender, connects=True):
    """Opens a WebSocket connection and, if `connects`, sends the first live-query message."""
    connection = connect(port, sender)
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(
        f"GET /parse HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(4096)
        if not piece:
            raise ConnectionError("closed before WebSocket was agreed on")
        answer += piece
    if connects:
        connection.sendall(frame({"op": "connect", "applicationId": APPLICATION_ID}))
    return connection


def subscribe_with_patterns(_, port, senders):
    """Subscribes with patterns, and then saves objects that are matched against them."""
    connections = []
    try:
        for number in range(CONNECTIONS):
            connection = open_socket(port, number % senders)
            connections.append(connection)
            for subscription in range(SUBSCRIPTIONS):
                where = {"text": {"$regex": PATTERN + str(subscription)}}
                connection.sendall(frame({
                    "op": "subscribe", "requestId": subscription, "query": {"className": "Published", "where": where}}))
        time.sleep(1)
        change = request("POST", "/classes/Published", {"n": 1, "text": "a" * 2_000})
        return Wave(port, spread(change, 20, senders), seconds=8).run()
    finally:
        for connection in connections:
            connection.close()
