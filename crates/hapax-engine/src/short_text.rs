//! A text that is stored in place if it is short, as nearly all ids of providers are.

/// The longest text that is stored in place, in bytes.
const SHORT_MAX: usize = 38;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShortText {
    InPlace { length: u8, bytes: [u8; SHORT_MAX] },
    Elsewhere(Box<str>),
}

impl ShortText {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::InPlace { length, bytes } => {
                let text = bytes.get(..usize::from(*length)).unwrap_or_default();
                // It was made from a text.
                std::str::from_utf8(text).unwrap_or_default()
            }
            Self::Elsewhere(text) => text,
        }
    }
}

impl From<&str> for ShortText {
    fn from(text: &str) -> Self {
        let mut bytes = [0; SHORT_MAX];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self::InPlace { length, bytes }
            }
            _ => Self::Elsewhere(text.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_reads_back_and_short_ones_are_in_place() {
        assert!(size_of::<ShortText>() <= 40);
        for length in 0..300 {
            let text: String = "aé€".chars().cycle().take(length).collect();
            let short = ShortText::from(text.as_str());
            assert_eq!(short.as_str(), text);
            let is_in_place = matches!(short, ShortText::InPlace { .. });
            assert_eq!(is_in_place, text.len() <= SHORT_MAX, "{text}");
        }
    }
}
