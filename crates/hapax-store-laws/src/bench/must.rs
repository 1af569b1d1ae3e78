//! Results and options that a law expects to hold a value: anything else breaks it.

use std::fmt::Debug;

/// A value that must be present.
pub trait Must {
    type Inside;

    /// The value; panics at the caller's line if there is none.
    #[track_caller]
    fn must(self) -> Self::Inside;
}

impl<T, E: Debug> Must for Result<T, E> {
    type Inside = T;

    #[track_caller]
    fn must(self) -> T {
        match self {
            Ok(inside) => inside,
            Err(error) => panic!("expected success, got {error:?}"),
        }
    }
}

impl<T> Must for Option<T> {
    type Inside = T;

    #[track_caller]
    fn must(self) -> T {
        match self {
            Some(inside) => inside,
            None => panic!("expected something, got nothing"),
        }
    }
}
