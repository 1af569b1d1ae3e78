//! Opening one connection, and finding out whether it leads directly to the database.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use hapax_core::Secret;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};

use crate::tls::Tls;
use crate::{Preparing, failure, url};

/// A setting made at the start of a session. A pooler refuses or forgets it, since it shares its sessions: if the
/// setting is present, the connection leads directly to the database.
const MARK: &str = "-c hapax.direct=yes";
const MARKED: &str = "SELECT current_setting('hapax.direct', true) IS NOT DISTINCT FROM 'yes'";

/// Where and how to connect. Used by the store and by any other code that connects to PostgreSQL by URL.
pub struct Connector {
    config: Config,
    tls: Tls,
    verified_by_default: bool,
    timeout: Duration,
    /// The URL's setting; without one, statements are prepared where that is safe.
    preparing: Option<Preparing>,
}

/// A connection, and whether statements may be prepared on it.
#[derive(Debug)]
pub struct Connected {
    pub client: Client,
    /// Whether prepared statements stay on the connection. They do not behind a pooler that shares connections.
    pub prepares: bool,
}

impl Connector {
    /// Creates a connector. The reason for a refusal never quotes the URL. Connecting may take `timeout` per host; a
    /// connection that is silent for `silence` when it should answer is dropped.
    pub fn new(url: &Secret, timeout: Duration, silence: Duration) -> Result<Self, String> {
        let mut target = url::read(url.expose())?;
        let config = &mut target.config;
        if config.get_application_name().is_none() {
            config.application_name("hapax");
        }
        // With several hosts, connect to the primary, which may be a different one after a failover.
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.connect_timeout(timeout);
        config.keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(silence);
        Ok(Self {
            tls: Tls::new(&target.trust)?,
            verified_by_default: target.verified_by_default,
            config: target.config,
            timeout,
            preparing: target.preparing,
        })
    }

    /// Sets how statements are prepared, unless the URL says otherwise.
    #[must_use]
    pub fn preparing(mut self, preparing: Preparing) -> Self {
        self.preparing.get_or_insert(preparing);
        self
    }

    /// Whether statements may be prepared on any connection.
    pub(crate) fn may_prepare(&self) -> bool {
        self.preparing != Some(Preparing::Never)
    }

    /// Whether a connection on which statements are prepared leads directly to the database.
    pub(crate) fn tells_poolers(&self) -> bool {
        self.how_to_prepare() == Preparing::WhereSafe
    }

    fn how_to_prepare(&self) -> Preparing {
        self.preparing.unwrap_or(Preparing::WhereSafe)
    }

    /// Opens a connection. A separate task drives it and ends with it.
    pub async fn connect(&self) -> Result<Connected, ConnectError> {
        self.connect_with("").await
    }

    /// Opens a connection whose session has these settings, each as `-c name=value`, if it leads directly to the
    /// database. A pooler would give the session to others, too.
    pub(crate) async fn connect_with(&self, settings: &str) -> Result<Connected, ConnectError> {
        let plain = |prepares| move |client| Connected { client, prepares };
        match self.how_to_prepare() {
            Preparing::Always => self.open(&self.config).await.map(plain(true)),
            Preparing::Never => self.open(&self.config).await.map(plain(false)),
            Preparing::WhereSafe => match self.open(&self.marked(settings)).await {
                Ok(client) => self.look(client).await,
                Err(error) if error.refuses_settings() => self.open(&self.config).await.map(plain(false)),
                Err(error) => Err(error),
            },
        }
    }

    fn marked(&self, settings: &str) -> Config {
        let mut config = self.config.clone();
        let own = config.get_options().unwrap_or_default();
        let options = [own, MARK, settings].join(" ");
        config.options(options.trim());
        config
    }

    /// Checks for the mark.
    async fn look(&self, client: Client) -> Result<Connected, ConnectError> {
        let rows = tokio::time::timeout(self.timeout, client.query_typed(MARKED, &[]))
            .await
            .map_err(|_| ConnectError::Timeout)?
            .map_err(ConnectError::Refused)?;
        let mut prepares = false;
        for row in rows {
            prepares = row.try_get(0).map_err(ConnectError::Refused)?;
        }
        Ok(Connected { client, prepares })
    }

    async fn open(&self, config: &Config) -> Result<Client, ConnectError> {
        // The library's own timeout covers the TCP connection to each host, but not the startup exchange.
        let hosts = u32::try_from(config.get_hosts().len().max(1)).unwrap_or(u32::MAX);
        let tls = self.tls.for_one_attempt();
        let connecting = config.connect(tls.clone());
        let (client, connection) = tokio::time::timeout(self.timeout.saturating_mul(hosts), connecting)
            .await
            .map_err(|_| ConnectError::Timeout)?
            .map_err(|error| {
                if self.verified_by_default && !tls.has_succeeded() && !is_of_the_network(&error) {
                    return ConnectError::Unverified(failure::describe(&error));
                }
                ConnectError::Refused(error)
            })?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a database connection ended");
            }
        });
        Ok(client)
    }
}

/// Whether the server was not reached at all. The library does not mark TLS errors; network errors carry the system's
/// error and nothing else.
fn is_of_the_network(error: &tokio_postgres::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.get_ref().is_none_or(|inner| !inner.is::<rustls::Error>()))
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration holds the password.
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

/// A connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server did not answer in time.
    #[error("the database did not answer in time")]
    Timeout,
    /// The server cannot be reached, or it refused the connection.
    #[error(transparent)]
    Refused(tokio_postgres::Error),
    /// The server has no certificate that can be verified, and the URL does not waive verification.
    #[error(
        "{0}; a database on another machine needs TLS and a certificate that can be verified, unless its URL says \
         otherwise: add `sslrootcert=FILE` to name the authority that signed it, `sslmode=require` to encrypt without \
         verifying, or `sslmode=disable` to send everything in plain text"
    )]
    Unverified(String),
}

impl ConnectError {
    /// The reason, in the server's own words where available.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Timeout | Self::Unverified(_) => self.to_string(),
            Self::Refused(error) => failure::describe(error),
        }
    }

    /// Whether the other end refuses settings at the start of a session: pgbouncer reports a protocol violation, RDS
    /// Proxy an unsupported feature.
    fn refuses_settings(&self) -> bool {
        match self {
            Self::Timeout | Self::Unverified(_) => false,
            Self::Refused(error) => error.code().is_some_and(|code| {
                [SqlState::PROTOCOL_VIOLATION, SqlState::FEATURE_NOT_SUPPORTED].contains(code)
            }),
        }
    }
}
