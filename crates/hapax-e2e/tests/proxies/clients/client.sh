#!/bin/sh
# Posts a body of zeros with curl: client.sh URL BYTES TIMES
# Prints a line for each request: its status, or the error.
body=$(mktemp)
trap 'rm -f "$body"' EXIT
head -c "$2" /dev/zero >"$body"
for _ in $(seq "$3"); do
    curl -sS -o /dev/null -w '%{http_code}\n' -H expect: --data-binary "@$body" "$1" 2>&1
done
