"""Takes a request only if the signature of Hapax is right, by two libraries that know nothing of Hapax."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook as Standard
from svix.webhooks import Webhook as Svix

SECRET = os.environ["SIGNING_SECRET"]
LIBRARIES = [Svix(SECRET), Standard(SECRET)]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            for library in LIBRARIES:
                library.verify(body, headers)
            self.send_response(204)
        except Exception as error:
            print(repr(error), headers, flush=True)
            self.send_response(401)
            self.send_header("hapax-retry", "no")
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
