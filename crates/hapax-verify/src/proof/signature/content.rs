//! The signed content of one request: the template's parts, borrowed from the request and never joined.

use crate::rejection::{Rejection, SignatureProblem};
use crate::request::{Headers, Request};
use crate::scheme::{Part, Template};

/// The values of a template's placeholders in one request.
pub(super) struct Content<'a> {
    pub(super) template: &'a Template,
    pub(super) id: &'a [u8],
    pub(super) timestamp: Option<&'a [u8]>,
    pub(super) method: &'a str,
    pub(super) url: &'a str,
    pub(super) body: &'a [u8],
    pub(super) headers: &'a dyn Headers,
}

/// Why the content cannot be assembled.
pub(super) enum ContentFault {
    HeaderMissing(String),
    Problem(SignatureProblem),
}

impl<'a> Content<'a> {
    pub(super) fn new(
        template: &'a Template,
        request: &Request<'a>,
        url: &'a str,
        id: Option<&'a [u8]>,
        timestamp: Option<&'a [u8]>,
    ) -> Result<Self, ContentFault> {
        let content = Content {
            template,
            id: id.unwrap_or_default(),
            timestamp,
            method: request.method,
            url,
            body: request.body,
            headers: request.headers,
        };
        content.check()?;
        Ok(content)
    }

    pub(super) fn timestamp(&self) -> Option<&'a [u8]> {
        self.timestamp
    }

    /// Passes each part to `sink`, in order.
    pub(super) fn for_each(&self, mut sink: impl FnMut(&[u8])) {
        for part in self.template.parts() {
            sink(self.value(part).unwrap_or_default());
        }
    }

    pub(super) fn value<'b>(&'b self, part: &'b Part) -> Option<&'b [u8]> {
        match part {
            Part::Literal(text) => Some(text.as_bytes()),
            Part::Timestamp => self.timestamp,
            Part::Id => Some(self.id),
            Part::Body => Some(self.body),
            Part::Url => Some(self.url.as_bytes()),
            Part::Method => Some(self.method.as_bytes()),
            Part::Header(name) => self.headers.get(name),
        }
    }

    fn check(&self) -> Result<(), ContentFault> {
        let parts = self.template.parts();
        for (index, part) in parts.iter().enumerate() {
            self.require(part)?;
            let Some(Part::Literal(separator)) = parts.get(index + 1) else {
                continue;
            };
            // If a value could contain the separator that follows it, or the beginning of it, the boundary between the
            // two parts could be moved, and one signature would be valid for two requests.
            let value = self.chosen_by_sender(part).unwrap_or_default();
            if contains_start_of(value, separator.as_bytes()) {
                return Err(ContentFault::Problem(SignatureProblem::Ambiguous));
            }
        }
        Ok(())
    }

    fn require(&self, part: &Part) -> Result<(), ContentFault> {
        match part {
            Part::Url if self.url.is_empty() => Err(ContentFault::Problem(SignatureProblem::UrlUnknown)),
            Part::Header(name) if self.headers.get(name).is_none() => {
                Err(ContentFault::HeaderMissing(name.clone()))
            }
            Part::Literal(_)
            | Part::Timestamp
            | Part::Id
            | Part::Body
            | Part::Url
            | Part::Method
            | Part::Header(_) => Ok(()),
        }
    }

    /// The value of a part that the client can choose freely, other than the body.
    fn chosen_by_sender<'b>(&'b self, part: &'b Part) -> Option<&'b [u8]> {
        match part {
            Part::Timestamp | Part::Id | Part::Header(_) => self.value(part),
            Part::Literal(_) | Part::Body | Part::Url | Part::Method => None,
        }
    }
}

impl ContentFault {
    pub(super) fn into_rejection(self, signature_header: &str) -> Rejection {
        match self {
            ContentFault::HeaderMissing(header) => Rejection::SignatureMissing { header },
            ContentFault::Problem(problem) => Rejection::SignatureInvalid {
                header: signature_header.to_owned(),
                problem,
            },
        }
    }
}

/// Whether a value contains the separator that follows it, or ends with the beginning of it.
fn contains_start_of(value: &[u8], separator: &[u8]) -> bool {
    (0..value.len()).any(|at| {
        let rest = &value[at..];
        let length = rest.len().min(separator.len());
        // Behind the end of the value comes the separator itself.
        rest[..length] == separator[..length] && separator.starts_with(&separator[length..])
    })
}

/// The content in one piece, for algorithms that cannot process it part by part.
pub(super) fn concatenate(content: &Content<'_>) -> Vec<u8> {
    let mut joined = Vec::with_capacity(content.body.len() + 128);
    content.for_each(|part| joined.extend_from_slice(part));
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of up to this many of the letters `a` and `b`.
    fn texts(length_max: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..length_max {
            let longer = |text: &Vec<u8>| [b'a', b'b'].map(|letter| [&text[..], &[letter]].concat());
            last = last.iter().flat_map(longer).collect();
            all.extend(last.clone());
        }
        all
    }

    #[test]
    fn a_border_is_clear_if_the_separator_begins_nowhere_before_it() {
        for separator in texts(3).iter().filter(|separator| !separator.is_empty()) {
            for value in texts(5) {
                let joined = [&value[..], &separator[..]].concat();
                let mut windows = joined.windows(separator.len());
                let first = windows.position(|window| window == &separator[..]);
                assert_eq!(
                    contains_start_of(&value, separator),
                    first != Some(value.len()),
                    "{value:?} before {separator:?}"
                );
            }
        }
    }
}
