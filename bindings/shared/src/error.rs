//! Bad input, as one error with a code that each language maps to a class of its own.

use hapax::Invalid;
use hapax::outbox::InvalidCall;
use hapax::webhook::SourceError;

/// Why a value was refused. No secret is ever part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The class of the error.
    pub code: ErrorCode,
    /// What happened, why, and what to do.
    pub message: String,
}

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// A source, event id, consumer or other argument is invalid.
    Invalid,
    /// A call cannot be staged.
    InvalidCall,
    /// A source cannot be created, or cannot sign.
    SetupError,
}

impl ErrorCode {
    /// The name that both languages use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::InvalidCall => "InvalidCall",
            Self::SetupError => "SetupError",
        }
    }
}

impl AsRef<str> for ErrorCode {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::Invalid,
            message: message.into(),
        }
    }

    pub(crate) fn setup(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::SetupError,
            message: message.into(),
        }
    }
}

impl From<Invalid> for Error {
    fn from(error: Invalid) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<InvalidCall> for Error {
    fn from(error: InvalidCall) -> Self {
        Self {
            code: ErrorCode::InvalidCall,
            message: error.to_string(),
        }
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Name(invalid) => invalid.into(),
            SourceError::UnknownProvider(_) | SourceError::Setup(_) => Self::setup(error.to_string()),
        }
    }
}
