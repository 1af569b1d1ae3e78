//! Outgoing calls: the one HTTP client, the addresses it may reach, and its TLS settings.

pub mod client;
pub(crate) mod connector;
pub mod exchange;
pub mod guard;
pub mod lookup;
pub mod tls;

use std::error::Error as StdError;

/// The longest error message kept, in characters.
const MESSAGE_CHARS_MAX: usize = 500;

/// The error and its chain of causes, each once.
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
