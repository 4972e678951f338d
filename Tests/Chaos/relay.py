"""Stands between one worker and the database: delays the traffic, and loses replies."""

import socket
import threading
import time

import place


class Relay:
    def __init__(self, port=6432):
        self.delay, self.loses, self.lost = 0.0, False, 0
        self.listener = socket.create_server((place.SERVER, port))
        self.address = f"host={place.SERVER} port={port} user=postgres dbname=haul"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection((place.SERVER, 5432), 5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for ends in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.pass_on, args=ends, daemon=True).start()

    def pass_on(self, source, sink, is_reply):
        try:
            while data := source.recv(65536):
                if self.delay:
                    time.sleep(self.delay)  # this pause is the latency that the relay adds
                # ReadyForQuery ends the server's reply to a statement: its effect is committed by now.
                if is_reply and self.loses and data.endswith(b"Z\0\0\0\5I"):
                    self.lost += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
