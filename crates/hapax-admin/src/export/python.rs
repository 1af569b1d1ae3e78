//! A test for pytest that delivers an event twice, using only the standard library.

use super::ExportedEvent;
use super::literal::byte_string;

/// Bytes of the body per line.
const LINE_BYTES: usize = 80;

pub(super) fn text(exported: &ExportedEvent<'_>) -> String {
    let headers: Vec<String> = exported
        .headers
        .iter()
        .map(|(name, value)| format!("    ({}, {}),", string(name), string(value)))
        .collect();
    let body: Vec<String> = exported
        .event
        .body
        .chunks(LINE_BYTES)
        .map(|line| format!("    {}", byte_string(line)))
        .collect();
    let body = if body.is_empty() {
        "    b\"\"".to_owned()
    } else {
        body.join("\n")
    };
    format!(
        r#"# {title}, delivered twice: both are answered 2xx.
# Add assertions about the effect, which must have happened exactly once. Run: WEBHOOK_URL=http://127.0.0.1:3000/ pytest
import os
import urllib.request

URL = os.environ.get("WEBHOOK_URL", "http://127.0.0.1:3000/")
HEADERS = [
{headers}
]
BODY = (
{body}
)


def deliver():
    request = urllib.request.Request(URL, data=BODY, method="POST")
    for name, value in HEADERS:
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status


def test_delivered_twice():
    assert 200 <= deliver() < 300
    assert 200 <= deliver() < 300
"#,
        title = exported.title(),
        headers = headers.join("\n"),
    )
}

/// Header values are printable ASCII, so only quotes and backslashes need escaping.
fn string(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
