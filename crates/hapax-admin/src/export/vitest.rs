//! A test for Vitest that signs the event with `hapax-webhooks`, delivers it twice, and compares the effects.

use super::literal::{javascript, javascript_bytes};
use super::signing_test::{Signer, SigningOption, SigningTest};

pub(super) fn text(test: &SigningTest) -> String {
    let event_type = test
        .event_type
        .as_deref()
        .map_or("undefined".to_owned(), javascript);
    let event_id = test.event_id.as_deref().map(javascript);
    let event_id = event_id.map_or_else(String::new, |id| format!("eventId: {id}, "));
    format!(
        r#"// {title}, delivered twice in several ways: it takes effect once.
// Import your application, return from `effects` what the event changes, and run: {secret}=… npx vitest run
import {{ Source }} from "hapax-webhooks";
import {{ twice }} from "hapax-webhooks/vitest";
import {{ test }} from "vitest";

import {{ app }} from "./app"; // of Express, Fastify or Hono, or the POST of a route handler

const path = "/webhooks";
const body = {body};

async function effects(): Promise<unknown> {{
  throw new Error("return what the event changes, such as the number of rows in a table");
}}

test("takes effect once", async () => {{
  const source = {source};
  await twice(app, source.sample({event_type}, {{ {event_id}path, body }}), {{ effects }});
}});
"#,
        title = test.title,
        secret = test.signer.secret(),
        body = javascript_bytes(&test.body),
        source = source(&test.signer),
    )
}

fn source(signer: &Signer) -> String {
    let secrets = format!("secrets: [{}]", variable(signer.secret()));
    let Signer::Provider {
        name,
        private_key,
        options,
        ..
    } = signer
    else {
        return format!("Source.hapax({{ {secrets} }})");
    };
    let mut settings = vec![secrets];
    if !options.is_empty() {
        let options: Vec<String> = options
            .iter()
            .map(|(name, value)| format!("{}: {}", javascript(name), option(value)))
            .collect();
        settings.push(format!("options: {{ {} }}", options.join(", ")));
    }
    if let Some(private_key) = private_key {
        settings.push(format!("signingSecret: {}", variable(private_key)));
    }
    format!(
        "Source.provider({}, {{ {} }})",
        javascript(name),
        settings.join(", ")
    )
}

fn option(value: &SigningOption) -> String {
    match value {
        SigningOption::Text(text) => javascript(text),
        SigningOption::List(list) => {
            let list: Vec<String> = list.iter().map(|text| javascript(text)).collect();
            format!("[{}]", list.join(", "))
        }
        SigningOption::Secret(name) => variable(name),
        SigningOption::Secrets(name) => format!("JSON.parse({})", variable(name)),
    }
}

/// The package refuses a secret that is missing, and says so.
fn variable(name: &str) -> String {
    format!("process.env.{name}!")
}
