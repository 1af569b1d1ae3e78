//! `redact`: fields of bodies that are hidden from people.

use crate::redact::{RedactedField, Redaction};
use crate::section::Section;
use crate::setting::Key;

pub(super) static REDACT: Key<Vec<String>> = Key::with_default(
    "redact",
    "[]",
    "Body fields that are hidden from everyone in the dashboard, the API, exports and logs, such as `[\"/data/object/email\", \"/items/*/name\"]`; `*` is every item; in a form, `/email` is the field `email`. Destinations get the original. At most 64.",
)
.named("list of JSON pointers");

/// The most hidden fields per source: each of them is searched for whenever an event is shown.
const REDACTED_MAX: usize = 64;

pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Redaction {
    let mut fields = Vec::new();
    for (path, text) in section.list(&REDACT) {
        match text.parse::<RedactedField>() {
            Ok(field) => fields.push(field),
            Err(problem) => section.report.problem(&path, format_args!("{problem}")),
        }
    }
    if fields.len() > REDACTED_MAX {
        section.problem(&REDACT, format_args!("at most {REDACTED_MAX} fields"));
    }
    fields.into_iter().collect()
}
