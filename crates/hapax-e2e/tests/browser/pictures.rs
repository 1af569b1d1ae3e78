//! Screenshots of every page, light and dark, for the documentation: written to docs/images with HAPAX_SCREENSHOTS=1,
//! so that a normal run leaves the tree unchanged.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};
use hapax_core::{Clock as _, Operations as _, Owner, SystemClock};
use hapax_store_sqlite::{Options, SqliteStore};

use super::chromium::{Browser, Kind, browse};
use super::site::{PATIENCE, READER, Site, TOKEN};
use hapax_testkit::{Reply, Sender, Setup, Sink};

/// The largest screenshot in bytes: they are part of the repository.
const PICTURE_BYTES_MAX: usize = 200 * 1024;

/// The event types that Stripe sends in the screenshots.
const KINDS: [&str; 6] = [
    "invoice.paid",
    "payment_intent.succeeded",
    "charge.refunded",
    "customer.created",
    "invoice.payment_failed",
    "checkout.session.completed",
];

/// A service with a bit of everything: several providers, duplicates, a conflict, dead letters.
pub(crate) async fn busy() -> Site {
    let sink = Sink::that(|received| {
        let is_bad = received.path == "/billing" && received.event_id.ends_with('3');
        Reply::Status(if is_bad { 400 } else { 200 })
    })
    .await;
    let billing = sink.url().replace("/hook", "/billing");
    let setup = Setup::new()
        .server(&format!("admin_token = \"{TOKEN}\""))
        .server(&format!(
            "tokens = [{{ name = \"reader\", token = \"{READER}\", role = \"read\" }}]"
        ))
        .server("public_url = \"https://hooks.example.com\"")
        .source("stripe", "stripe", "deliver_to = [\"app\", \"billing\"]")
        .source("github", "github", "deliver_to = [\"app\"]")
        .source("shopify", "shopify", "deliver_to = [\"app\"]")
        .http("app", &sink.url(), "")
        .http("billing", &billing, "max_attempts = 1");
    drop(super::outbox::application(&setup, &sink.url()));
    let path = setup.directory.path().join("app.db");
    let setup = setup.table(&format!(
        "[outbox.shop]\nurl = \"sqlite:{}\"\nallow_targets = [\"127.0.0.1\"]\n",
        path.display()
    ));
    remember(&setup.directory.path().join("hapax.db")).await;
    let site = Site {
        service: setup.start().await,
        sink,
        sender: Sender::of("stripe"),
    };
    fill(&site).await;
    site
}

/// Charts as after a week of running, written before the service starts.
async fn remember(path: &Path) {
    let options = Options::new(Arc::new(SystemClock::default()));
    let store = SqliteStore::open(path, options).unwrap();
    let now = SystemClock::default().now();
    for span in TimeRange::ALL {
        for (place, source) in ["stripe", "github", "shopify"].into_iter().enumerate() {
            let rows = (0..span.slots() - 1).map(|slot| TrafficRow {
                range: span,
                slot: span.oldest(now).plus(span.step() * slot as u32),
                subject: Subject::Source(source.into()),
                owner: Owner(1),
                traffic: wave(slot, place as u64, span),
            });
            store.put_traffic(rows.collect()).await.unwrap();
        }
    }
    store.close().await;
}

/// Busy and quiet hours, and a storm of duplicates.
fn wave(slot: u64, place: u64, span: TimeRange) -> Traffic {
    let turn = std::f64::consts::TAU * slot as f64 / span.slots() as f64;
    let height = 60.0 + 45.0 * (2.0 * turn + place as f64).sin() + 12.0 * (17.0 * turn).cos();
    let is_storm = slot % span.slots() > span.slots() * 7 / 10 && slot % span.slots() < span.slots() * 8 / 10;
    let mut traffic = Traffic {
        accepted: height as u64,
        duplicates: height as u64 / if is_storm && place == 0 { 1 } else { 9 },
        conflicts: u64::from(slot % 41 == 7 && place == 0),
        rejected: u64::from(slot % 23 == 5),
        gap_ms_max: 71 * 3_600_000,
        ..Traffic::default()
    };
    for step in 0..20 {
        traffic.took.count(Duration::from_micros(400 + 9 * step * step));
    }
    traffic
}

async fn fill(site: &Site) {
    let (github, shopify) = (Sender::of("github"), Sender::of("shopify"));
    for (number, kind) in KINDS.iter().cycle().take(24).enumerate() {
        let object = serde_json::json!({ "id": format!("in_{number}"), "amount": 100 * number });
        let event = site
            .sender
            .stripe_event(&format!("evt_1Qx7b{number}"), kind, &object);
        site.service.deliver_twice(&event).await;
        if number % 4 == 0 {
            site.service
                .deliver_twice(&github.event(&format!("72d3162e-cc78-11e3-81ab-{number:012}")))
                .await;
            site.service
                .deliver_twice(&shopify.event(&format!("98880550-7158-44d4-b7cd-{number:012}")))
                .await;
        }
    }
    let other = site.sender.stripe_event(
        "evt_1Qx7b5",
        "invoice.paid",
        &serde_json::json!({ "amount": 1200 }),
    );
    assert_eq!(site.service.deliver(&other).await.field("status"), "conflict");
    // Two destinations for Stripe's events, one for the others.
    site.sink.until_received(24 * 2 + 12, PATIENCE).await;
}

/// The name and path of each page.
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
        ("sources", "/sources"),
        ("duplicates", "/duplicates"),
        ("destinations", "/destinations"),
        ("outbox", "/outbox"),
        ("audit", "/audit"),
        ("api", "/api"),
        // Last: the screenshot test replays the dead letters before it opens this page.
        ("replays", "/replays"),
    ] {
        pages.push((name, path.to_owned()));
    }
    pages
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
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
        browser.until_shown("The destination was resumed.").await;
        for (name, path) in &pages {
            if *name == "replays" {
                browser.open("/dead").await;
                browser.click("main form[action='/dead/replay'] button").await;
                browser
                    .click("main form[action='/dead/replay/start'] button[type=submit]")
                    .await;
                browser.until_shown("done").await;
            }
            browser.open(path).await;
            assert_eq!(menu_lines(browser).await, 1, "{name}: the menu wraps");
            for theme in ["light", "dark"] {
                let picture = take(browser, theme).await;
                let bytes = picture.len();
                assert!(picture.starts_with(b"\x89PNG"), "{name} {theme}");
                assert!(bytes <= PICTURE_BYTES_MAX, "{name} {theme} has {bytes} bytes");
                if is_kept {
                    keep(&format!("{name}-{theme}.png"), &picture);
                }
            }
        }
    })
    .await;
}

async fn menu_lines(browser: &Browser) -> u64 {
    let tops =
        "return new Set([...document.querySelectorAll('.bar nav li')].map((item) => item.offsetTop)).size";
    browser.run(tops).await.as_u64().unwrap()
}

/// Without the pointer, which would highlight the element below it.
async fn take(browser: &Browser, theme: &str) -> Vec<u8> {
    browser
        .run(&format!(
            "document.querySelector('form[action=\"/theme\"] button[value={theme}]').click();\
             document.activeElement.blur();"
        ))
        .await;
    browser.client.screenshot().await.unwrap()
}

fn keep(name: &str, picture: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), picture).unwrap();
}
