//! The live tail: paused while someone reads, and honest about what it cannot know.

use super::chromium::{Kind, browse};
use super::site::{Site, TOKEN};

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_tail_counts_what_comes_and_shows_it_when_asked() {
    let site = Site::start().await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.until_shown("New events appear on top.").await;
        browser.click("[data-live-pause]").await;
        browser.until_shown("New events are counted but not shown.").await;
        site.deliver("evt_held").await;
        // The event and its duplicate.
        browser.until_shown("Show 2 new").await;
        assert!(!browser.text().await.contains("evt_held"));
        browser.click("[data-live-new]").await;
        browser.until_shown("evt_held").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_holds_still_while_the_focus_is_in_the_table() {
    let site = Site::start().await;
    site.deliver("evt_first").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.until_shown("New events appear on top.").await;
        browser.press("j").await;
        site.deliver("evt_second").await;
        browser
            .until_shown("New events wait while you are in the table.")
            .await;
        assert!(!browser.text().await.contains("evt_second"));
        browser.press("\u{E00C}").await;
        browser.until_shown("evt_second").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_a_tail_cannot_judge_says_that_it_is_not_live() {
    let site = Site::start().await;
    site.deliver("evt_dead").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events?q=status%3Adead").await;
        browser
            .until_shown("Not live: the search uses more than source, type and id")
            .await;
        browser.open("/events?q=source%3Astripe").await;
        browser.until_shown("New events appear on top.").await;
    })
    .await;
}
