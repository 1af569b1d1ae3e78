//! The text encodings of signatures and hashes.

use serde::Deserialize;

/// A text encoding of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Hexadecimal, in upper or lower case.
    Hex,
    /// Base64 with the standard alphabet and padding.
    Base64,
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Encoding::Hex => "hexadecimal",
            Encoding::Base64 => "base64",
        })
    }
}
