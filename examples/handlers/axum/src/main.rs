//! Serves one version: `cargo run -p handlers-axum -- right`.
//!
//! `STRIPE_WEBHOOK_SECRET` is the secret, `DATABASE` the file (shop.db) and `LISTEN` the address (127.0.0.1:3000);
//! `BANK_TAKES_MS` is how long the bank takes (100).

use std::time::Duration;

use anyhow::Context as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let version = std::env::args()
        .nth(1)
        .context("say which version: right, check-then-act or insert-then-work")?;
    let secret = std::env::var("STRIPE_WEBHOOK_SECRET").context("set STRIPE_WEBHOOK_SECRET")?;
    let file = std::env::var("DATABASE").unwrap_or_else(|_| "shop.db".to_owned());
    let bank_takes = std::env::var("BANK_TAKES_MS").unwrap_or_else(|_| "100".to_owned());
    let bank_takes = Duration::from_millis(bank_takes.parse().context("BANK_TAKES_MS is a number")?);
    let router = handlers_axum::router(version.parse()?, file.as_ref(), &secret, bank_takes)?;

    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
