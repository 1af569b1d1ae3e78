//! The signatures in a header, decoded. Most headers have one, which is kept in place; a header cannot cause more than a
//! few small allocations.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::encoding::Encoding;
use crate::limits::{SIGNATURE_HEADER_BYTES_MAX, SIGNATURES_MAX};
use crate::rejection::SignatureProblem;
use crate::scheme::{Algorithm, HeaderFormat, Scheme, SignatureKind};

/// The longest signature of any supported algorithm: ECDSA on P-256 in DER.
const SIGNATURE_BYTES_MAX: usize = 72;

/// The shortest signature in DER: two one-byte numbers.
const DER_SIGNATURE_BYTES_MIN: usize = 8;

/// The signatures of a known kind in a header, at most [`SIGNATURES_MAX`].
#[derive(Default)]
pub(crate) struct Candidates {
    first: Option<Candidate>,
    more: Vec<Candidate>,
}

#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    kind: usize,
    length: usize,
    bytes: [u8; SIGNATURE_BYTES_MAX],
}

impl Candidates {
    pub(super) fn has_kind(&self, kind: usize) -> bool {
        self.of_kind(kind).next().is_some()
    }

    pub(super) fn of_kind(&self, kind: usize) -> impl Iterator<Item = &[u8]> {
        self.first
            .iter()
            .chain(&self.more)
            .filter(move |candidate| candidate.kind == kind)
            .map(|candidate| &candidate.bytes[..candidate.length])
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    fn push(&mut self, candidate: Candidate) {
        if self.first.is_none() {
            self.first = Some(candidate);
        } else {
            self.more.push(candidate);
        }
    }
}

/// The first value of a key in a `key=value,key=value` header.
pub(super) fn value_of<'a>(scheme: &Scheme, header: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let separator = separator(scheme);
    header
        .split(|byte| *byte == separator)
        .filter_map(|entry| split_once(entry.trim_ascii(), b'='))
        .find(|(name, _)| *name == key.as_bytes())
        .map(|(_, value)| value)
}

/// Collects candidates from several headers.
#[derive(Default)]
pub(super) struct Collected {
    found: Candidates,
    undecodable: Option<Encoding>,
    seen: usize,
}

impl Collected {
    /// Parses a header. Entries of an unknown version and entries that cannot be decoded are skipped as long as a
    /// complete one remains.
    pub(super) fn add_header(
        &mut self,
        scheme: &Scheme,
        name: &str,
        value: &[u8],
    ) -> Result<(), SignatureProblem> {
        if value.len() > SIGNATURE_HEADER_BYTES_MAX {
            return Err(SignatureProblem::HeaderTooLong);
        }
        match &scheme.format {
            HeaderFormat::Plain {
                prefix,
                prefix_optional,
            } => {
                let text = match value.strip_prefix(prefix.as_bytes()) {
                    Some(text) => text,
                    None if *prefix_optional => value,
                    None => return Err(SignatureProblem::PrefixMissing),
                };
                self.add_plain(scheme, name, text)
            }
            HeaderFormat::KeyValue => {
                let separator = separator(scheme);
                let mut entries = value.split(|byte| *byte == separator);
                entries.try_for_each(|entry| self.add_labelled(scheme, entry, b'='))
            }
            HeaderFormat::Labelled => {
                let mut entries = value.split(|byte| *byte == b' ');
                entries.try_for_each(|entry| self.add_labelled(scheme, entry, b','))
            }
        }
    }

    fn add_plain(&mut self, scheme: &Scheme, name: &str, text: &[u8]) -> Result<(), SignatureProblem> {
        for (kind, description) in scheme.signatures.iter().enumerate() {
            if description.header.as_deref().is_none_or(|header| header == name) {
                self.add(kind, description, text)?;
            }
        }
        Ok(())
    }

    fn add_labelled(&mut self, scheme: &Scheme, entry: &[u8], separator: u8) -> Result<(), SignatureProblem> {
        let Some((label, text)) = split_once(entry.trim_ascii(), separator) else {
            return Ok(());
        };
        for (kind, description) in scheme.signatures.iter().enumerate() {
            if description.label.as_bytes() == label {
                self.add(kind, description, text)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, kind: usize, description: &SignatureKind, text: &[u8]) -> Result<(), SignatureProblem> {
        if self.seen == SIGNATURES_MAX {
            return Err(SignatureProblem::TooMany);
        }
        self.seen += 1;
        match decode(description, kind, text) {
            Some(candidate) => self.found.push(candidate),
            None => self.undecodable = Some(description.encoding),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Candidates, SignatureProblem> {
        match (self.found.count(), self.undecodable) {
            (0, Some(encoding)) => Err(SignatureProblem::NotDecodable(encoding)),
            (0, None) => Err(SignatureProblem::NoKnownVersion),
            (_, _) => Ok(self.found),
        }
    }
}

/// A complete signature with the algorithm's length, or `None`.
fn decode(description: &SignatureKind, kind: usize, text: &[u8]) -> Option<Candidate> {
    let lengths = match description.algorithm {
        Algorithm::HmacSha1 => 20..=20,
        Algorithm::HmacSha256 => 32..=32,
        Algorithm::HmacSha512 | Algorithm::Ed25519 => 64..=64,
        Algorithm::EcdsaP256 => DER_SIGNATURE_BYTES_MIN..=SIGNATURE_BYTES_MAX,
    };
    // Base64 decodes in blocks of three, so its buffer needs room for one more.
    let mut buffer = [0; SIGNATURE_BYTES_MAX + 3];
    let length = match description.encoding {
        Encoding::Hex => {
            let length = text.len() / 2;
            hex::decode_to_slice(text, buffer.get_mut(..length)?).ok()?;
            length
        }
        Encoding::Base64 => STANDARD.decode_slice(text, &mut buffer).ok()?,
    };
    if !lengths.contains(&length) {
        return None;
    }
    let mut bytes = [0; SIGNATURE_BYTES_MAX];
    bytes[..length].copy_from_slice(&buffer[..length]);
    Some(Candidate { kind, length, bytes })
}

/// Only ASCII characters separate entries.
fn separator(scheme: &Scheme) -> u8 {
    u8::try_from(scheme.separator).unwrap_or(b',')
}

fn split_once(entry: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = entry.iter().position(|byte| *byte == separator)?;
    Some((&entry[..at], &entry[at + 1..]))
}
