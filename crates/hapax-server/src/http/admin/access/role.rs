//! What a caller may do.

/// What somebody who was let in may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Role {
    /// Everything.
    Admin,
    /// Look at everything, change nothing.
    ReadOnly,
}

impl Role {
    /// As people read it.
    pub(in crate::http) const fn words(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::ReadOnly => "read-only",
        }
    }
}
