//! A test for `node --test` that delivers an event twice, using only Node's built-in modules.

use super::ExportedEvent;
use super::literal::{javascript, javascript_bytes};

pub(super) fn text(exported: &ExportedEvent<'_>) -> String {
    let headers: Vec<String> = exported
        .headers
        .iter()
        .map(|(name, value)| format!("  [{}, {}],", javascript(name), javascript(value)))
        .collect();
    let body = javascript_bytes(&exported.event.body);
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
