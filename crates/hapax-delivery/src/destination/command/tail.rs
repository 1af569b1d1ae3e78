//! The last bytes of a command's output, where the error message is.

use parking_lot::Mutex;

use crate::destination::excerpt::EXCERPT_BYTES_MAX;

/// Keeps the last bytes written to it.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        let over = self.bytes.len().saturating_sub(EXCERPT_BYTES_MAX);
        self.bytes.drain(..over);
    }
}

pub(super) fn push(tail: &Mutex<Tail>, more: &[u8]) {
    tail.lock().push(more);
}

pub(super) fn text(tail: &Mutex<Tail>) -> String {
    let tail = tail.lock();
    String::from_utf8_lossy(&tail.bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_bytes_are_kept() {
        let tail = Mutex::new(Tail::default());
        push(&tail, &[b'a'; 3000]);
        push(&tail, b"the end");
        assert_eq!(text(&tail).len(), EXCERPT_BYTES_MAX);
        assert!(text(&tail).ends_with("aaathe end"));
    }
}
