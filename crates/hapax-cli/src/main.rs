//! The `hapax` binary: everything it does is in the library beside it.

use std::process::ExitCode;

/// Many small, short-lived buffers per request: mimalloc returns them to the right thread faster than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "fail-points")]
    hapax_fail_points::listen();
    hapax_cli::verbs::main()
}
