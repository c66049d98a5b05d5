"""Serves debug files over HTTP as debuginfod does, or fails in one of the ways that servers fail."""
from __future__ import annotations

import http.server
import os
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request
from typing import Callable


class DebugServer:
    """A server of this process. `answer` receives the handler and the build ID of a request. The
    requests are in `asked`."""

    def __init__(self, case: unittest.TestCase, answer: Callable) -> None:
        self.asked: list[str] = []
        self.ended = threading.Event()  # for answers that never come
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                build_id = self.path.split("/")[-2]
                outer.asked.append(build_id)
                try:
                    answer(self, build_id)
                except OSError:
                    pass  # the client has left
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"

        def end() -> None:
            self.ended.set()
            server.shutdown()
            thread.join()
            server.server_close()

        case.addCleanup(end)


def send(handler: http.server.BaseHTTPRequestHandler, content: bytes, length: int = -1) -> None:
    """Answers with a file; `length` is the stated one."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content) if length < 0 else length))
    handler.end_headers()
    handler.wfile.write(content)


def start_debuginfod(case: unittest.TestCase, folder: str, build_id: str) -> str:
    """Starts a debuginfod over the files of a folder. Returns its URL once it has the build ID."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
    server = subprocess.Popen(
        ["debuginfod", "-F", "-d", ":memory:", "-p", str(port), folder],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end() -> None:
        server.kill()
        server.wait()

    case.addCleanup(end)
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=10):
                return url
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError("debuginfod does not serve the file")
