//! A shell script that delivers an event again with curl.

use hapax_core::{StoredEvent, Timestamp};

use super::literal::{base64_lines, plain, shell};
use super::resign::Resigned;
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
    lines
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
