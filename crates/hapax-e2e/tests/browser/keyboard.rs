//! The keyboard, and the completion of the search box.

use super::chromium::{Kind, browse};
use super::site::{Site, TOKEN};

const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const DOWN: &str = "\u{E015}";

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_walked_opened_and_replayed_by_keys_and_typing_is_left_alone() {
    let site = Site::start().await;
    for id in ["evt_a", "evt_b"] {
        site.deliver(id).await;
    }
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        let focused = "document.activeElement.textContent";
        browser.press("j").await;
        assert_eq!(browser.ask(focused).await, "evt_b");
        browser.press("j").await;
        assert_eq!(browser.ask(focused).await, "evt_a");
        browser.press("k").await;
        assert_eq!(browser.ask(focused).await, "evt_b");
        browser.press("r").await;
        browser
            .until(
                "it asks before it replays",
                "document.querySelector('#replay').open",
            )
            .await;
        assert_eq!(
            browser
                .ask("document.querySelector('[data-replay-id]').textContent")
                .await,
            "evt_b"
        );
        browser.press(ESCAPE).await;
        browser
            .until("the dialog is closed", "!document.querySelector('#replay').open")
            .await;
        browser.press("?").await;
        browser
            .until("the keys are shown", "document.querySelector('#help').open")
            .await;
        browser.press(ESCAPE).await;
        browser.press("/").await;
        assert_eq!(browser.ask("document.activeElement.id").await, "q");
        browser.press("jk?r").await;
        assert_eq!(browser.ask("document.querySelector('#q').value").await, "jk?r");
        assert_eq!(browser.ask("document.querySelector('#help').open").await, false);
        browser.open("/events").await;
        browser.press("j").await;
        browser.press(ENTER).await;
        browser.until_shown("Event evt_b").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_box_completes_keys_and_names() {
    let site = Site::start().await;
    site.deliver("evt_complete").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.fill("#q", "sou").await;
        browser
            .until(
                "keys are offered",
                "document.querySelector('#q').getAttribute('aria-expanded') === 'true'",
            )
            .await;
        browser.press(DOWN).await;
        browser
            .until(
                "the first is marked",
                "document.querySelector('#q').getAttribute('aria-activedescendant') === 'q-option-0'",
            )
            .await;
        browser.press(ENTER).await;
        browser
            .until(
                "the key is taken",
                "document.querySelector('#q').value === 'source:'",
            )
            .await;
        browser
            .until(
                "names are offered",
                "document.querySelector('#q-options').textContent.includes('source:stripe')",
            )
            .await;
        browser.press(DOWN).await;
        browser.press(ENTER).await;
        browser
            .until(
                "the name is taken",
                "document.querySelector('#q').value === 'source:stripe '",
            )
            .await;
        browser.press(ESCAPE).await;
        browser.press(ENTER).await;
        browser
            .until("it searches", "location.search.includes('stripe')")
            .await;
        browser.until_shown("evt_complete").await;
    })
    .await;
}
