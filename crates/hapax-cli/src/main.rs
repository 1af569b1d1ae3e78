//! The `hapax` binary: a thin wrapper around the library.

use std::process::ExitCode;

/// For many small, short-lived buffers per request, mimalloc is faster than the system allocator: it returns memory to
/// the right thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "fail-points")]
    hapax_fail_points::listen();
    hapax_cli::verbs::main()
}
