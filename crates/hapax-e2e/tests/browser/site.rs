//! The service behind the browser: a token, a read-only token, one source, one real destination.

use std::time::Duration;

use hapax_testkit::{Reply, Sender, Service, Setup, Sink};

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// A read-only token.
pub(crate) const READER: &str = "reader-0123456789abcdef";

/// The longest that anything outside the browser takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Site {
    pub(crate) service: Service,
    pub(crate) sink: Sink,
    pub(crate) sender: Sender,
}

impl Site {
    /// With a destination that accepts everything.
    pub(crate) async fn start() -> Self {
        Self::answering(|_| Reply::Status(200)).await
    }

    /// With a destination that answers like this.
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

    /// The URL of the dashboard.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.service.setup.admin)
    }

    /// Delivers an event twice: new, then a duplicate. Returns its Hapax id.
    pub(crate) async fn deliver(&self, id: &str) -> String {
        self.service.deliver_twice(&self.sender.event(id)).await
    }
}
