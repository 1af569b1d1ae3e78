//! Results and options that a law takes for granted: anything else breaks it.

use std::fmt::Debug;

/// What must be there.
pub trait Must {
    /// What is inside.
    type Inside;

    /// What is inside; panics at the caller's line where it is not.
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
