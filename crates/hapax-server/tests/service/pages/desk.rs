//! A person at the dashboard: reads pages and submits their forms.

use std::path::Path;
use std::time::Duration;

use hapax_config::{self as config, Environment};
use hapax_server::{Server, Tuning};
use hapax_testkit::{HttpResponse, PATIENCE, Visitor, eventually, wire};

use crate::site::{OTHER_SECRET, SECRET, stripe_headers};

/// The token of an admin.
pub(super) const ADMIN: &str = "0123456789abcdef0123456789abcdef";
/// The token of a reader.
pub(super) const READER: &str = "fedcba9876543210fedcba9876543210";

/// Whether signing in is required.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    Locked,
}

/// A service and a person who uses it.
pub(super) struct Desk {
    pub(super) server: Server,
    pub(super) folder: tempfile::TempDir,
    visitor: Visitor,
}

impl Desk {
    /// With the source `shop`, which delivers to `app` at this URL, and the source `quiet`.
    pub(super) async fn start(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, url, Door::Open).await
    }

    /// The same with more configuration; `FOLDER` in it is the site's own folder.
    pub(super) async fn start_with(url: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let more = more.replace("FOLDER", &folder.path().display().to_string());
        let config = format!("{}{more}", text(folder.path(), url, Door::Open));
        Self::start_as(folder, &config).await
    }

    pub(super) async fn start_in(folder: tempfile::TempDir, url: &str, door: Door) -> Self {
        let config = text(folder.path(), url, door);
        Self::start_as(folder, &config).await
    }

    async fn start_as(folder: tempfile::TempDir, config: &str) -> Self {
        let environment = Environment::with([
            ("SECRET", SECRET),
            ("OTHER_SECRET", OTHER_SECRET),
            ("ADMIN", ADMIN),
            ("READER", READER),
            ("STATE_KEY", ADMIN),
        ]);
        let config = config::parse(config, Path::new("hapax.toml"), &environment, &[]).unwrap();
        let mut tuning = Tuning::default();
        tuning.engine.flush_every = Duration::from_millis(20);
        tuning.engine.seen_for = Duration::from_millis(50);
        let server = Server::start(config, tuning).await.unwrap();
        let admin = server.admin_address();
        Self {
            server,
            folder,
            visitor: Visitor::new(&format!("http://{admin}"), admin),
        }
    }

    /// Delivers a body to `shop`, signed now.
    pub(super) async fn deliver(&self, body: &str) -> HttpResponse {
        self.deliver_with(body, &[]).await
    }

    pub(super) async fn deliver_with(&self, body: &str, headers: &[(&str, &str)]) -> HttpResponse {
        let mut all = stripe_headers(body.as_bytes());
        all.extend(
            headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        wire::post(self.server.ingest_address(), "/in/shop", &all, body.as_bytes()).await
    }

    /// Delivers an event twice; returns its Hapax id.
    pub(super) async fn twice(&self, body: &str) -> String {
        let first = self.deliver(body).await.json();
        assert_eq!(first["status"], "accepted", "{first}");
        let second = self.deliver(body).await.json();
        assert_eq!(second["status"], "duplicate", "{second}");
        first["id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn sign_in(&self, token: &str) {
        self.visitor.sign_in_with(token).await;
    }

    /// A page, which has to exist.
    pub(super) async fn page(&self, path: &str) -> String {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        assert!(
            reply.header("content-type").unwrap().starts_with("text/html"),
            "{reply:?}"
        );
        reply.text()
    }

    pub(super) async fn get(&self, path: &str) -> HttpResponse {
        self.visitor.page(path).await
    }

    /// Submits a form as one of our pages would: with the token in the page.
    pub(super) async fn form(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> HttpResponse {
        self.visitor.form(page, action, fields).await
    }

    /// Submits exactly these fields, with these headers.
    pub(super) async fn raw_form(
        &self,
        action: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> HttpResponse {
        self.visitor.raw_form(action, headers, fields).await
    }

    /// The page, once it contains this text.
    pub(super) async fn until(&self, path: &str, text: &str) -> String {
        eventually(&format!("`{text}` stands in {path}"), PATIENCE, async || {
            let page = self.page(path).await;
            page.contains(text).then_some(page)
        })
        .await
    }
}

fn text(folder: &Path, url: &str, door: Door) -> String {
    let tokens = match door {
        Door::Open => "",
        Door::Locked => {
            "admin_token = \"env:ADMIN\"\ntokens = [{ name = \"reader\", token = \"env:READER\", role = \"read\" }]\n"
        }
    };
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n{tokens}\
         [store]\nurl = \"sqlite:{}\"\nencryption_keys = [\"env:STATE_KEY\"]\n\
         [sources.shop]\nprovider = \"stripe\"\nsecrets = [\"env:SECRET\"]\ndeliver_to = [\"app\"]\n\
         [sources.quiet]\nprovider = \"stripe\"\nsecrets = [\"env:OTHER_SECRET\"]\ndeliver_to = []\n\
         [destinations.app]\nkind = \"http\"\nurl = \"{url}\"\nmax_attempts = 1\n",
        folder.join("hapax.db").display()
    )
}

/// The number on the overview's card with this name.
pub(super) fn figure(page: &str, name: &str) -> String {
    let mark = format!("<dt>{name}</dt><dd>");
    let from = page.find(&mark).unwrap_or_else(|| panic!("{name} in {page}")) + mark.len();
    page[from..].split('<').next().unwrap().to_owned()
}
