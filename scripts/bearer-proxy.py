#!/usr/bin/env python3
"""A loopback proxy that adds `Authorization: Bearer TOKEN`, for tools that cannot send a header.

    bearer-proxy.py http://127.0.0.1:PORT/PATH TOKEN

Prints its own URL for the same path. It writes its target's address where its own stands in Host and Origin and changes
nothing else, so that a foreign Host or Origin stays foreign. One request a connection; ends when standard input closes.
"""
import socket
import sys
import threading
from urllib.parse import urlsplit

target = urlsplit(sys.argv[1])
token = sys.argv[2]
listener = socket.create_server(("127.0.0.1", 0))
own = "127.0.0.1:%d" % listener.getsockname()[1]
theirs = "%s:%d" % (target.hostname, target.port)


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def rewritten(head):
    lines = head.decode("latin-1").split("\r\n")
    kept = [lines[0]]
    for line in lines[1:]:
        name = line.split(":", 1)[0].strip().lower()
        if name in ("connection", "keep-alive", "authorization"):
            continue
        if name in ("host", "origin"):
            for alias in ("127.0.0.1", "localhost", "[::1]"):
                port = own.rsplit(":", 1)[1]
                if line.endswith(alias + ":" + port):
                    line = line[: -len(port)] + str(target.port)
        kept.append(line)
    kept += ["Connection: close", "Authorization: Bearer " + token]
    return "\r\n".join(kept).encode("latin-1") + b"\r\n\r\n"


def serve(client):
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            more = client.recv(65536)
            if not more:
                return client.close()
            data += more
        head, rest = data.split(b"\r\n\r\n", 1)
        server = socket.create_connection((target.hostname, target.port), timeout=10)
        server.settimeout(None)
        server.sendall(rewritten(head) + rest)
    except OSError:
        return client.close()
    threading.Thread(target=copy, args=(client, server), daemon=True).start()
    copy(server, client)
    client.close()
    server.close()


def accept():
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


print("http://%s%s" % (own, target.path), flush=True)
threading.Thread(target=accept, daemon=True).start()
sys.stdin.read()
