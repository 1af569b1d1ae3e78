use std::env;

use hapax::webhook::Source;
use shop::{Failure, Shop};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let file = env::var("DATABASE").unwrap_or_else(|_| "shop.db".to_owned());
    let address = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let shop = Shop::open(file.as_ref(), source()?)?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, shop.router()).await?;
    Ok(())
}

/// Whose signature is checked: Stripe's, or that of Hapax in front of the app.
fn source() -> Result<Source, Failure> {
    Ok(if env::var_os("BEHIND_HAPAX").is_some() {
        Source::hapax(&[variable("APP_SIGNING_SECRET")?])?
    } else {
        Source::provider("stripe", &[variable("STRIPE_WEBHOOK_SECRET")?])?
    })
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("{name} is not set; run: set -a && . ./.env && set +a"))
}
