//! A webhook handler in three versions. Each takes Stripe's payments, asks a slow bank, and books the amount. One books
//! it once, however often an event arrives; the other two have the most common flaws.
//!
//! `hapax twice` finds both: see `docs/guides/test-your-handler.md`.

mod check_then_act;
mod insert_then_work;
mod right;
mod shop;

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;

use shop::Shop;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Claims the event and books it in one transaction.
    Right,
    /// Checks whether the event is known, and remembers it at the end.
    CheckThenAct,
    /// Remembers the event first, and works afterwards.
    InsertThenWork,
}

impl FromStr for Version {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "right" => Ok(Self::Right),
            "check-then-act" => Ok(Self::CheckThenAct),
            "insert-then-work" => Ok(Self::InsertThenWork),
            other => {
                anyhow::bail!(
                    "`{other}` is not a version; expected right, check-then-act or insert-then-work"
                )
            }
        }
    }
}

/// The handler at `/webhooks`, with its data in this file and a bank that takes this long to answer.
pub fn router(version: Version, file: &Path, secret: &str, bank_takes: Duration) -> anyhow::Result<Router> {
    let shop = Shop::open(file, secret, bank_takes)?;
    Ok(Router::new()
        .route("/webhooks", post(receive))
        .with_state((version, shop)))
}

async fn receive(
    State((version, shop)): State<(Version, Shop)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<&'static str, StatusCode> {
    let payment = shop.verify(&headers, &body).ok_or(StatusCode::BAD_REQUEST)?;
    let handled = match version {
        Version::Right => right::handle(&shop, payment).await,
        Version::CheckThenAct => check_then_act::handle(&shop, payment).await,
        Version::InsertThenWork => insert_then_work::handle(&shop, payment).await,
    };
    match handled {
        Ok(()) => Ok("ok"),
        Err(error) => {
            eprintln!("not handled: {error:#}");
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}
