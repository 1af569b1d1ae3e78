//! The book under `/docs`: its scripts run under its policy, before any sign-in.

use super::chromium::{Kind, browse};
use super::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn the_book_is_read_and_searched_without_signing_in() {
    let site = Site::start().await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.open("/login").await;
        browser.click("footer a[href='/docs/']").await;
        browser.until_shown("Every webhook takes effect exactly once.").await;
        // The list of pages is written by a script of the book.
        browser.click("#mdbook-sidebar a[href$='guides/limits.html']").await;
        browser.until_shown("Limits: ").await;
        browser.open("/docs/guides/limits.html?search=max_attempts").await;
        browser
            .until(
                "the search finds the page of the configuration",
                "[...document.querySelectorAll('#mdbook-searchresults a')].some(link => link.href.includes('/reference/config.html'))",
            )
            .await;
    })
    .await;
}
