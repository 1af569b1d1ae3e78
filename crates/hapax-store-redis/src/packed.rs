//! MessagePack, which scripts read and write as well as we do. They know texts, but no bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, damaged};

/// Structs as maps, so that scripts can name their fields; bytes as texts, the only ones that scripts know.
pub(crate) fn pack<T: Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    let packed = rmp_serde::to_vec_named(value).map_err(|error| Failure::Damaged(error.to_string()))?;
    with_texts(packed).ok_or_else(|| damaged("what was to be written"))
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Failure> {
    rmp_serde::from_slice(bytes).map_err(|_| damaged(what))
}

/// The `cmsgpack` of Redis is older than the format's bytes: it has one kind of strings, of any bytes. Their heads are as
/// long as those of bytes, and differ in the first byte only. None if it ends in the middle of something.
fn with_texts(mut packed: Vec<u8>) -> Option<Vec<u8>> {
    let mut at = 0;
    while at < packed.len() {
        packed[at] = match packed[at] {
            0xc4 => 0xd9,
            0xc5 => 0xda,
            0xc6 => 0xdb,
            head => head,
        };
        at += length_at(&packed[at..])?;
    }
    Some(packed)
}

/// How long the head of a value is, with all of it that holds no other value.
fn length_at(packed: &[u8]) -> Option<usize> {
    let number = |bytes: usize| {
        let bytes = packed.get(1..=bytes)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte)),
        )
    };
    Some(match packed.first()? {
        // A short text.
        head @ 0xa0..=0xbf => 1 + usize::from(head & 0x1f),
        // A longer one, or bytes.
        0xc4 | 0xd9 => 2 + number(1)?,
        0xc5 | 0xda => 3 + number(2)?,
        0xc6 | 0xdb => 5 + number(4)?,
        // Numbers.
        0xcc | 0xd0 => 2,
        0xcd | 0xd1 => 3,
        0xca | 0xce | 0xd2 => 5,
        0xcb | 0xcf | 0xd3 => 9,
        // The head of a long list or map.
        0xdc | 0xde => 3,
        0xdd | 0xdf => 5,
        // Small numbers, nothing, true and false, and the heads of short lists and maps.
        0x00..=0x9f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => 1,
        // Types of one's own: nothing here has any.
        0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_bytes::ByteBuf;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Everything {
        bytes: Vec<ByteBuf>,
        text: String,
        numbers: Vec<i64>,
        share: f64,
        is_so: Option<bool>,
        map: BTreeMap<String, u64>,
        list: Vec<u8>,
    }

    #[test]
    fn bytes_are_texts_and_everything_comes_back_as_it_was() {
        let everything = Everything {
            // Bytes that look like heads, in every length that has a head of its own.
            bytes: [0, 3, 40, 300, 70_000]
                .map(|length| ByteBuf::from(vec![0xc4; length]))
                .to_vec(),
            text: "\u{c4}".repeat(40),
            numbers: vec![0, -1, -40, 200, 70_000, -70_000, 1 << 40, -(1 << 40)],
            share: 0.5,
            is_so: None,
            map: (0..20).map(|n| (n.to_string(), n)).collect(),
            list: vec![0xc4; 20],
        };
        let packed = pack(&everything).unwrap();
        assert_eq!(packed.len(), rmp_serde::to_vec_named(&everything).unwrap().len());
        assert_eq!(unpack::<Everything>(&packed, "everything").unwrap(), everything);
        let one = pack(&ByteBuf::from(vec![0xff, 0x00])).unwrap();
        assert_eq!(one, [0xd9, 2, 0xff, 0x00]);
    }
}
