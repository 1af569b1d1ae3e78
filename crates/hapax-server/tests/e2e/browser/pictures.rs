//! Pictures of every page, light and dark, for the documentation: written to docs/images with HAPAX_SCREENSHOTS=1, so
//! that a usual run leaves the tree as it was.

use std::path::Path;

use super::chromium::{Kind, browse};
use super::site::{PATIENCE, Site, TOKEN};
use crate::harness::Reply;

/// The largest picture, in bytes: they are part of the repository.
const PICTURE_BYTES_MAX: usize = 200 * 1024;

/// A service on a day with everything: copies, conflicts, dead letters.
pub(crate) async fn busy() -> Site {
    let site = Site::answering(|received| {
        let is_bad = received.event_id.contains("_9");
        Reply::Status(if is_bad { 400 } else { 200 })
    })
    .await;
    for number in 0..6 {
        site.deliver(&format!("evt_1Qx7b{number}")).await;
        site.deliver(&format!("evt_9Zk3c{number}")).await;
    }
    let other = site.sender.stripe_event(
        "evt_1Qx7b5",
        "invoice.paid",
        &serde_json::json!({ "amount": 1200 }),
    );
    assert_eq!(site.service.deliver(&other).await.field("status"), "conflict");
    site.sink.until_received(12, PATIENCE).await;
    site
}

/// The name of each page, and where it is.
pub(crate) async fn pages(site: &Site) -> Vec<(&'static str, String)> {
    let id = site
        .service
        .deliver(&site.sender.event("evt_1Qx7b5"))
        .await
        .field("id");
    let mut pages = vec![("event", format!("/events/{id}"))];
    for (name, path) in [
        ("overview", "/"),
        ("events", "/events"),
        ("dead", "/dead"),
        ("replays", "/replays"),
        ("sources", "/sources"),
        ("destinations", "/destinations"),
        ("audit", "/audit"),
        ("api", "/api"),
    ] {
        pages.push((name, path.to_owned()));
    }
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_its_picture_in_light_and_dark() {
    let site = busy().await;
    let pages = pages(&site).await;
    let is_kept = std::env::var_os("HAPAX_SCREENSHOTS").is_some_and(|value| value == "1");
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/destinations").await;
        // Something for the audit trail and the list of replays.
        browser
            .click("main form[action='/destinations/app/pause'] button[type=submit]")
            .await;
        browser.until_shown("The destination is paused.").await;
        browser
            .click("main form[action='/destinations/app/resume'] button[type=submit]")
            .await;
        browser.until_shown("The destination goes on.").await;
        for (name, path) in &pages {
            for theme in ["light", "dark"] {
                browser.open(path).await;
                browser
                    .click(&format!("form[action='/theme'] button[value={theme}]"))
                    .await;
                browser.run("scrollTo(0, 0); document.activeElement.blur()").await;
                let picture = browser.client.screenshot().await.unwrap();
                assert!(
                    picture.starts_with(b"\x89PNG") && picture.len() <= PICTURE_BYTES_MAX,
                    "{name}: {} bytes",
                    picture.len()
                );
                if is_kept {
                    keep(&format!("{name}-{theme}.png"), &picture);
                }
            }
        }
    })
    .await;
}

fn keep(name: &str, picture: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), picture).unwrap();
}
