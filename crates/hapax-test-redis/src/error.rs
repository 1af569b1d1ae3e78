//! Why a server cannot be had, or does not do what a test asks.

/// A server cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No Redis is installed.
    #[error("redis-server is not installed: run `./test tools`, or `apt-get install redis-server`")]
    NotInstalled,
    /// It did not start, or ended.
    #[error("{what} failed: {said}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// What is known about it.
        said: String,
    },
    /// The system said no.
    #[error("{what} failed")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The server answered with an error.
    #[error("the test server refused: {said}")]
    Refused {
        /// Its words.
        said: String,
    },
    /// Something did not become true in time.
    #[error("{what} took too long: {seen}")]
    Late {
        /// What was waited for.
        what: &'static str,
        /// What was seen last.
        seen: String,
    },
    /// All test processes use this server, so no test may stop it.
    #[error("a shared server is not stopped by a test: start one of your own")]
    Shared,
}

impl ServerError {
    /// For `map_err`: the system said no to `what`.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
