//! Sizes as people write them: `5MiB`, `1MB`, `800B`.

use super::number::scaled;

/// The units in bytes, largest first.
const UNITS: [(&str, u128); 7] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// A string that is not a size.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a size: write a number and B, KB, KiB, MB, MiB, GB or GiB, such as \"5MiB\"")]
pub struct NotASize(String);

/// Parses a size into bytes.
pub fn parse_size(text: &str) -> Result<u64, NotASize> {
    let unit = |suffix: &str| {
        UNITS
            .iter()
            .find(|(name, _)| *name == suffix)
            .map(|(_, bytes)| *bytes)
    };
    scaled(text, unit)
        .and_then(|bytes| u64::try_from(bytes).ok())
        .ok_or_else(|| NotASize(text.to_owned()))
}

/// Formats a size in the largest unit that divides it evenly, so that [`parse_size`] reads it back.
pub fn format_size(bytes: u64) -> String {
    let fitting = UNITS
        .iter()
        .find(|(_, unit)| bytes > 0 && u128::from(bytes).is_multiple_of(*unit));
    match fitting {
        Some((name, unit)) => format!("{}{name}", u128::from(bytes) / unit),
        None => "0B".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_in_every_unit() {
        for (text, bytes) in [
            ("5MiB", 5 << 20),
            ("1MB", 1_000_000),
            ("64KiB", 65_536),
            ("2GiB", 2 << 30),
            ("800B", 800),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(format_size(bytes), text);
        }
        assert_eq!(parse_size("1.5KiB"), Ok(1536));
    }

    #[test]
    fn what_is_not_a_size_is_refused_with_what_to_write() {
        for text in ["", "5", "5mib", "5 Mb", "-1B", "0.5B", "99999999999999999999B"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert!(parse_size("5").unwrap_err().to_string().contains("\"5MiB\""));
    }
}
