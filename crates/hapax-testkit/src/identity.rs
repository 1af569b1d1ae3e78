//! A real identity provider as a process, with the tests as its users, and a service that signs them in there.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{free_address, within};

const START_LIMIT: Duration = Duration::from_secs(60);
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/identity");
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../hapax-e2e/tests/identity/provider.mjs"
);
const CLIENT_SECRET: &str = "a-client-secret-0123456789abcdef";

/// Where the provider puts the claims about a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimsIn {
    IdToken,
    UserInfo,
}

/// The provider, with three users: ada is in `platform`, bob in `staff` and may see `stripe`, eve in `visitors`.
pub struct IdentityProvider {
    pub address: SocketAddr,
    settings: Value,
    dashboard_url: String,
    /// With its output: it would exit if no one could read that.
    child: Option<(Child, Lines<BufReader<ChildStdout>>)>,
}

impl IdentityProvider {
    /// A provider that is not running yet, for a dashboard that browsers open at the URL and the provider reaches at
    /// the address.
    pub fn new(dashboard_url: &str, dashboard: SocketAddr, claims_in: ClaimsIn) -> Self {
        let address = free_address();
        let settings = json!({
            "port": address.port(),
            "client": {
                "id": "hapax",
                "secret": CLIENT_SECRET,
                "redirect_url": format!("{dashboard_url}/login/oidc/callback"),
                "logout_url": format!("http://{dashboard}/logout/oidc"),
            },
            "users": {
                "ada": { "preferred_username": "ada@example.com", "groups": ["staff", "platform"] },
                "bob": { "preferred_username": "bob@example.com", "groups": ["staff"], "hapax_sources": ["stripe"] },
                "eve": { "preferred_username": "eve@example.com", "groups": ["visitors"] },
            },
            "claims_in_id_token": claims_in == ClaimsIn::IdToken,
        });
        Self {
            address,
            settings,
            dashboard_url: dashboard_url.to_owned(),
            child: None,
        }
    }

    /// The configuration of a service that trusts it.
    pub fn table(&self) -> String {
        format!(
            "[server.oidc]\nissuer = \"{}\"\nclient_id = \"hapax\"\nclient_secret = \"{CLIENT_SECRET}\"\n\
             dashboard_url = \"{}\"\nrole_claim = \"groups\"\nroles = {{ platform = \"admin\", staff = \"read\" }}\n",
            self.url(),
            self.dashboard_url
        )
    }

    pub fn url(&self) -> String {
        let scheme = if self.settings["tls"].is_null() {
            "http"
        } else {
            "https"
        };
        format!("{scheme}://{}", self.address)
    }

    /// With TLS, using these files.
    pub fn with_tls(mut self, cert: &Path, key: &Path) -> Self {
        self.settings["tls"] = json!({ "cert": cert, "key": key });
        self
    }

    /// Starts it, or restarts it with another signing key and no one signed in.
    pub async fn start(&mut self) {
        if let Some((mut before, _)) = self.child.take() {
            before.kill().await.unwrap();
        }
        assert!(
            Path::new(FOLDER).join("node_modules/oidc-provider").exists(),
            "the identity provider is missing: `./test tools` installs it"
        );
        let mut child = Command::new("node")
            .args([SCRIPT, FOLDER, &self.settings.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node is missing: `./test tools` installs it");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        within("the identity provider is ready", START_LIMIT, async {
            while lines.next_line().await.unwrap().expect("it ended") != "ready" {}
        })
        .await;
        self.child = Some((child, lines));
    }
}
