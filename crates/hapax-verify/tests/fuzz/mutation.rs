//! The mutations of a request.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::seeds::{Draft, seeds};

/// The maximum number of mutations of one request.
const STEPS_MAX: usize = 6;

/// The longest run of bytes that is repeated or taken from another vector.
const RUN_BYTES_MAX: usize = 4096;

/// The part whose bytes are changed.
#[derive(Debug, Clone)]
pub(crate) enum TamperedPart {
    Body,
    Header(Index),
    Url,
}

#[derive(Debug, Clone)]
pub(crate) enum Mutation {
    FlipBit(TamperedPart, Index, u8),
    Cut(TamperedPart, Index),
    Remove(TamperedPart, Index, Index),
    Repeat(TamperedPart, Index, Index),
    Insert(TamperedPart, Index, Vec<u8>),
    /// Replaces the end with that of another vector.
    Splice(TamperedPart, Index, Index),
    SwapHeaders(Index, Index),
    DropHeader(Index),
    /// Adds a header of another vector before its own.
    BorrowHeader(Index, Index),
    BorrowUrl(Index),
    Method(&'static str),
    ReceivedAt(i64),
}

pub(crate) fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    proptest::collection::vec(mutation(), 1..=STEPS_MAX)
}

fn place() -> impl Strategy<Value = TamperedPart> {
    prop_oneof![
        4 => Just(TamperedPart::Body),
        4 => any::<Index>().prop_map(TamperedPart::Header),
        1 => Just(TamperedPart::Url),
    ]
}

/// Bytes that often break parsers, and arbitrary ones.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..8),
        proptest::sample::select(vec![
            "\0",
            "\n",
            "\r\n",
            "=",
            ",",
            ";",
            ".",
            " ",
            "\"",
            "\\",
            "\\u0000",
            "{",
            "}",
            "[[[[",
            "null",
            "-1",
            "99999999999999999999",
            "v1,",
            "sha256=",
            "t=",
            "&",
            "%",
            "+",
            "\u{feff}",
            "é",
            "a.b.c",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let two = || any::<(Index, Index)>();
    prop_oneof![
        4 => (place(), any::<Index>(), 0..8_u8).prop_map(|(place, at, bit)| Mutation::FlipBit(place, at, bit)),
        2 => (place(), any::<Index>()).prop_map(|(place, at)| Mutation::Cut(place, at)),
        2 => (place(), two()).prop_map(|(place, (from, to))| Mutation::Remove(place, from, to)),
        2 => (place(), two()).prop_map(|(place, (from, to))| Mutation::Repeat(place, from, to)),
        4 => (place(), any::<Index>(), bytes()).prop_map(|(place, at, bytes)| Mutation::Insert(place, at, bytes)),
        2 => (place(), two()).prop_map(|(place, (at, other))| Mutation::Splice(place, at, other)),
        1 => two().prop_map(|(one, other)| Mutation::SwapHeaders(one, other)),
        1 => any::<Index>().prop_map(Mutation::DropHeader),
        2 => two().prop_map(|(seed, header)| Mutation::BorrowHeader(seed, header)),
        1 => any::<Index>().prop_map(Mutation::BorrowUrl),
        1 => proptest::sample::select(vec!["GET", "HEAD", "OPTIONS", "POST", ""]).prop_map(Mutation::Method),
        1 => any::<i64>().prop_map(Mutation::ReceivedAt),
    ]
}

impl Mutation {
    pub(crate) fn apply(&self, draft: &mut Draft) {
        match self {
            Mutation::FlipBit(place, at, bit) => change(draft, place, |bytes| {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= 1 << bit;
                }
            }),
            Mutation::Cut(place, at) => {
                change(draft, place, |bytes| bytes.truncate(at.index(bytes.len() + 1)));
            }
            Mutation::Remove(place, from, to) => change(draft, place, |bytes| {
                let range = range(bytes.len(), *from, *to);
                bytes.drain(range);
            }),
            Mutation::Repeat(place, from, to) => change(draft, place, |bytes| {
                let range = range(bytes.len(), *from, *to);
                let run = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, run);
            }),
            Mutation::Insert(place, at, inserted) => change(draft, place, |bytes| {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, inserted.iter().copied());
            }),
            Mutation::Splice(place, at, other) => splice(draft, place, *at, *other),
            Mutation::SwapHeaders(one, other) => swap(draft, *one, *other),
            Mutation::DropHeader(at) => {
                if !draft.headers.is_empty() {
                    draft.headers.remove(at.index(draft.headers.len()));
                }
            }
            Mutation::BorrowHeader(seed, header) => {
                let headers = &seeds()[seed.index(seeds().len())].draft.headers;
                if !headers.is_empty() {
                    draft
                        .headers
                        .insert(0, headers[header.index(headers.len())].clone());
                }
            }
            Mutation::BorrowUrl(seed) => draft
                .url
                .clone_from(&seeds()[seed.index(seeds().len())].draft.url),
            Mutation::Method(method) => (*method).clone_into(&mut draft.method),
            Mutation::ReceivedAt(at) => draft.received_at = *at,
        }
    }
}

fn change(draft: &mut Draft, place: &TamperedPart, change: impl FnOnce(&mut Vec<u8>)) {
    match place {
        TamperedPart::Body => change(&mut draft.body),
        TamperedPart::Header(index) => {
            if !draft.headers.is_empty() {
                let at = index.index(draft.headers.len());
                change(&mut draft.headers[at].1);
            }
        }
        TamperedPart::Url => {
            let mut bytes = std::mem::take(&mut draft.url).into_bytes();
            change(&mut bytes);
            draft.url = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

fn range(length: usize, from: Index, to: Index) -> std::ops::Range<usize> {
    let (from, to) = (from.index(length + 1), to.index(length + 1));
    let start = from.min(to);
    start..from.max(to).min(start + RUN_BYTES_MAX)
}

fn splice(draft: &mut Draft, place: &TamperedPart, at: Index, other: Index) {
    let other = &seeds()[other.index(seeds().len())].draft;
    let rest = match place {
        TamperedPart::Body => other.body.as_slice(),
        TamperedPart::Header(index) if !other.headers.is_empty() => {
            &other.headers[index.index(other.headers.len())].1
        }
        TamperedPart::Header(_) => &[],
        TamperedPart::Url => other.url.as_bytes(),
    };
    change(draft, place, |bytes| {
        bytes.truncate(at.index(bytes.len() + 1));
        let start = at.index(rest.len() + 1);
        bytes.extend_from_slice(&rest[start..]);
    });
}

fn swap(draft: &mut Draft, one: Index, other: Index) {
    if draft.headers.is_empty() {
        return;
    }
    let (one, other) = (one.index(draft.headers.len()), other.index(draft.headers.len()));
    let value = draft.headers[one].1.clone();
    draft.headers[one].1 = std::mem::replace(&mut draft.headers[other].1, value);
}
