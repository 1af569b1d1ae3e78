//! The shape of event ids, for samples.

use serde::Deserialize;

/// The shape of a provider's ids, as far as its own libraries require one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdShape {
    /// Any text.
    #[default]
    Text,
    /// Only digits.
    Digits,
}

impl IdShape {
    /// Whether an id has this shape.
    pub fn fits(self, id: &str) -> bool {
        match self {
            IdShape::Text => true,
            IdShape::Digits => {
                !id.is_empty() && !id.starts_with('0') && id.bytes().all(|byte| byte.is_ascii_digit())
            }
        }
    }

    /// A new id of this shape, from the caller's randomness.
    pub fn fresh(self, random: u128) -> String {
        match self {
            IdShape::Text => format!("evt_{random:032x}"),
            // Sixteen digits: small enough for every language's numbers.
            IdShape::Digits => (1_000_000_000_000_000 + random % 8_000_000_000_000_000).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_number_fits_and_is_exact_in_every_language() {
        for random in [0, 7, u128::MAX] {
            let id = IdShape::Digits.fresh(random);
            assert!(
                IdShape::Digits.fits(&id) && id.parse::<u64>().unwrap() < 1 << 53,
                "{id}"
            );
        }
        for wrong in ["", "0", "evt_1", "1.5", "-1"] {
            assert!(!IdShape::Digits.fits(wrong), "{wrong}");
        }
    }
}
