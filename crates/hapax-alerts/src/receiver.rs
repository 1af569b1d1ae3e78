//! Receivers of alerts: over HTTP or by a command. Each attempt has a time limit.

mod command;
mod http;

use std::sync::Arc;
use std::time::Duration;

use ::http::Uri;
use hapax_core::Clock;
use hapax_verify::sign::Signer;

use super::message::Message;
use super::row::Tried;
use hapax_config::{self as config, CommandEnv, ReceiverKind};
use hapax_delivery::destination::{SetupError, signer};
use hapax_outbound::client::Client;

pub(super) struct Receiver {
    kind: Kind,
    pub(super) timeout: Duration,
}

enum Kind {
    Slack(Endpoint),
    Webhook(Endpoint, Option<Box<Signer>>),
    Command(Vec<String>, CommandEnv),
}

/// The URL of a request, and how to call it.
pub(super) struct Endpoint {
    url: Uri,
    client: Client,
    clock: Arc<dyn Clock>,
}

impl Receiver {
    pub(super) fn new(
        name: &str,
        receiver: &config::Receiver,
        client: &Client,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, SetupError> {
        let endpoint = |url: &hapax_core::Secret| Endpoint {
            // The configuration was checked, so this is a URL.
            url: url.expose().parse().unwrap_or_default(),
            client: client.clone(),
            clock: Arc::clone(clock),
        };
        let kind = match &receiver.kind {
            ReceiverKind::Slack { url } => Kind::Slack(endpoint(url)),
            ReceiverKind::Webhook { url, secret } => {
                let secret = secret.as_ref();
                let signer = secret.map(|secret| signer(name, secret.expose())).transpose()?;
                Kind::Webhook(endpoint(url), signer.map(Box::new))
            }
            ReceiverKind::Command { argv, env } => Kind::Command(argv.clone(), env.clone()),
        };
        Ok(Self {
            kind,
            timeout: receiver.timeout,
        })
    }

    /// `slack`, `webhook` or `command`.
    pub(super) const fn kind(&self) -> &'static str {
        match &self.kind {
            Kind::Slack(_) => "slack",
            Kind::Webhook(..) => "webhook",
            Kind::Command(..) => "command",
        }
    }

    /// Sends it a message, once.
    pub(super) async fn tell(&self, message: &Message) -> Tried {
        match &self.kind {
            Kind::Slack(endpoint) => {
                let body = message.for_slack().to_string();
                endpoint.post(&message.id(), None, body, self.timeout).await
            }
            Kind::Webhook(endpoint, signer) => {
                let body = message.document().to_string();
                endpoint
                    .post(&message.id(), signer.as_deref(), body, self.timeout)
                    .await
            }
            Kind::Command(argv, env) => command::run(argv, env, message, self.timeout).await,
        }
    }
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver")
            .field("kind", &self.kind())
            .finish_non_exhaustive()
    }
}
