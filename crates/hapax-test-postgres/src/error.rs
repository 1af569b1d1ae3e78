//! Why a test server is not available.

/// Why a server is not available.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("PostgreSQL is not installed: run `./test tools`, or `apt-get install postgresql`")]
    NotInstalled,
    /// The configured folder has no server programs.
    #[error("HAPAX_TEST_POSTGRES_BIN names {folder}, which has no `initdb`: name the `bin` of a PostgreSQL")]
    NoPrograms { folder: String },
    #[error(
        "HAPAX_TEST_CITUS_URL names no cluster: start one by crates/hapax-store-postgres/tests/citus/cluster"
    )]
    NoCluster,
    /// The database on the cluster may be in use for something else.
    #[error(
        "HAPAX_TEST_CITUS_URL names the database `{database}`, which tests would empty: name one with `test` in it"
    )]
    NotForTests { database: String },
    #[error("pgbouncer is not installed: run `./test tools`, or `apt-get install pgbouncer`")]
    NoPooler,
    /// A program of PostgreSQL failed.
    #[error("{what} failed: {said}")]
    Failed {
        /// The operation.
        what: &'static str,
        /// The program's output.
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
    #[error("the test server refused")]
    Refused {
        #[source]
        source: tokio_postgres::Error,
    },
}
