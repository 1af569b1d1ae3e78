//! The service that the browser looks at: a token, a read-only token, one source, one real destination.

use std::time::Duration;

use hapax_testkit::{Reply, Sender, Service, Setup, Sink};

/// The admin token.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// A token that only reads.
pub(crate) const READER: &str = "reader-0123456789abcdef";

/// Longest that something outside of the browser takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running service and its destination.
pub(crate) struct Site {
    pub(crate) service: Service,
    pub(crate) sink: Sink,
    pub(crate) sender: Sender,
}

impl Site {
    /// With a destination that takes everything.
    pub(crate) async fn start() -> Self {
        Self::answering(|_| Reply::Status(200)).await
    }

    /// With a destination that answers so.
    pub(crate) async fn answering(
        behaviour: impl Fn(&hapax_testkit::Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let sink = Sink::that(behaviour).await;
        let setup = Setup::stripe_to_with(&sink, "max_attempts = 1")
            .server(&format!("admin_token = \"{TOKEN}\""))
            .server(&format!(
                "tokens = [{{ name = \"reader\", token = \"{READER}\", role = \"read\" }}]"
            ));
        Self {
            service: setup.start().await,
            sink,
            sender: Sender::of("stripe"),
        }
    }

    /// Where the dashboard is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.service.setup.admin)
    }

    /// Delivers an event twice: new, then a copy. Returns our id.
    pub(crate) async fn deliver(&self, id: &str) -> String {
        self.service.deliver_twice(&self.sender.event(id)).await
    }
}
