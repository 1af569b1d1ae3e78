//! Tests only. This file compiles the Rust examples of the guides and of the library's README: `cargo test -p hapax-e2e --doc`.
//! They are here because a published crate cannot include files from outside its folder.

#[cfg(doctest)]
mod examples {
    #[doc = include_str!("../../../docs/guides/library.md")]
    mod library {}
    #[doc = include_str!("../../../docs/guides/idempotency-keys.md")]
    mod idempotency_keys {}
    #[doc = include_str!("../../hapax/README.md")]
    mod readme {}
}
