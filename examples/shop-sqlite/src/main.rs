//! A shop that marks orders paid from Stripe events, once each, on SQLite.
//!
//!     STRIPE_WEBHOOK_SECRET=whsec_… cargo run -p shop-sqlite
//!
//! Point Stripe at `/webhooks/stripe`, or try it: `hapax send stripe --to http://127.0.0.1:3000/webhooks/stripe`.

use anyhow::Context as _;
use hapax::webhook::Source;
use shop_sqlite::Shop;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let secret = std::env::var("STRIPE_WEBHOOK_SECRET").context("set STRIPE_WEBHOOK_SECRET")?;
    let file = std::env::var("DATABASE").unwrap_or_else(|_| "shop.db".to_owned());
    let shop = Shop::open(file.as_ref(), Source::provider("stripe", &[secret])?)?;

    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, shop.router()).await?;
    Ok(())
}
