//! An operator's bad day, from the login to the sign-out.

use std::sync::Arc;

use super::chromium::{Kind, browse};
use super::site::{PATIENCE, Site, TOKEN};
use hapax_testkit::Reply;

#[tokio::test(flavor = "multi_thread")]
async fn an_event_arrives_live_is_opened_shows_its_duplicate_and_is_replayed() {
    let site = Site::start().await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.until_shown("New events appear on top.").await;
        let id = site.deliver("evt_live").await;
        browser.until_shown("evt_live").await;
        // The row is updated from the store without reloading the page.
        browser
            .until(
                "the row is settled",
                "document.querySelector('[data-events]').textContent.includes('completed')",
            )
            .await;
        browser.click(&format!("a[href='/events/{id}']")).await;
        browser.until_shown("Event evt_live").await;
        let text = browser.text().await;
        assert!(
            text.contains("Duplicates") && text.contains("completed"),
            "{text}"
        );
        browser.click("main input[name=mode][value=force]").await;
        browser
            .click("main form[action$='/replay'] button[type=submit]")
            .await;
        browser
            .until_shown("The event was queued for delivery again.")
            .await;
    })
    .await;
    site.sink.until_effects(2, PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_dead_letters_is_counted_confirmed_and_replayed_with_progress() {
    let site = Site::answering(|_| Reply::Status(400)).await;
    for number in 0..5 {
        site.deliver(&format!("evt_dead_{number}")).await;
    }
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/dead").await;
        hapax_testkit::eventually("five are dead", PATIENCE, async || {
            browser.open("/dead").await;
            let found = browser
                .ask("document.querySelector('table a[href^=\"/events?\"]')?.textContent")
                .await;
            (found == "5").then_some(())
        })
        .await;
        // Only now: the requests received so far are not answered yet.
        site.sink.behave(|_| Reply::Status(200));
        browser.click("main form[action='/dead/replay'] button").await;
        browser.until_shown("Replay a group").await;
        let asked = browser.text().await;
        assert!(asked.contains('5'), "{asked}");
        browser
            .click("main form[action='/dead/replay/start'] button[type=submit]")
            .await;
        browser.until_shown("events examined").await;
        browser.find("progress").await;
        browser.until_shown("5 of 5 events examined").await;
        browser.until_shown("done").await;
    })
    .await;
    site.sink.until_effects(5, PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_is_paused_and_goes_on() {
    let site = Site::start().await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/destinations").await;
        browser
            .click("main form[action='/destinations/app/pause'] button[type=submit]")
            .await;
        browser.until_shown("The destination is paused.").await;
        site.deliver("evt_held").await;
        browser.open("/events?q=evt_held").await;
        browser.until_shown("pending").await;
        assert_eq!(site.sink.applications(), 0);
        browser.open("/destinations").await;
        browser
            .click("main form[action='/destinations/app/resume'] button[type=submit]")
            .await;
        browser.until_shown("The destination was resumed.").await;
    })
    .await;
    site.sink.until_effects(1, PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_shared_by_its_address() {
    let site = Site::start().await;
    for id in ["evt_one", "evt_two"] {
        site.deliver(id).await;
    }
    let shared = Arc::new(parking_lot::Mutex::new(String::new()));
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.fill("#q", "source:stripe evt_two").await;
        browser.press("\u{E007}").await;
        browser
            .until("the search is over", "location.search !== ''")
            .await;
        browser.until_shown("evt_two").await;
        *shared.lock() = browser.path().await;
    })
    .await;
    let address = shared.lock().clone();
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, &address).await;
        assert_eq!(browser.path().await, address);
        browser.until_shown("evt_two").await;
        assert!(!browser.text().await.contains("evt_one"));
        assert_eq!(
            browser.ask("document.querySelector('#q').value").await,
            "source:stripe evt_two"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_saved_opened_and_deleted() {
    let site = Site::start().await;
    site.deliver("evt_view").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser
            .sign_in(TOKEN, "/events?q=source%3Astripe+duplicates%3A%3E0")
            .await;
        browser
            .run("document.querySelector('#search-name').closest('details').open = true")
            .await;
        browser.fill("#search-name", "Stripe twice").await;
        browser.click("main form[action='/searches'] button").await;
        browser.until_shown("The search was saved.").await;
        browser.open("/events").await;
        let tab = browser
            .find("nav[aria-label='Saved searches'] a[href*='duplicates%3A%3E0']:not([href='/events?q=duplicates%3A%3E0'])")
            .await;
        assert_eq!(tab.text().await.unwrap(), "Stripe twice");
        tab.click().await.unwrap();
        browser.click("main form[action='/searches/delete'] button").await;
        browser.until_shown("The saved search was deleted.").await;
        assert!(!browser.text().await.contains("Stripe twice"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_ten_minutes_are_on_three_pages_and_say_whose_they_are() {
    let site = Site::start().await;
    site.deliver("evt_recent").await;
    site.sink.until_effects(1, PATIENCE).await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/").await;
        browser
            .until_shown("Figures of the process that answers, which started")
            .await;
        let row = "[...document.querySelectorAll('#ten-minutes ~ .table tr')].map((row) => row.textContent)";
        let rows = browser.ask(row).await.to_string();
        assert!(rows.contains("stripe250.0%0.0%0"), "{rows}");
        assert!(rows.contains("app100"), "{rows}");
        browser.open("/sources").await;
        browser
            .until_shown(
                "Last ten minutes, in this process: 2 events, 50.0% duplicates (p95 0.0%), 0 unproven; ack",
            )
            .await;
        browser.open("/destinations").await;
        browser
            .until_shown("1 completed, 0 failed, 0 dead in this process; took")
            .await;
    })
    .await;
}
