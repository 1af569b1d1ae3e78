//! One key, several targets: each gets the call once, under the id that the writer of the row chose.

use hapax_verify::{Options, Request, Verification, Verifier, catalogue};

use super::app::{App, Row};
use super::{LIMIT, setup_with};
use hapax_testkit::{Received, Sink, secret_of};

/// The signed id, after verifying the signature.
fn signed_id(received: &Received) -> &str {
    let secret = secret_of("standard-webhooks");
    let preset = catalogue::get("standard-webhooks").unwrap();
    let verifier = Verifier::new(&preset.recipe(), &[secret], &Options::default()).unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64;
    let request = Request::new(&received.headers, &received.body, now);
    let verification = verifier.verify(&request).expect("our signature verifies");
    assert!(matches!(verification, Verification::Events(_)));
    received.header("webhook-id").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_goes_to_several_targets_once_each_under_the_signed_id_that_its_writer_chose() {
    for app in [App::postgres().await, App::sqlite()] {
        let sink = Sink::start().await;
        let (first, second, named) = (
            sink.url(),
            format!("{}/2", sink.url()),
            format!("{}/3", sink.url()),
        );
        let secret = secret_of("standard-webhooks");
        let mut service = setup_with(&app, &sink, &format!("secret = \"{secret}\"\n"))
            .http("mail", &named, &format!("secret = \"{secret}\""))
            .start()
            .await;
        let rows = [
            Row::http(&first, "receipt-7"),
            Row::http(&second, "receipt-7"),
            Row::destination("mail", "receipt-7"),
            Row::http(&first, "order.8"),
        ];
        for row in &rows {
            app.write(row).await;
        }
        sink.until_received(rows.len(), LIMIT).await;
        app.until_relayed(rows.len() * 2, LIMIT).await;
        // The same rows again, to a process that has only the store to recognise them.
        service.restart().await;
        for row in &rows {
            app.write(row).await;
        }
        app.until_relayed(rows.len() * 4, LIMIT).await;
        let received = sink.received();
        let mut calls: Vec<(&str, &str, &str)> = received
            .iter()
            .map(|one| (one.path.as_str(), one.key.as_str(), signed_id(one)))
            .collect();
        calls.sort_unstable();
        let expected = [
            ("/hook", "order.8", "order%2E8"),
            ("/hook", "receipt-7", "receipt-7"),
            ("/hook/2", "receipt-7", "receipt-7"),
            ("/hook/3", "receipt-7", "receipt-7"),
        ];
        assert_eq!(calls, expected);
    }
}
