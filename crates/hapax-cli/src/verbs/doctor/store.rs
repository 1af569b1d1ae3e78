//! Whether the store opens, or is held by the running service, which then answers for it.

use std::sync::Arc;

use hapax_core::{Clock, SystemClock};

use super::check::Check;
use super::service::Service;
use crate::globals::Globals;
use crate::service;
use hapax_api::views::ReadyView;
use hapax_api::views::{EncryptionView, StatsView};
use hapax_config::{Store, StoreUrl};
use hapax_server::{OpenStore, StoreError};

const NAME: &str = "store";

pub(super) async fn check(store: &Store, service: &Service, globals: &Globals) -> Vec<Check> {
    let url = &store.url;
    match (service, url) {
        (Service::Running(view), _) => {
            let keys = asked(globals).await.map(|keys| encryption(&keys));
            std::iter::once(held(url, view)).chain(keys).collect()
        }
        (_, StoreUrl::Sqlite(path)) if !path.exists() => vec![Check::ok(
            NAME,
            format!("{url} does not exist yet; the first `hapax serve` creates it"),
        )],
        (_, StoreUrl::Sqlite(_)) => {
            let fix = "stop the other process, or restore a backup if the file is damaged; keep a copy of the file first";
            open(store, fix).await
        }
        (_, StoreUrl::Postgres(_) | StoreUrl::Redis(_)) => {
            let fix = "start the database, or correct `store.url`; the message names the problem";
            open(store, fix).await
        }
    }
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
            "check the service's log; until then, webhooks are answered 503; no acknowledged event is lost",
        ),
    }
}

async fn open(store: &Store, fix: &'static str) -> Vec<Check> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let url = &store.url;
    let opened = match OpenStore::open(url, store.encryption.as_ref(), &clock).await {
        Ok(opened) => opened,
        Err(error @ StoreError::Encryption { .. }) => {
            let fix = "correct `store.encryption_keys`; the message names the problem; nothing in the store is lost";
            return vec![Check::fail(NAME, format!("{:#}", anyhow::Error::new(error)), fix)];
        }
        Err(error) => return vec![Check::fail(NAME, format!("{:#}", anyhow::Error::new(error)), fix)],
    };
    let probed = opened.backend().probe().await;
    let mut checks = vec![match probed {
        Ok(()) => Check::ok(NAME, format!("{url} opens and can be written")),
        Err(error) => Check::fail(NAME, format!("{url}: {error}"), fix),
    }];
    if let Some(sealed) = opened.sealed() {
        let counted = sealed.counted().await.ok().flatten();
        checks.push(encryption(&hapax_admin::stats::encryption_view(sealed, counted)));
    }
    opened.close().await;
    checks
}

/// The running service's report on the store's keys; `None` if it refuses to answer.
async fn asked(globals: &Globals) -> Option<EncryptionView> {
    let client = service::client(globals).ok()?;
    let stats: StatsView = client.get("stats").await.ok()?;
    stats.store?.encryption
}

/// The keys in use, and how much is encrypted with each.
fn encryption(keys: &EncryptionView) -> Check {
    Check::ok("encryption", keys.to_string())
}
