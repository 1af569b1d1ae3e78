//! Providers choose their bytes; none of them ever run.

use serde_json::json;

use super::chromium::{Kind, browse};
use super::site::{Site, TOKEN};

const BAD: &str = "</pre><script>window.owned = 1</script><img src=x onerror='window.owned = 2'>";

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_of_script_is_shown_as_text_and_nothing_of_it_runs() {
    let site = Site::start().await;
    let object = json!({ "note": BAD });
    let delivery = site
        .sender
        .stripe_event("evt_<script>window.owned=3</script>", BAD, &object);
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.until_shown("New events appear on top.").await;
        // Drawn by the script as it arrives, then by the server. The observer also sees elements that are gone by then.
        browser
            .run(
                "window.foreign = 0;\
                 const look = (node) => node.querySelector?.('img, script') && (window.foreign += 1);\
                 const watch = new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach(look)));\
                 watch.observe(document.body, { childList: true, subtree: true });",
            )
            .await;
        let id = site.service.deliver_twice(&delivery).await;
        browser.until_shown("evt_<script>").await;
        assert_eq!(browser.ask("typeof window.owned").await, "undefined");
        assert_eq!(browser.ask("window.foreign").await, 0);
        for page in [
            format!("/events/{id}"),
            format!("/events/{id}?as=raw"),
            "/events".to_owned(),
        ] {
            browser.open(&page).await;
            browser.until_shown("<script>window.owned").await;
            assert_eq!(browser.ask("typeof window.owned").await, "undefined", "{page}");
            let ours = "[...document.scripts].every((one) => one.src.includes('/assets/hapax.js'))";
            assert_eq!(browser.ask(ours).await, true, "{page}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_runs_no_inline_script_even_if_one_gets_in() {
    let site = Site::start().await;
    site.deliver("evt_inline").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser
            .run("const one = document.createElement('script'); one.textContent = 'window.owned = 1'; document.body.append(one);")
            .await;
        assert_eq!(browser.ask("typeof window.owned").await, "undefined");
    })
    .await;
}
