//! The relevant parts of an X.509 certificate: its validity, its subject and its public key.
//!
//! Signers' certificates come without their issuers, so no chain can be checked: trust rests on the host that the
//! certificate was fetched from. The parser reads DER strictly and stops at the first irregularity.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::instant::{decimal, unix_seconds};

/// The maximum size of a certificate, in bytes.
const CERTIFICATE_BYTES_MAX: usize = 16 * 1024;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT_ID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
/// Printable, UTF-8 and IA5 strings: the types in which host names are written.
const STRINGS: [u8; 3] = [0x13, 0x0c, 0x16];
/// 2.5.4.3
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// A parsed certificate, not yet trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    /// The public key as a `SubjectPublicKeyInfo` in DER.
    pub(super) public_key: Vec<u8>,
    /// The only common name of its subject; `None` if there is none or more than one.
    pub(super) common_name: Option<String>,
    not_before: i64,
    not_after: i64,
}

impl Certificate {
    /// The first certificate in a PEM text.
    pub(super) fn from_pem(text: &str) -> Option<Self> {
        Self::from_der(&pem_block(text, "CERTIFICATE")?)
    }

    /// Whether it is valid at this time, in Unix seconds.
    pub(super) fn is_valid_at(&self, time: i64) -> bool {
        (self.not_before..=self.not_after).contains(&time)
    }

    fn from_der(der: &[u8]) -> Option<Self> {
        let (outer, rest) = Reader(der).enter(SEQUENCE)?;
        if !rest.0.is_empty() {
            return None;
        }
        let (mut signed, _) = outer.enter(SEQUENCE)?;
        if signed.peek() == Some(VERSION) {
            signed.take(VERSION)?;
        }
        signed.take(INTEGER)?;
        signed.take(SEQUENCE)?;
        signed.take(SEQUENCE)?;
        let mut validity = Reader(signed.take(SEQUENCE)?.content);
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = Reader(signed.take(SEQUENCE)?.content);
        let public_key = signed.take(SEQUENCE)?.whole.to_vec();
        Some(Certificate {
            public_key,
            common_name: only(common_names(subject)?),
            not_before,
            not_after,
        })
    }
}

/// The bytes of the first block with this label in a PEM text.
pub(crate) fn pem_block(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (inside, _) = rest.split_once(&format!("-----END {label}-----"))?;
    if inside.len() > CERTIFICATE_BYTES_MAX {
        return None;
    }
    let encoded: String = inside
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .collect();
    STANDARD.decode(encoded).ok()
}

/// The unread rest of some DER.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

struct Element<'a> {
    content: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Takes the next element, which must have this tag.
    fn take(&mut self, tag: u8) -> Option<Element<'a>> {
        let all = self.0;
        if self.peek()? != tag {
            return None;
        }
        let (header, length) = match *all.get(1)? {
            short @ 0..=0x7f => (2, usize::from(short)),
            0x81 => (3, usize::from(*all.get(2)?)),
            0x82 => (4, usize::from(*all.get(2)?) << 8 | usize::from(*all.get(3)?)),
            // A longer length exceeds the maximum size.
            _ => return None,
        };
        let (whole, rest) = all.split_at_checked(header + length)?;
        self.0 = rest;
        Some(Element {
            content: whole.get(header..)?,
            whole,
        })
    }

    /// Enters the next element; returns its content and what follows it.
    fn enter(mut self, tag: u8) -> Option<(Reader<'a>, Reader<'a>)> {
        let inside = Reader(self.take(tag)?.content);
        Some((inside, self))
    }
}

fn only(mut names: Vec<String>) -> Option<String> {
    (names.len() == 1).then(|| names.pop()).flatten()
}

/// All common names of a subject.
fn common_names(mut subject: Reader<'_>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    while subject.peek().is_some() {
        let mut set = Reader(subject.take(SET)?.content);
        while set.peek().is_some() {
            let mut attribute = Reader(set.take(SEQUENCE)?.content);
            if attribute.take(OBJECT_ID)?.content != COMMON_NAME {
                continue;
            }
            let tag = attribute.peek()?;
            let text = STRINGS.contains(&tag).then(|| attribute.take(tag)).flatten()?;
            found.push(String::from_utf8(text.content.to_vec()).ok()?);
        }
    }
    Some(found)
}

/// `YYMMDDHHMMSSZ` up to 2049, `YYYYMMDDHHMMSSZ` from then on.
fn time(validity: &mut Reader<'_>) -> Option<i64> {
    let tag = validity.peek()?;
    let text = std::str::from_utf8(validity.take(tag)?.content).ok()?;
    let digits = text.strip_suffix('Z')?;
    let (year, rest) = match (tag, digits.len()) {
        (UTC_TIME, 12) => {
            let year = decimal(digits.get(..2)?)?;
            (
                if year < 50 { 2000 + year } else { 1900 + year },
                digits.get(2..)?,
            )
        }
        (GENERALIZED_TIME, 14) => (decimal(digits.get(..4)?)?, digits.get(4..)?),
        _ => return None,
    };
    let part = |from: usize| decimal(rest.get(from..from + 2)?);
    unix_seconds([year, part(0)?, part(2)?, part(4)?, part(6)?, part(8)?])
}
