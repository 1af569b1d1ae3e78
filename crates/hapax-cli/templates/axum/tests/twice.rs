//! Duplicates in every way that they arrive, and forged requests: each event is booked once.

use hapax::webhook::Source;
use hapax_twice::Twice;
use shop::{Failure, Shop};

const SECRET: &str = "whsec_test";

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_booked_once() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let source = Source::provider("stripe", &[SECRET])?;
    let shop = Shop::open(&folder.path().join("shop.db"), source)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/webhooks/stripe", listener.local_addr()?);
    let router = shop.clone().router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let snapshot = move || {
        let payments = shop.payments();
        async move {
            let lines = payments?
                .into_iter()
                .map(|payment| format!("{payment:?}\n"));
            Ok::<_, Failure>(lines.collect::<String>())
        }
    };
    Twice::new(url)
        .provider("stripe")
        .secret(SECRET)
        .snapshot(snapshot)
        .run()
        .await?
        .assert();
    Ok(())
}
