//! Whether the store opens, or is held by the running service, which then answers for it.

use std::sync::Arc;

use hapax_core::{Clock, SystemClock};

use super::check::Check;
use super::service::Service;
use crate::config::StoreUrl;
use crate::http::admin::ReadyView;
use crate::serve::OpenStore;

const NAME: &str = "store";

pub(super) async fn check(store: &StoreUrl, service: &Service) -> Vec<Check> {
    let check = match (service, store) {
        (Service::Running(view), _) => held(store, view),
        (_, StoreUrl::Sqlite(path)) if !path.exists() => Check::ok(
            NAME,
            format!("{store} does not exist yet; the first `hapax serve` makes it"),
        ),
        (_, StoreUrl::Sqlite(_)) => {
            let fix = "stop the other process, or restore a backup if the file is damaged; keep a copy of the file first";
            open(store, fix).await
        }
        (_, StoreUrl::Postgres(_) | StoreUrl::Redis(_)) => {
            let fix = "start the database, or correct `store.url`; what is missing is in the message";
            open(store, fix).await
        }
    };
    vec![check]
}

fn held(store: &StoreUrl, view: &ReadyView) -> Check {
    let state = &view.checks.store;
    match &state.message {
        None => Check::ok(
            NAME,
            format!(
                "the running service holds {store} and wrote to it in {} ms",
                state.took_ms
            ),
        ),
        Some(message) => Check::fail(
            NAME,
            format!("the running service cannot write to {store}: {message}"),
            "look at the service's log; webhooks are answered 503 meanwhile, and nothing acknowledged is lost",
        ),
    }
}

async fn open(store: &StoreUrl, fix: &'static str) -> Check {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let opened = match OpenStore::open(store, &clock).await {
        Ok(opened) => opened,
        Err(error) => return Check::fail(NAME, format!("{:#}", anyhow::Error::new(error)), fix),
    };
    let probed = opened.backend().probe().await;
    opened.close().await;
    match probed {
        Ok(()) => Check::ok(NAME, format!("{store} opens and can be written")),
        Err(error) => Check::fail(NAME, format!("{store}: {error}"), fix),
    }
}
