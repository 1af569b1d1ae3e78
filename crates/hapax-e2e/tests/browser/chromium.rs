//! A browser for one test: its own driver, its own profile, gone afterwards.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::Stdio;
use std::time::Duration;

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::{Client, ClientBuilder, Locator};
use futures_util::FutureExt as _;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use hapax_testkit::{eventually, free_address};

/// The longest that a test waits for a page to be as expected; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A wide window with JavaScript.
    Usual,
    /// Without JavaScript.
    Plain,
    /// As wide as a small phone.
    Narrow,
}

pub(crate) struct Browser {
    pub(crate) client: Client,
    base: String,
    _driver: Child,
    _profile: TempDir,
}

/// Runs a test in a browser that shows pages of `base`; closes the browser however the test ends.
pub(crate) async fn browse(base: &str, kind: Kind, test: impl AsyncFnOnce(&Browser)) {
    let browser = Browser::start(base, kind).await;
    let ended = AssertUnwindSafe(test(&browser)).catch_unwind().await;
    // This fails if the browser is already gone.
    let _ = browser.client.clone().close().await;
    if let Err(panic) = ended {
        resume_unwind(panic);
    }
}

impl Browser {
    async fn start(base: &str, kind: Kind) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let address = free_address();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={}", address.port()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver is missing: `./test tools` installs it");
        let url = format!("http://{address}");
        let client = eventually("the browser starts", Duration::from_secs(60), async || {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(capabilities(&profile, kind));
            builder.connect(&url).await.ok()
        })
        .await;
        if kind != Kind::Narrow {
            client.set_window_size(1280, 900).await.unwrap();
        }
        Self {
            client,
            base: base.to_owned(),
            _driver: driver,
            _profile: profile,
        }
    }

    /// Opens a path of the site.
    pub(crate) async fn open(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.base)).await.unwrap();
    }

    /// The path and query of the page.
    pub(crate) async fn path(&self) -> String {
        let url = self.client.current_url().await.unwrap().to_string();
        url.strip_prefix(&self.base).unwrap_or(&url).to_owned()
    }

    pub(crate) async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    pub(crate) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Presses keys as a keyboard does: they go to the focused element, visible or not.
    pub(crate) async fn press(&self, keys: &str) {
        // Chromium drops keys that arrive before a page is first painted.
        self.until(
            "the page is painted",
            "performance.getEntriesByType('paint').length > 0",
        )
        .await;
        let strokes = keys
            .chars()
            .fold(KeyActions::new("keyboard".to_owned()), |strokes, value| {
                strokes
                    .then(KeyAction::Down { value })
                    .then(KeyAction::Up { value })
            });
        self.client.perform_actions(strokes).await.unwrap();
    }

    /// Waits for an element.
    pub(crate) async fn find(&self, css: &str) -> fantoccini::elements::Element {
        eventually(&format!("there is a `{css}`"), PATIENCE, async || {
            self.client.find(Locator::Css(css)).await.ok()
        })
        .await
    }

    /// The visible text of the page.
    pub(crate) async fn text(&self) -> String {
        let body = self.find("body").await;
        body.text().await.unwrap()
    }

    /// Waits until the page shows this text.
    pub(crate) async fn until_shown(&self, text: &str) {
        eventually(&format!("the page shows `{text}`"), PATIENCE, async || {
            let body = self.client.find(Locator::Css("body")).await.ok()?;
            body.text().await.ok()?.contains(text).then_some(())
        })
        .await;
    }

    /// Waits until a script's value is true.
    pub(crate) async fn until(&self, what: &str, script: &str) {
        eventually(what, PATIENCE, async || {
            let value = self
                .client
                .execute(&format!("return {script}"), vec![])
                .await
                .ok()?;
            (value == json!(true)).then_some(())
        })
        .await;
    }

    /// The value of a script.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client
            .execute(&format!("return {script}"), vec![])
            .await
            .unwrap()
    }

    /// Runs a function body in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Signs in and arrives at the requested page.
    pub(crate) async fn sign_in(&self, token: &str, next: &str) {
        self.open(next).await;
        self.fill("#token", token).await;
        self.fill("#note", "Ada").await;
        self.click("main button[type=submit]").await;
        eventually("the login leads on", PATIENCE, async || {
            (!self.path().await.starts_with("/login")).then_some(())
        })
        .await;
    }
}

fn capabilities(profile: &TempDir, kind: Kind) -> Map<String, Value> {
    let scripts = match kind {
        Kind::Usual | Kind::Narrow => 1,
        Kind::Plain => 2,
    };
    let mut options = json!({
        "binary": "/usr/bin/chromium",
        "args": [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--hide-scrollbars",
            format!("--user-data-dir={}", profile.path().display()),
        ],
        "prefs": { "profile.managed_default_content_settings.javascript": scripts },
    });
    if kind == Kind::Narrow {
        options["mobileEmulation"] =
            json!({ "deviceMetrics": { "width": 360, "height": 740, "pixelRatio": 1.0 } });
    }
    Map::from_iter([("goog:chromeOptions".to_owned(), options)])
}
