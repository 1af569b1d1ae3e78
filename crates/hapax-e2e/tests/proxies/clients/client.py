"""Posts a body of zeros with Python's http.client, which sends everything before it reads: client.py URL BYTES TIMES

Prints a line for each request: its status, or the error.
"""

import http.client
import sys
import urllib.parse

url, length, times = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
body = bytes(length)
for _ in range(times):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    try:
        connection.request("POST", url.path, body)
        answer = connection.getresponse()
        answer.read()
        print(answer.status, flush=True)
    except OSError as error:
        print(repr(error), flush=True)
    finally:
        connection.close()
