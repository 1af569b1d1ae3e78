//! A shop that marks orders paid from Stripe events, once each, on PostgreSQL.
//!
//!     DATABASE_URL=postgres://localhost/shop STRIPE_WEBHOOK_SECRET=whsec_… cargo run -p shop-postgres
//!
//! Point Stripe at `/webhooks/stripe`, or try it: `hapax send stripe --to http://127.0.0.1:3000/webhooks/stripe`.

mod checkout;

use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::routing::post;
use hapax::Inbox;
use hapax::webhook::{InboxLayer, Source};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = connect(&setting("DATABASE_URL")?).await?;
    let secret = setting("STRIPE_WEBHOOK_SECRET")?;
    let layer = InboxLayer::new(Source::provider("stripe", &[secret])?, Inbox::new("shop")?, pool);
    let app = Router::new()
        .route("/webhooks/stripe", post(checkout::completed))
        .layer(layer);

    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = tokio::net::TcpListener::bind(&address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

/// A pool that times out before the sender does. Creates the tables if they are missing.
async fn connect(url: &str) -> anyhow::Result<PgPool> {
    let options = PgPoolOptions::new()
        .max_connections(16)
        .acquire_timeout(Duration::from_secs(3));
    let pool = options.connect(url).await.context("cannot reach the database")?;
    hapax::create_tables(&pool).await?;
    sqlx::raw_sql(include_str!("../schema.sql"))
        .execute(&pool)
        .await?;
    Ok(pool)
}

fn setting(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("set {name}"))
}
