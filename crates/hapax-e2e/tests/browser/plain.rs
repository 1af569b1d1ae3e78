//! Without JavaScript: everything can be read and done.

use super::chromium::{Kind, browse};
use super::site::{PATIENCE, Site, TOKEN};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_script_events_are_found_opened_and_replayed_and_the_theme_changes() {
    let site = Site::start().await;
    for id in ["evt_plain", "evt_other"] {
        site.deliver(id).await;
    }
    site.sink.until_effects(2, PATIENCE).await;
    browse(&site.url(), Kind::Plain, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.until_shown("Reload the page to see new events.").await;
        browser.fill("#q", "evt_plain").await;
        browser.click("form[role=search] button").await;
        browser.until_shown("evt_plain").await;
        assert!(!browser.text().await.contains("evt_other"));
        browser.click("form[action='/theme'] button[value=dark]").await;
        let html = browser.find("html[data-theme=dark]").await;
        assert_eq!(html.attr("data-theme").await.unwrap().as_deref(), Some("dark"));
        browser.open("/events?q=evt_plain").await;
        browser.click("[data-events] a").await;
        browser.until_shown("Event evt_plain").await;
        browser.click("main input[name=mode][value=force]").await;
        browser
            .click("main form[action$='/replay'] button[type=submit]")
            .await;
        browser
            .until_shown("The event was queued for delivery again")
            .await;
        for page in [
            "/",
            "/dead",
            "/replays",
            "/sources",
            "/outbox",
            "/duplicates",
            "/destinations",
            "/audit",
        ] {
            browser.open(page).await;
            browser.find("main h1").await;
        }
    })
    .await;
    site.sink.until_effects(3, PATIENCE).await;
}
