//! A shell script that redelivers an event with curl.

use hapax_core::{StoredEvent, Timestamp};

use super::literal::{base64_lines, plain, shell};
use super::resign::{PLACEHOLDER, Resigned};
use super::title;

/// Maximum size of a body that is written as text.
const INLINE_BYTES_MAX: usize = 16 * 1024;

pub(super) fn text(event: &StoredEvent, request: &Resigned, now: Timestamp) -> String {
    let mut lines = vec![
        "#!/bin/sh".to_owned(),
        format!(
            "# {}, signed again at {now} with the first secret of its source.",
            title(event)
        ),
    ];
    lines.extend(request.notes.iter().map(|note| format!("# {note}")));
    if request.sends_secret {
        lines.push(r#": "${TOKEN:?}""#.to_owned());
    }
    if let Some(text) = plain(&request.body).filter(|text| text.len() <= INLINE_BYTES_MAX) {
        lines.push(format!("printf '%s' {} |", shell(text)));
    } else {
        lines.push("base64 -d <<'END_OF_BODY' |".to_owned());
        lines.extend(base64_lines(&request.body));
        lines.push("END_OF_BODY".to_owned());
    }
    lines.extend(command(request));
    lines.join("\n") + "\n"
}

fn command(request: &Resigned) -> Vec<String> {
    let mut lines =
        vec!["curl --silent --show-error --include --globoff --request POST --data-binary @- \\".to_owned()];
    // If the provider sent no content type, curl would add its own.
    let has_type = request.headers.iter().any(|(name, _)| name == "content-type");
    if !has_type {
        lines.push("  --header 'content-type:' \\".to_owned());
    }
    lines.extend(request.headers.iter().map(|(name, value)| header(name, value)));
    lines.push(format!("  {}", shell(&request.url)));
    if request.sends_secret {
        for line in &mut lines {
            *line = with_token(line);
        }
    }
    lines
}

/// Replaces the placeholder with the secret from the environment: as is, in a query, or in basic authentication.
fn with_token(line: &str) -> String {
    const OF_QUERY: &str = "TOKEN%3ATOKEN";
    const OF_BASIC: &str = "VE9LRU46VE9LRU4=";
    line.replace(PLACEHOLDER, r#"'"$TOKEN"'"#)
        .replace(OF_QUERY, r#"'"$TOKEN"'"#)
        .replace(OF_BASIC, r#"'"$(printf %s "$TOKEN" | base64 | tr -d '\n')"'"#)
}

fn header(name: &str, value: &str) -> String {
    // `name:` without a value would remove the header.
    let text = if value.is_empty() {
        format!("{name};")
    } else {
        format!("{name}: {value}")
    };
    format!("  --header {} \\", shell(&text))
}
