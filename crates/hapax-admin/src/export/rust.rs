//! A test in Rust that delivers an event twice, using only the standard library.

use super::ExportedEvent;
use super::literal::byte_string;

pub(super) fn text(exported: &ExportedEvent<'_>) -> String {
    let headers: Vec<String> = exported
        .headers
        .iter()
        .map(|(name, value)| format!("    ({name:?}, {value:?}),"))
        .collect();
    format!(
        r#"//! {title}, delivered twice: both are answered 2xx.
//! Add assertions about the effect, which must have happened exactly once. Put it into tests/ and run:
//! WEBHOOK_URL=http://127.0.0.1:3000/ cargo test

use std::io::{{Read, Write}};
use std::net::TcpStream;

const HEADERS: &[(&str, &str)] = &[
{headers}
];
const BODY: &[u8] = {body};

fn deliver() -> u16 {{
    let url = std::env::var("WEBHOOK_URL").unwrap_or_else(|_| "http://127.0.0.1:3000/".to_owned());
    let rest = url.strip_prefix("http://").expect("a URL that begins with http://");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') {{ host.to_owned() }} else {{ format!("{{host}}:80") }};
    let mut request = format!(
        "POST /{{path}} HTTP/1.1\r\nhost: {{host}}\r\nconnection: close\r\ncontent-length: {{}}\r\n",
        BODY.len()
    );
    for (name, value) in HEADERS {{
        request.push_str(&format!("{{name}}: {{value}}\r\n"));
    }}
    request.push_str("\r\n");
    let mut stream = TcpStream::connect(address).expect("the handler runs");
    stream.write_all(request.as_bytes()).expect("the head is taken");
    stream.write_all(BODY).expect("the body is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}}

#[test]
fn delivered_twice() {{
    for _ in 0..2 {{
        let status = deliver();
        assert!((200..300).contains(&status), "{{status}}");
    }}
}}
"#,
        title = exported.title(),
        headers = headers.join("\n"),
        body = byte_string(&exported.event.body),
    )
}
