//! Making one connection.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::config::TargetSessionAttrs;

use crate::Options;
use crate::tls::Tls;
use crate::url;

/// Where to connect, and how.
pub(crate) struct Connector {
    config: tokio_postgres::Config,
    tls: Tls,
    timeout: Duration,
}

impl Connector {
    /// A connector for these options; the reason why there is none never quotes the URL.
    pub(crate) fn new(options: &Options) -> Result<Self, String> {
        let mut target = url::read(options.url.expose())?;
        let config = &mut target.config;
        if config.get_application_name().is_none() {
            config.application_name("hapax");
        }
        // Of several hosts, the primary: after a failover that is another one.
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.connect_timeout(options.connect_timeout);
        config.keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(options.step_timeout);
        Ok(Self {
            tls: Tls::new(&target.trust)?,
            config: target.config,
            timeout: options.connect_timeout,
        })
    }

    /// A new connection. It is driven by a task of its own, which ends with it.
    pub(crate) async fn connect(&self) -> Result<Client, ConnectError> {
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

/// There is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The server did not answer in time.
    #[error("the database did not answer in time")]
    Timeout,
    /// It cannot be reached, or says no.
    #[error(transparent)]
    Refused(tokio_postgres::Error),
}
