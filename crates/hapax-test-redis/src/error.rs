//! Why a server is not available, or does not do what a test asks.

/// Why a server is not available.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("redis-server is not installed: run `./test tools`, or `apt-get install redis-server`")]
    NotInstalled,
    /// It did not start, or exited.
    #[error("{what} failed: {said}")]
    Failed {
        /// The operation.
        what: &'static str,
        said: String,
    },
    /// A system call failed.
    #[error("{what} failed")]
    Io {
        /// The operation.
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// The server answered with an error.
    #[error("the test server refused: {said}")]
    Refused { said: String },
    /// A condition did not become true in time.
    #[error("{what} took too long: {seen}")]
    Late {
        /// The condition.
        what: &'static str,
        /// The last state seen.
        seen: String,
    },
    /// All test processes use this server, so no test may stop it.
    #[error("a test must not stop a shared server: start a private one")]
    Shared,
}

impl ServerError {
    /// For `map_err`: a system call of `what` failed.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
