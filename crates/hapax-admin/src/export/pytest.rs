//! A test for pytest that signs the event with `hapax-webhooks`, delivers it twice, and compares the effects.

use std::fmt::Write as _;

use super::literal::byte_string;
use super::signing_test::{Signer, SigningOption, SigningTest};

/// Bytes of the body per line.
const LINE_BYTES: usize = 80;

pub(super) fn text(test: &SigningTest) -> String {
    let lines = test
        .body
        .chunks(LINE_BYTES)
        .map(|line| format!("    {}", byte_string(line)));
    let body: Vec<String> = lines.collect();
    let source = source(&test.signer);
    let imports = if source.contains("json.") {
        "import json\nimport os"
    } else {
        "import os"
    };
    let event_type = test.event_type.as_deref().map(string);
    let event_type = event_type.map_or_else(String::new, |event_type| format!("{event_type}, "));
    let event_id = test.event_id.as_deref().map(string);
    let event_id = event_id.map_or_else(String::new, |id| format!("event_id={id}, "));
    format!(
        r#"# {title}, delivered twice in several ways: it takes effect once.
# Import your application, return from `effects` what the event changes, and run: {secret}=… pytest
{imports}

from hapax_webhooks import Source
from hapax_webhooks.testing import twice

from app import app  # ASGI or WSGI

BODY = (
{body}
)


def effects():
    raise NotImplementedError("return what the event changes, such as the number of rows in a table")


def test_takes_effect_once():
    source = {source}
    twice(app, source.sample({event_type}{event_id}body=BODY), effects=effects)
"#,
        title = test.title,
        secret = test.signer.secret(),
        body = if body.is_empty() {
            "    b\"\"".to_owned()
        } else {
            body.join("\n")
        },
    )
}

fn source(signer: &Signer) -> String {
    let secrets = format!("[{}]", variable(signer.secret()));
    let Signer::Provider {
        name,
        private_key,
        options,
        ..
    } = signer
    else {
        return format!("Source.hapax({secrets})");
    };
    let mut settings = vec![string(name), secrets];
    if !options.is_empty() {
        let options: Vec<String> = options
            .iter()
            .map(|(name, value)| format!("{}: {}", string(name), option(value)))
            .collect();
        settings.push(format!("options={{{}}}", options.join(", ")));
    }
    if let Some(private_key) = private_key {
        settings.push(format!("signing_secret={}", variable(private_key)));
    }
    format!("Source.provider({})", settings.join(", "))
}

fn option(value: &SigningOption) -> String {
    match value {
        SigningOption::Text(text) => string(text),
        SigningOption::List(list) => {
            let list: Vec<String> = list.iter().map(|text| string(text)).collect();
            format!("[{}]", list.join(", "))
        }
        SigningOption::Secret(name) => variable(name),
        SigningOption::Secrets(name) => format!("json.loads({})", variable(name)),
    }
}

fn variable(name: &str) -> String {
    format!("os.environ[{}]", string(name))
}

/// A string literal of ASCII.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            ' '..='~' => literal.push(letter),
            _ => {
                let _ = write!(literal, "\\U{:08x}", u32::from(letter));
            }
        }
    }
    literal.push('"');
    literal
}
