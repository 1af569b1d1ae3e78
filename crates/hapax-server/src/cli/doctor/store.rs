//! Whether the store opens, or is held by the running service, which then answers for it.

use std::path::Path;
use std::sync::Arc;

use hapax_core::{Operations as _, SystemClock};
use hapax_store_sqlite::{Options, SqliteStore};

use super::check::Check;
use super::service::Service;
use crate::config::StoreUrl;
use crate::http::admin::ReadyView;

const NAME: &str = "store";

pub(super) async fn check(store: &StoreUrl, service: &Service) -> Vec<Check> {
    let StoreUrl::Sqlite(path) = store;
    let check = match service {
        Service::Running(view) => held(store, view),
        Service::Absent | Service::Strange(_) if !path.exists() => Check::ok(
            NAME,
            format!("{store} does not exist yet; the first `hapax serve` makes it"),
        ),
        Service::Absent | Service::Strange(_) => open(store, path).await,
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

async fn open(store: &StoreUrl, path: &Path) -> Check {
    let fix =
        "stop the other process, or restore a backup if the file is damaged; keep a copy of the file first";
    let options = Options::new(Arc::new(SystemClock::default()));
    let opened = match SqliteStore::open(path, options) {
        Ok(opened) => opened,
        Err(error) => return Check::fail(NAME, format!("{store}: {error}"), fix),
    };
    let probed = opened.probe().await;
    opened.close().await;
    match probed {
        Ok(()) => Check::ok(NAME, format!("{store} opens and can be written")),
        Err(error) => Check::fail(NAME, format!("{store}: {error}"), fix),
    }
}
