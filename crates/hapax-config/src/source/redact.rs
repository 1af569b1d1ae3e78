//! `redact`: fields of bodies that are hidden from people.

use super::super::section::Section;
use crate::redact::{RedactedField, Redaction};

/// The most hidden fields per source: each of them is searched for whenever an event is shown.
const REDACTED_MAX: usize = 64;

pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Redaction {
    let mut fields = Vec::new();
    for (path, text) in section.texts("redact").unwrap_or_default() {
        match text.parse::<RedactedField>() {
            Ok(field) => fields.push(field),
            Err(problem) => section.report.problem(&path, format_args!("{problem}")),
        }
    }
    if fields.len() > REDACTED_MAX {
        section.problem("redact", format_args!("at most {REDACTED_MAX} fields"));
    }
    fields.into_iter().collect()
}
