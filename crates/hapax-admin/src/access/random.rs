//! Random bytes that nobody can guess.

use aws_lc_rs::rand;

pub(super) fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    // The library's generator does not fail once the process runs. Zeroes could be guessed, so the process aborts.
    if rand::fill(&mut bytes).is_err() {
        tracing::error!("the operating system provided no random bytes");
        std::process::abort();
    }
    bytes
}
