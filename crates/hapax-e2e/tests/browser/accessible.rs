//! Accessibility: names, landmarks, headers, contrast in light and dark, a visible focus, narrow screens.

use serde_json::{Value, json};

use super::chromium::{Browser, Kind, browse};
use super::pictures::{busy, pages};
use super::site::{Site, TOKEN};

const AUDIT: &str = include_str!("audit.js");

async fn faults(browser: &Browser, theme: &str) -> Vec<String> {
    browser
        .run(&format!(
            "document.documentElement.dataset.theme = '{theme}'; document.querySelector('a[href]').focus()"
        ))
        .await;
    // A browser shows the focus only for keyboard users. Not from the last control: there the key leaves the page.
    browser.press("\u{E004}").await;
    let found: Value = browser.run(AUDIT).await;
    serde_json::from_value(found).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_passes_the_checks_in_light_and_dark() {
    let site = busy().await;
    let pages = pages(&site).await;
    browse(&site.url(), Kind::Usual, async |browser| {
        let mut found = Vec::new();
        browser.open("/login").await;
        for theme in ["light", "dark"] {
            found.extend(
                faults(browser, theme)
                    .await
                    .into_iter()
                    .map(|one| format!("/login {theme}: {one}")),
            );
        }
        browser.sign_in(TOKEN, "/events").await;
        for (_, path) in &pages {
            browser.open(path).await;
            for theme in ["light", "dark"] {
                let faults = faults(browser, theme).await;
                found.extend(faults.into_iter().map(|one| format!("{path} {theme}: {one}")));
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checks_find_what_is_wrong() {
    let site = Site::start().await;
    site.deliver("evt_wrong").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        assert_eq!(faults(browser, "light").await, Vec::<String>::new());
        let wrongs = [
            ("<h1>Another</h1>", "the page has not one h1"),
            ("<button></button>", "a control has no name"),
            ("<input name='x' placeholder='no label'>", "a control has no name"),
            ("<nav></nav>", "a navigation has no name"),
            ("<table><tr><td>1</td></tr></table>", "a table has no header"),
            ("<svg role='img'></svg>", "a picture has no name"),
            ("<p class='wrong-contrast'>x</p>", "text is hard to read"),
            ("<h4>Deep</h4>", "a heading leaves a level out"),
            ("<p id='main'></p>", "the id main is there twice"),
            ("<a href='#' class='wrong-focus'>x</a>", "the focus is not seen"),
        ];
        // A style sheet, since the page's policy allows no inline styles.
        browser
            .run("const sheet = new CSSStyleSheet();\
                  sheet.replaceSync('.wrong-contrast { color: #999; background: #fff } .wrong-focus:focus { outline: none !important }');\
                  document.adoptedStyleSheets = [sheet];")
            .await;
        for (markup, fault) in wrongs {
            let add = format!(
                "const box = document.createElement('div'); box.id = 'wrong-box'; box.innerHTML = {}; document.querySelector('main').append(box)",
                json!(markup)
            );
            browser.run(&add).await;
            let found = faults(browser, "light").await;
            assert!(found.iter().any(|one| one.starts_with(fault)), "{fault}: {found:?}");
            browser.run("document.querySelector('#wrong-box').remove()").await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_scrolls_sideways_on_a_small_telephone() {
    let site = busy().await;
    let pages = pages(&site).await;
    browse(&site.url(), Kind::Narrow, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        for (_, path) in &pages {
            browser.open(path).await;
            let widths = browser
                .ask("[document.documentElement.scrollWidth, innerWidth, screen.width]")
                .await;
            assert_eq!(widths, json!([360, 360, 360]), "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_theme_changes_at_once_and_stays() {
    let site = Site::start().await;
    site.deliver("evt_theme").await;
    browse(&site.url(), Kind::Usual, async |browser| {
        browser.sign_in(TOKEN, "/events").await;
        let ground = "getComputedStyle(document.documentElement).backgroundColor";
        browser.click("form[action='/theme'] button[value=light]").await;
        assert_eq!(browser.ask(ground).await, "rgb(245, 246, 248)");
        browser.click("form[action='/theme'] button[value=dark]").await;
        assert_eq!(browser.ask(ground).await, "rgb(17, 20, 24)");
        browser.open("/events").await;
        assert_eq!(browser.ask(ground).await, "rgb(17, 20, 24)");
    })
    .await;
}
