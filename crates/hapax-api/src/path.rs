//! Percent-encoding of paths and queries: a provider's id can contain any character.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything except letters, digits and `-_~`. Dots are encoded, too: a segment of dots would be resolved as a relative
/// path along the way.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// One path segment.
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A query string, built parameter by parameter.
#[derive(Clone, Debug, Default)]
pub struct Parameters(String);

impl Parameters {
    /// Adds a parameter if it has a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.0.push(if self.0.is_empty() { '?' } else { '&' });
            self.0.push_str(name);
            self.0.push('=');
            self.0.push_str(&segment(&value.to_string()));
        }
        self
    }

    /// `path` with the parameters appended.
    pub fn on(&self, path: &str) -> String {
        format!("{path}{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_cannot_leave_its_place() {
        assert_eq!(segment("a/b?c#d%3A é"), "a%2Fb%3Fc%23d%253A%20%C3%A9");
        assert_eq!(segment(".."), "%2E%2E");
    }

    #[test]
    fn absent_parameters_are_left_out() {
        let parameters = Parameters::default()
            .with("a", Some("1&2"))
            .with("b", None::<&str>)
            .with("c", Some(3));
        assert_eq!(parameters.on("events"), "events?a=1%262&c=3");
        assert_eq!(Parameters::default().on("events"), "events");
    }
}
