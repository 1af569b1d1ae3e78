//! A shell script that delivers an event again with curl.

use hapax_core::{StoredEvent, Timestamp};

use super::literal::{base64_lines, plain, shell};
use super::resign::{PLACEHOLDER, Resigned};
use super::title;

/// A body of more bytes is not put on a line of its own.
const INLINE_BYTES_MAX: usize = 16 * 1024;

pub(super) fn text(event: &StoredEvent, request: &Resigned, now: Timestamp) -> String {
    let mut lines = vec![
        "#!/bin/sh".to_owned(),
        format!(
            "# {}, once more, signed at {now} with the first secret of its source.",
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
    // Without a type of the sender's, curl would send one of its own.
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

/// Reads the secret from the environment where a placeholder stands: as it is, in a query, or in basic authentication.
fn with_token(line: &str) -> String {
    const OF_QUERY: &str = "TOKEN%3ATOKEN";
    const OF_BASIC: &str = "VE9LRU46VE9LRU4=";
    line.replace(PLACEHOLDER, r#"'"$TOKEN"'"#)
        .replace(OF_QUERY, r#"'"$TOKEN"'"#)
        .replace(OF_BASIC, r#"'"$(printf %s "$TOKEN" | base64 | tr -d '\n')"'"#)
}

fn header(name: &str, value: &str) -> String {
    // `name:` without a value would take the header away.
    let text = if value.is_empty() {
        format!("{name};")
    } else {
        format!("{name}: {value}")
    };
    format!("  --header {} \\", shell(&text))
}
