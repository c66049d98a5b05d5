"""A proxy between LLDB and a server of its remote protocol, which changes the server's packets.

    with RemoteProxy(port_of_the_server, lambda packet: packet.replace(b"…", b"…")) as proxy:
        run_lldb([f"gdb-remote localhost:{proxy.port}", …], …)

A packet is `$PACKET#SUM`; SUM is the sum of the packet's bytes, modulo 256, in two hex digits
(https://sourceware.org/gdb/current/onlinedocs/gdb.html/Overview.html).
"""
from __future__ import annotations

import re
import socket
import threading
from typing import Callable

_PACKET = re.compile(rb"\$([^$#]*)#[0-9a-f]{2}")


class RemoteProxy:
    def __init__(self, port: int, change: Callable[[bytes], bytes]) -> None:
        self._server_port = port
        self._change = change
        self._listener = socket.create_server(("localhost", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> "RemoteProxy":
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection(("localhost", self._server_port)) as server:
            commands = threading.Thread(target=self._pass_on, args=(client, server), daemon=True)
            commands.start()
            rest = b""
            while data := server.recv(65536):
                whole, rest = self._rewritten(rest + data)
                client.sendall(whole)
            client.shutdown(socket.SHUT_RDWR)
            commands.join()

    def _rewritten(self, data: bytes) -> tuple[bytes, bytes]:
        """Returns the data to send, and the beginning of an incomplete packet."""
        at = data.rfind(b"$")
        if at >= 0 and not re.search(rb"#[0-9a-f]{2}", data[at:]):
            data, rest = data[:at], data[at:]
        else:
            rest = b""
        return _PACKET.sub(self._packet, data), rest

    def _packet(self, match: re.Match[bytes]) -> bytes:
        packet = self._change(match[1])
        return b"$" + packet + b"#%02x" % (sum(packet) % 256)

    @staticmethod
    def _pass_on(client: socket.socket, server: socket.socket) -> None:
        try:
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other end is gone
