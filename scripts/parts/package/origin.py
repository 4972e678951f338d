#!/usr/bin/env python3
"""origin.py DIR [ADDRESS PORT RATE]: serves the files of DIR, and writes a line for each request to DIR/requests.

It listens on port 8000 of loopback. With RATE, it sends at most this many bytes a second in each response.

For the file "large", a request without Range gets the first half, and then nothing until the client disconnects. A request
with Range gets the rest. So the file becomes complete only if a client resumes it.
"""

import http.server
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(sys.argv[1])
ADDRESS, PORT, RATE = sys.argv[2:] or ("127.0.0.1", "8000", "0")
# How often a limited response sends a piece, per second.
PIECES = 10


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.strip("/")
        body = (ROOT / name).read_bytes()
        asked = self.headers.get("Range", "")
        with (ROOT / "requests").open("a") as log:
            log.write(f"{name} {asked}\n")
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked)
        first = int(match[1]) if match else 0
        last = int(match[2]) if match and match[2] else len(body) - 1
        self.send_response(206 if match else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", '"1"')
        self.send_header("Accept-Ranges", "bytes")
        if match:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.end_headers()
        if name == "large" and not match:
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            self.connection.recv(1)
            self.close_connection = True
        elif int(RATE):
            piece = int(RATE) // PIECES
            for start in range(first, last + 1, piece):
                self.wfile.write(body[start:min(start + piece, last + 1)])
                time.sleep(1 / PIECES)
        else:
            self.wfile.write(body[first:last + 1])

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((ADDRESS, int(PORT)), Handler).serve_forever()
