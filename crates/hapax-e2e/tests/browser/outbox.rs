//! The outbox page: waiting rows, refused rows with the reason, and retrying them.

use rusqlite::Connection;

use super::chromium::{Kind, browse};
use super::site::{PATIENCE, Site, TOKEN};
use hapax_testkit::{Sender, Setup, Sink};

/// An application whose outbox has three rows: one that can be relayed, one that cannot, and one that waits behind it.
pub(super) fn application(setup: &Setup, url: &str) -> Connection {
    let connection = Connection::open(setup.directory.path().join("app.db")).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
    let insert =
        "INSERT INTO hapax_outbox (kind, target, idempotency_key, order_key) VALUES (?1, ?2, ?3, ?4)";
    for (kind, target, key, order_key) in [
        ("http", url, "receipt-1", None),
        ("destination", "mails", "receipt-2", Some("ada")),
        ("http", url, "receipt-3", Some("ada")),
    ] {
        connection
            .execute(insert, (kind, target, key, order_key))
            .unwrap();
    }
    connection
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_row_is_seen_and_tried_again() {
    let sink = Sink::start().await;
    let setup = Setup::stripe_to(&sink)
        .server(&format!("admin_token = \"{TOKEN}\""))
        .http("mail", &sink.url(), "");
    let application = application(&setup, &sink.url());
    let path = setup.directory.path().join("app.db");
    let setup = setup.table(&format!(
        "[outbox.shop]\nurl = \"sqlite:{}\"\nallow_targets = [\"127.0.0.1\"]\n",
        path.display()
    ));
    let site = Site {
        service: setup.start().await,
        sink,
        sender: Sender::of("stripe"),
    };
    site.deliver("evt_beside").await;
    site.sink.until_effects(2, PATIENCE).await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/").await;
        hapax_testkit::eventually("the first page says so", PATIENCE, async || {
            browser.open("/").await;
            let text = browser.text().await;
            text.contains("1 refused row of the outbox shop").then_some(())
        })
        .await;
        browser.click("main a[href='/outbox']").await;
        browser.until_shown("did you mean `mail`?").await;
        let text = browser.text().await;
        assert!(
            text.contains("has refused rows") && text.contains("receipt-2"),
            "{text}"
        );
        application
            .execute(
                "UPDATE hapax_outbox SET target = 'mail' WHERE target = 'mails'",
                [],
            )
            .unwrap();
        browser
            .click("main form[action='/outbox/shop/rows/2/retry'] button")
            .await;
        browser.until_shown("The row will be retried.").await;
        site.sink.until_effects(4, PATIENCE).await;
        browser.open("/outbox").await;
        let text = browser.text().await;
        assert!(!text.contains("receipt-2"), "{text}");
    })
    .await;
    let keys: Vec<String> = site.sink.received().into_iter().map(|one| one.key).collect();
    let (second, third) = (
        keys.iter().position(|key| key == "receipt-2"),
        keys.iter().position(|key| key == "receipt-3"),
    );
    assert!(second.is_some() && second < third, "{keys:?}");
}
