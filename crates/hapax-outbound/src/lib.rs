//! Calls to others: the one HTTP client, which addresses it may reach, and the TLS that it speaks.

pub mod client;
pub(crate) mod connector;
pub mod guard;
pub mod lookup;
pub mod tls;

use std::error::Error as StdError;

/// Bytes of an error's words that are kept.
const MESSAGE_CHARS_MAX: usize = 500;

/// The whole chain of causes, each once.
pub fn words(error: &(dyn StdError + 'static)) -> String {
    let mut words = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let part = error.to_string();
        if !words.contains(&part) {
            if !words.is_empty() {
                words.push_str(": ");
            }
            words.push_str(&part);
        }
        cause = error.source();
    }
    words.chars().take(MESSAGE_CHARS_MAX).collect()
}
