//! The `hapax` binary: the verbs, the service that they talk to, and exit codes.
//!
//! There is no library: what others use is in crates of its own, and the binary is built sooner.
#![expect(unreachable_pub, reason = "in a binary, `pub` is for the other modules")]

mod exit;
mod globals;
mod service;
mod verbs;

use std::process::ExitCode;

/// For many small, short-lived buffers per request, mimalloc is faster than the system allocator: it returns memory to
/// the right thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "fail-points")]
    hapax_fail_points::listen();
    verbs::main()
}
