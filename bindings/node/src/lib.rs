//! The native module of the TypeScript library. It only translates types; `native.d.ts` describes it.

// napi registers nothing under test, so everything would be unused.
#![cfg(not(test))]

/// JavaScript frees bodies much later than everything else is freed, and glibc's heap becomes so fragmented that half of a
/// request's time goes into it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod functions;
mod input;
mod source;
mod values;
