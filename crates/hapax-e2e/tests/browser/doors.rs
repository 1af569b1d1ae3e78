//! Signing in and out.

use super::chromium::{Kind, browse};
use super::site::{READER, Site, TOKEN};

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_and_the_right_one_leads_to_the_page_that_was_wanted() {
    let site = Site::start().await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.open("/events?q=status%3Adead").await;
        assert!(browser.path().await.starts_with("/login?next="));
        browser.fill("#token", "a-wrong-token").await;
        browser.click("main button[type=submit]").await;
        browser.until_shown("This is not a token of this service.").await;
        browser.fill("#token", TOKEN).await;
        browser.click("main button[type=submit]").await;
        browser.until_shown("Signed in as").await;
        assert_eq!(browser.path().await, "/events?q=status%3Adead");
        let cookies = browser.ask("document.cookie").await;
        assert!(!cookies.as_str().unwrap().contains("hapax_session"), "{cookies}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_out_is_out() {
    let site = Site::start().await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        browser.click(".who button").await;
        browser.until_shown("You have signed out.").await;
        browser.open("/events").await;
        assert_eq!(browser.path().await, "/login?next=%2Fevents");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_viewer_sees_no_working_button() {
    let site = Site::start().await;
    let id = site.deliver("evt_read").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(READER, "/events").await;
        for page in [&format!("/events/{id}"), "/destinations", "/dead", "/events?q=source%3Astripe"] {
            browser.open(page).await;
            browser.until_shown("reader").await;
            let working = browser
                .ask("[...document.querySelectorAll('main form[method=post] button')].filter((one) => !one.matches(':disabled')).length")
                .await;
            assert_eq!(working, 0, "{page}");
        }
        // Hiding a button is not protection: the form is sent without it.
        browser.open(&format!("/events/{id}")).await;
        browser
            .run("for (const one of document.querySelectorAll('fieldset')) one.disabled = false;\
                  document.querySelector('main form[action$=\"/replay\"]').submit();")
            .await;
        browser.until_shown("Your role does not allow this").await;
    })
    .await;
    assert_eq!(site.sink.applications(), 1);
}
