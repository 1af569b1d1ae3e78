//! Making one connection.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::config::TargetSessionAttrs;

use hapax_core::Secret;

use crate::tls::Tls;
use crate::url;

/// Where to connect, and how. For the store, and for whoever else talks to a PostgreSQL by its URL.
pub struct Connector {
    config: tokio_postgres::Config,
    tls: Tls,
    timeout: Duration,
}

impl Connector {
    /// A connector; the reason why there is none never quotes the URL. Making a connection may take
    /// `timeout` for each host; one that says nothing for `silence` while it should is given up.
    pub fn new(url: &Secret, timeout: Duration, silence: Duration) -> Result<Self, String> {
        let mut target = url::read(url.expose())?;
        let config = &mut target.config;
        if config.get_application_name().is_none() {
            config.application_name("hapax");
        }
        // Of several hosts, the primary: after a failover that is another one.
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.connect_timeout(timeout);
        config.keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(silence);
        Ok(Self {
            tls: Tls::new(&target.trust)?,
            config: target.config,
            timeout,
        })
    }

    /// A new connection. It is driven by a task of its own, which ends with it.
    pub async fn connect(&self) -> Result<Client, ConnectError> {
        // The library's own limit covers the TCP connection of each host, not the greeting.
        let hosts = u32::try_from(self.config.get_hosts().len().max(1)).unwrap_or(u32::MAX);
        let connecting = self.config.connect(self.tls.clone());
        let (client, connection) = tokio::time::timeout(self.timeout.saturating_mul(hosts), connecting)
            .await
            .map_err(|_| ConnectError::Timeout)?
            .map_err(ConnectError::Refused)?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a database connection ended");
            }
        });
        Ok(client)
    }
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Its configuration holds the password.
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

/// There is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server did not answer in time.
    #[error("the database did not answer in time")]
    Timeout,
    /// It cannot be reached, or says no.
    #[error(transparent)]
    Refused(tokio_postgres::Error),
}
