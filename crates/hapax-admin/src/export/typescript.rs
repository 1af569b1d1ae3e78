//! A test for `node --test` that delivers an event twice, using only Node's built-in modules.

use super::ExportedEvent;
use super::literal::{base64_lines, javascript, plain};

pub(super) fn text(exported: &ExportedEvent<'_>) -> String {
    let headers: Vec<String> = exported
        .headers
        .iter()
        .map(|(name, value)| format!("  [{}, {}],", javascript(name), javascript(value)))
        .collect();
    let body = plain(&exported.event.body).map_or_else(|| encoded(&exported.event.body), written);
    format!(
        r#"// {title}, delivered twice: both are answered 2xx.
// Add assertions about the effect, which must have happened exactly once. Run: WEBHOOK_URL=http://127.0.0.1:3000/ node --test
import assert from "node:assert/strict";
import {{ test }} from "node:test";

const url = process.env.WEBHOOK_URL ?? "http://127.0.0.1:3000/";
const headers: [string, string][] = [
{headers}
];
const body = {body};

async function deliver(): Promise<boolean> {{
  const answer = await fetch(url, {{ method: "POST", headers, body, redirect: "manual" }});
  await answer.arrayBuffer();
  return answer.ok;
}}

test("delivered twice", async () => {{
  assert.equal(await deliver(), true);
  assert.equal(await deliver(), true);
}});
"#,
        title = exported.title(),
        headers = headers.join("\n"),
    )
}

fn written(text: &str) -> String {
    format!("Buffer.from({}, \"utf8\")", javascript(text))
}

fn encoded(body: &[u8]) -> String {
    let lines = base64_lines(body);
    let lines: Vec<String> = lines.iter().map(|line| format!("  \"{line}\",")).collect();
    format!("Buffer.from([\n{}\n].join(\"\"), \"base64\")", lines.join("\n"))
}
