//! Signing in at a real identity provider, on two replicas.
//!
//! Browsers know one name for both; the tests act as the load balancer that chooses the replica.

use std::time::Duration;

use hapax_test_postgres::{Database, Server};

use hapax_testkit::certificate::Authority;
use hapax_testkit::{ClaimsIn, IdentityProvider, Sender, Service, Setup, Sink, Visitor, eventually};

const LIMIT: Duration = Duration::from_secs(30);
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// The name that browsers know.
const DASHBOARD: &str = "http://localhost:8081";

/// Two replicas on one database, and a provider. The fields are dropped in this order.
struct Site {
    replicas: [Service; 2],
    provider: IdentityProvider,
    sink: Sink,
    _database: Database,
    _server: Server,
}

impl Site {
    async fn start(claims_in: ClaimsIn, more: &str) -> Self {
        let mut site = Self::start_without_provider(claims_in, more).await;
        site.provider.start().await;
        site
    }

    async fn start_without_provider(claims_in: ClaimsIn, more: &str) -> Self {
        let server = Server::shared().unwrap();
        let database = server.database().await.unwrap();
        let sink = Sink::start().await;
        let setups = [(); 2].map(|()| {
            Setup::stripe_to(&sink)
                .source("github", "github", "deliver_to = []")
                .database(&database.url())
                .server(&format!("admin_token = \"{TOKEN}\""))
        });
        let provider = IdentityProvider::new(DASHBOARD, setups[0].admin, claims_in);
        let table = format!("{}{more}", provider.table());
        let mut replicas = setups.map(|setup| setup.table(&table).spawn());
        for replica in &mut replicas {
            replica.until_ready().await;
        }
        Self {
            replicas,
            provider,
            sink,
            _database: database,
            _server: server,
        }
    }

    /// A visitor whom the load balancer sends to the first replica.
    fn visitor(&self) -> Visitor {
        Visitor::new(DASHBOARD, self.replicas[0].setup.admin)
    }

    /// The status that each replica answers to a visitor.
    async fn seen_by_both(&self, visitor: &mut Visitor) -> [u16; 2] {
        let mut seen = [0; 2];
        for (status, replica) in seen.iter_mut().zip(&self.replicas) {
            visitor.replica = replica.setup.admin;
            *status = visitor.page("/events").await.status;
        }
        seen
    }

    async fn deliver(&self) {
        let event = Sender::of("stripe").event("evt_1");
        self.replicas[0].deliver_twice(&event).await;
        self.sink.until_effects(1, LIMIT).await;
    }
}

/// Whether a page contains all of this.
fn says(page: &str, words: &[&str]) -> bool {
    words.iter().all(|word| page.contains(word))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_in_at_one_replica_acts_at_the_other_and_signs_out_at_both() {
    let site = Site::start(ClaimsIn::IdToken, "").await;
    site.deliver().await;
    let [first, second] = [&site.replicas[0], &site.replicas[1]].map(|replica| replica.setup.admin);
    let mut ada = site.visitor();
    let back = ada.come_back_as("ada", "%2Fevents%3Fq%3Devt_1").await;
    ada.replica = second;
    let signed_in = ada.get(&back).await;
    assert_eq!(signed_in.header("refresh"), Some("0; url=/events?q=evt_1"));
    ada.replica = first;
    let page = ada.page("/events?q=evt_1").await.text();
    assert!(says(&page, &["oidc:ada", "admin", "evt_1"]), "{page}");

    let paused = ada
        .form("/events", "/destinations/app/pause", &[("reason", "a test")])
        .await;
    assert_eq!(paused.status, 303, "{}", paused.text());
    let audit = ada.page("/audit").await.text();
    assert!(says(&audit, &["oidc:ada", "ada@example.com"]), "{audit}");

    let (mut again, mut bob) = (site.visitor(), site.visitor());
    again.sign_in("ada", "%2F").await;
    bob.sign_in("bob", "%2F").await;
    ada.replica = second;
    assert_eq!(ada.form("/events", "/logout", &[]).await.status, 303);
    assert_eq!(site.seen_by_both(&mut ada).await, [303, 303]);
    assert_eq!(site.seen_by_both(&mut again).await, [200, 200]);
    assert_eq!(
        again
            .form("/events", "/logout", &[("everywhere", "yes")])
            .await
            .status,
        303
    );
    ada.sign_in("ada", "%2F").await;
    assert_eq!(site.seen_by_both(&mut again).await, [303, 303]);
    assert_eq!(
        site.seen_by_both(&mut bob).await,
        [200, 200],
        "somebody else goes on"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_out_everywhere_ends_their_sessions_in_other_browsers() {
    let site = Site::start(ClaimsIn::IdToken, "").await;
    site.deliver().await;
    let (one, mut other) = (site.visitor(), site.visitor());
    for visitor in [&one, &other] {
        assert_eq!(visitor.sign_in("ada", "%2Fevents").await.status, 200);
    }
    assert_eq!(
        one.form("/events", "/logout", &[("everywhere", "yes")])
            .await
            .status,
        303
    );
    assert_eq!(site.seen_by_both(&mut other).await, [303, 303]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_the_provider_signs_out_is_out_on_every_replica() {
    let site = Site::start(ClaimsIn::IdToken, "").await;
    site.deliver().await;
    let (mut ada, mut bob) = (site.visitor(), site.visitor());
    ada.sign_in("ada", "%2F").await;
    bob.sign_in("bob", "%2F").await;
    // At the provider, in the same browser: it asks for confirmation, and then notifies the first replica on its own.
    let asked = ada
        .get(&format!("{}/session/end", site.provider.url()))
        .await
        .text();
    let proof = asked
        .split_once("name=\"xsrf\" value=\"")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap();
    let confirm = format!("{}/session/end/confirm", site.provider.url());
    ada.post(&confirm, &[("xsrf", proof), ("logout", "yes")]).await;
    eventually("she is out", LIMIT, async || {
        (site.seen_by_both(&mut ada).await == [303, 303]).then_some(())
    })
    .await;
    assert_eq!(site.seen_by_both(&mut bob).await, [200, 200]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_and_the_sources_come_from_claims_and_whoever_has_neither_is_told_why() {
    let site = Site::start(ClaimsIn::UserInfo, "sources_claim = \"hapax_sources\"\n").await;
    site.deliver().await;
    let bob = site.visitor();
    let page = bob.sign_in("bob", "%2Fsources").await.text();
    assert!(says(&page, &["stripe"]) && !says(&page, &["github"]), "{page}");
    let refused = bob.form("/events", "/destinations/app/pause", &[]).await;
    assert_eq!(refused.status, 403);
    assert!(says(&refused.text(), &["role_too_low"]));

    for (user, claim, value) in [("eve", "groups", "visitors"), ("ada", "hapax_sources", "nothing")] {
        let mut stranger = site.visitor();
        let refused = stranger.sign_in(user, "%2F").await;
        let page = refused.text();
        assert_eq!(refused.status, 403, "{page}");
        let words = ["You have no access", user, claim, value, "no_role"];
        assert!(says(&page, &words), "{page}");
        assert_eq!(site.seen_by_both(&mut stranger).await, [303, 303]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_the_provider_rotates_are_found_without_a_restart() {
    let mut site = Site::start(ClaimsIn::IdToken, "").await;
    site.deliver().await;
    assert_eq!(site.visitor().sign_in("ada", "%2Fevents").await.status, 200);
    site.provider.start().await;
    assert_eq!(site.visitor().sign_in("ada", "%2Fevents").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_down_delays_no_start_and_tokens_still_work() {
    let mut site = Site::start_without_provider(ClaimsIn::IdToken, "").await;
    site.deliver().await;
    let mut visitor = site.visitor();
    let refused = visitor.page("/login/oidc").await;
    assert_eq!(refused.status, 503);
    assert!(says(&refused.text(), &["identity_provider_unavailable"]));
    let login = format!("{DASHBOARD}/login");
    assert_eq!(visitor.post(&login, &[("token", TOKEN)]).await.status, 303);
    assert_eq!(site.seen_by_both(&mut visitor).await, [200, 200]);
    site.provider.start().await;
    assert_eq!(site.visitor().sign_in("ada", "%2Fevents").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_roles_in_the_settings_end_the_sessions_that_the_old_ones_gave() {
    let mut site = Site::start(ClaimsIn::IdToken, "").await;
    site.deliver().await;
    let ada = site.visitor();
    assert_eq!(ada.sign_in("ada", "%2Fevents").await.status, 200);
    let tables = site.replicas[0].setup.tables();
    let changed = tables.replace("platform = \"admin\"", "platform = \"read\"");
    site.replicas[0].reload(|setup| setup.with_tables(&changed));
    eventually("the session is over", LIMIT, async || {
        (ada.page("/events").await.status == 303).then_some(())
    })
    .await;
    let page = ada.sign_in("ada", "%2Fevents").await.text();
    assert!(says(&page, &["oidc:ada", ">read<"]), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_authority_is_believed_where_the_settings_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.certify(folder.path(), "provider");
    let cert = folder.path().join("provider.crt");
    for (ca, status) in [(None, 503), (Some(authority.path()), 303)] {
        let sink = Sink::start().await;
        let setup = Setup::stripe_to(&sink).server(&format!("admin_token = \"{TOKEN}\""));
        let provider = IdentityProvider::new(DASHBOARD, setup.admin, ClaimsIn::IdToken);
        let mut provider = provider.with_tls(&cert, &cert.with_extension("key"));
        provider.start().await;
        let line = ca.map(|path| format!("ca = \"{}\"\n", path.display()));
        let table = provider.table() + &line.unwrap_or_default();
        let service = setup.table(&table).start().await;
        service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
        let visitor = Visitor::new(DASHBOARD, service.setup.admin);
        let answer = visitor.page("/login/oidc").await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
}
