//! Sign-ins that prove nothing: forged and stolen ID tokens, sign-ins of other browsers, and made-up logouts.
//!
//! The attacker controls the tokens of the identity provider: it issues any token that the test forges. Its keys are
//! real.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::report;
use hapax_testkit::{HttpResponse, Reply, Sender, Service, Setup, Sink, Visitor, now};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const CLIENT: &str = "hapax";
const USER: &str = "ada";
const LOGOUT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// A key with its id.
struct Signer {
    pair: EcdsaKeyPair,
    key_id: &'static str,
}

impl Signer {
    fn new(key_id: &'static str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { pair, key_id }
    }

    fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let [x, y] = [x, y].map(|part| URL_SAFE_NO_PAD.encode(part));
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.key_id, "x": x, "y": y})
    }

    fn header(&self) -> Value {
        json!({"alg": "ES256", "kid": self.key_id})
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", encode(header), encode(claims))
}

/// The token that the provider issues next.
#[derive(Clone, Default)]
struct Forged {
    id_token: String,
    user_info: Value,
}

struct Site {
    service: Service,
    provider: Sink,
    signer: Signer,
    next: Arc<Mutex<Forged>>,
}

impl Site {
    async fn start() -> Self {
        let signer = Signer::new("genuine");
        let next = Arc::new(Mutex::new(Forged::default()));
        let provider = Sink::start().await;
        let issuer = issuer(&provider);
        let description = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "userinfo_endpoint": format!("{issuer}/userinfo"),
            "jwks_uri": format!("{issuer}/keys"),
            "authorization_response_iss_parameter_supported": true,
        });
        let keys = json!({"keys": [signer.jwk()]});
        let handed_out = Arc::clone(&next);
        provider.behave(move |asked| {
            let forged = handed_out.lock().clone();
            let document = match asked.path.as_str() {
                "/.well-known/openid-configuration" => description.clone(),
                "/keys" => keys.clone(),
                "/token" => {
                    json!({"id_token": forged.id_token, "access_token": "any", "token_type": "Bearer"})
                }
                "/userinfo" => forged.user_info,
                _ => return Reply::Status(404),
            };
            Reply::body(200, document.to_string())
        });
        let sink = Sink::start().await;
        let setup = Setup::stripe_to(&sink).server(&format!("admin_token = \"{TOKEN}\""));
        let table = format!(
            "[server.oidc]\nissuer = \"{issuer}\"\nclient_id = \"{CLIENT}\"\ndashboard_url = \"http://{}\"\n\
             role_claim = \"groups\"\nroles = {{ platform = \"admin\" }}\n",
            setup.admin
        );
        let service = setup.table(&table).start().await;
        service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
        Self {
            service,
            provider,
            signer,
            next,
        }
    }

    fn visitor(&self) -> Visitor {
        let admin = self.service.setup.admin;
        Visitor::new(&format!("http://{admin}"), admin)
    }

    /// The claims of a genuine provider about a user who signs in.
    fn claims(&self, nonce: &str) -> Value {
        json!({
            "iss": issuer(&self.provider), "aud": CLIENT, "sub": USER, "nonce": nonce, "groups": ["platform"],
            "iat": now(), "exp": now() + 300, "sid": "session-1",
        })
    }

    /// Begins a sign-in; returns the parameters of the request to the provider.
    async fn begin(&self, visitor: &Visitor) -> BTreeMap<String, String> {
        let answer = visitor.page("/login/oidc").await;
        let (_, query) = answer.header("location").unwrap().split_once('?').unwrap();
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    /// Returns with a code, for which the provider issues this token.
    async fn come_back(&self, visitor: &Visitor, state: &str, sender: &str, forged: Forged) -> HttpResponse {
        *self.next.lock() = forged;
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("code", "any"), ("state", state), ("iss", sender)])
            .finish();
        visitor.page(&format!("/login/oidc/callback?{query}")).await
    }

    /// Whether a sign-in with this ID token opens a session.
    async fn opens(&self, forge: &dyn Fn(&Self, Value) -> Forged) -> bool {
        let visitor = self.visitor();
        let asked = self.begin(&visitor).await;
        let forged = forge(self, self.claims(&asked["nonce"]));
        let issuer = issuer(&self.provider);
        self.come_back(&visitor, &asked["state"], &issuer, forged).await;
        visitor.page("/events").await.status == 200
    }
}

fn issuer(provider: &Sink) -> String {
    provider.url().replace("/hook", "")
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

fn without(mut claims: Value, name: &str) -> Value {
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn token(id_token: String) -> Forged {
    Forged {
        id_token,
        user_info: Value::Null,
    }
}

type Forge = Box<dyn Fn(&Site, Value) -> Forged>;

/// The genuine claims with one change, signed with the genuine key.
fn changed(change: impl Fn(Value) -> Value + 'static) -> Forge {
    Box::new(move |site, claims| token(site.signer.sign(&site.signer.header(), &change(claims))))
}

fn forgeries() -> Vec<(&'static str, Forge)> {
    let mut forgeries = forged_signatures();
    forgeries.extend(wrong_claims());
    forgeries
}

fn forged_signatures() -> Vec<(&'static str, Forge)> {
    let stranger = Signer::new("genuine");
    let unknown = Signer::new("unknown");
    vec![
        (
            "no signature",
            Box::new(|_, claims| token(format!("{}.", unsigned(&json!({"alg": "none"}), &claims)))),
        ),
        (
            "HMAC under the public key",
            Box::new(|site, claims| {
                let signed = unsigned(&json!({"alg": "HS256", "kid": "genuine"}), &claims);
                let key = hmac::Key::new(hmac::HMAC_SHA256, site.signer.pair.public_key().as_ref());
                let tag = hmac::sign(&key, signed.as_bytes());
                token(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag)))
            }),
        ),
        (
            "another key under the same id",
            Box::new(move |_, claims| token(stranger.sign(&stranger.header(), &claims))),
        ),
        (
            "a key that the provider does not have",
            Box::new(move |_, claims| token(unknown.sign(&unknown.header(), &claims))),
        ),
        (
            "claims changed after signing",
            Box::new(|site, claims| {
                let genuine = site
                    .signer
                    .sign(&site.signer.header(), &without(claims.clone(), "groups"));
                let (_, signature) = genuine.rsplit_once('.').unwrap();
                token(format!(
                    "{}.{signature}",
                    unsigned(&site.signer.header(), &claims)
                ))
            }),
        ),
        (
            "a critical extension",
            Box::new(|site, claims| {
                token(
                    site.signer
                        .sign(&with(site.signer.header(), "crit", json!(["b64"])), &claims),
                )
            }),
        ),
    ]
}

fn wrong_claims() -> Vec<(&'static str, Forge)> {
    vec![
        (
            "another issuer",
            changed(|claims| with(claims, "iss", json!("https://evil.example"))),
        ),
        (
            "the issuer with a slash",
            changed(|claims| {
                let slash = format!("{}/", claims["iss"].as_str().unwrap());
                with(claims, "iss", json!(slash))
            }),
        ),
        (
            "another audience",
            changed(|claims| with(claims, "aud", json!("wiki"))),
        ),
        ("no audience", changed(|claims| without(claims, "aud"))),
        (
            "two audiences and no party",
            changed(|claims| with(claims, "aud", json!([CLIENT, "wiki"]))),
        ),
        (
            "another party",
            changed(|claims| with(claims, "azp", json!("wiki"))),
        ),
        (
            "expired",
            changed(|claims| with(claims, "exp", json!(now() - 61))),
        ),
        ("no expiry", changed(|claims| without(claims, "exp"))),
        (
            "from the future",
            changed(|claims| with(claims, "iat", json!(now() + 120))),
        ),
        (
            "not valid yet",
            changed(|claims| with(claims, "nbf", json!(now() + 120))),
        ),
        (
            "the nonce of another sign-in",
            changed(|claims| with(claims, "nonce", json!("0".repeat(64)))),
        ),
        ("no nonce", changed(|claims| without(claims, "nonce"))),
        ("nobody", changed(|claims| without(claims, "sub"))),
        (
            "no role",
            changed(|claims| with(claims, "groups", json!(["visitors"]))),
        ),
        (
            "a logout token",
            changed(|claims| with(without(claims, "nonce"), "events", json!({LOGOUT: {}}))),
        ),
        (
            "the roles of somebody else",
            Box::new(|site, claims| Forged {
                id_token: site
                    .signer
                    .sign(&site.signer.header(), &without(claims, "groups")),
                user_info: json!({"sub": "root", "groups": ["platform"]}),
            }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sign_in_that_proves_nothing_opens_a_session() {
    let site = Site::start().await;
    assert!(site.opens(&*changed(|claims| claims)).await, "a genuine one does");
    let mut opened = Vec::new();
    let forgeries = forgeries();
    let mut tried = forgeries.len();
    for (name, forge) in &forgeries {
        if site.opens(&**forge).await {
            opened.push(*name);
        }
    }
    for (name, is_open) in stolen(&site).await {
        tried += 1;
        if is_open {
            opened.push(name);
        }
    }
    let ended = logouts(&site).await;
    report::write(
        "sign_in",
        &format!(
            "{tried} forged or stolen sign-ins, {} forged logouts",
            ended.len()
        ),
        &format!(
            "{} sessions opened, {} ended",
            opened.len(),
            ended.iter().filter(|(_, is_over)| *is_over).count()
        ),
    );
    assert!(opened.is_empty(), "{opened:?}");
    assert!(ended.iter().all(|(_, is_over)| !is_over), "{ended:?}");
    assert!(is_over_after_a_genuine_logout(&site).await);
}

/// Genuine tokens in the wrong browser.
async fn stolen(site: &Site) -> Vec<(&'static str, bool)> {
    let issuer = issuer(&site.provider);
    let mut tried = Vec::new();
    let (attacker, victim, bare) = (site.visitor(), site.visitor(), site.visitor());
    let asked = site.begin(&attacker).await;
    let other = site.begin(&victim).await;
    let genuine = |nonce: &str| token(site.signer.sign(&site.signer.header(), &site.claims(nonce)));
    // A link to the attacker's sign-in, sent to someone who is signing in, and to someone who is not.
    for (name, visitor) in [("another browser", &victim), ("no browser", &bare)] {
        let answer = site
            .come_back(visitor, &asked["state"], &issuer, genuine(&asked["nonce"]))
            .await;
        assert!(answer.text().contains("sign_in_stale"), "{}", answer.text());
        tried.push((name, visitor.page("/events").await.status == 200));
    }
    let answer = site
        .come_back(
            &victim,
            &other["state"],
            "https://evil.example",
            genuine(&other["nonce"]),
        )
        .await;
    assert!(answer.text().contains("sign_in_refused"), "{}", answer.text());
    tried.push((
        "another provider sends back",
        victim.page("/events").await.status == 200,
    ));
    // The attacker's ID token for the victim's own sign-in.
    site.come_back(&victim, &other["state"], &issuer, genuine(&asked["nonce"]))
        .await;
    tried.push((
        "the token of another sign-in",
        victim.page("/events").await.status == 200,
    ));
    tried
}

fn logout_claims(site: &Site) -> Value {
    let claims = without(without(site.claims(""), "nonce"), "groups");
    with(with(claims, "events", json!({LOGOUT: {}})), "jti", json!("1"))
}

async fn log_out(site: &Site, token: &str) -> u16 {
    let url = format!("http://{}/logout/oidc", site.service.setup.admin);
    site.visitor().post(&url, &[("logout_token", token)]).await.status
}

/// Logouts that the provider did not send, and whether each ended the session.
async fn logouts(site: &Site) -> Vec<(&'static str, bool)> {
    let visitor = signed_in(site).await;
    let header = site.signer.header();
    let claims = logout_claims(site);
    let stranger = Signer::new("genuine");
    let forged = [
        (
            "no signature",
            format!("{}.", unsigned(&json!({"alg": "none"}), &claims)),
        ),
        ("another key", stranger.sign(&header, &claims)),
        ("an ID token", site.signer.sign(&header, &site.claims("any"))),
        (
            "with a nonce",
            site.signer
                .sign(&header, &with(claims.clone(), "nonce", json!("any"))),
        ),
        (
            "for another client",
            site.signer
                .sign(&header, &with(claims.clone(), "aud", json!("wiki"))),
        ),
        (
            "expired",
            site.signer
                .sign(&header, &with(claims.clone(), "exp", json!(now() - 61))),
        ),
        (
            "of nobody",
            site.signer
                .sign(&header, &without(without(claims.clone(), "sid"), "sub")),
        ),
        ("nothing", String::new()),
    ];
    let mut tried = Vec::new();
    for (name, token) in forged {
        assert_eq!(log_out(site, &token).await, 400, "{name}");
        tried.push((name, visitor.page("/events").await.status != 200));
    }
    // Genuine, but about others.
    for (name, value) in [("sid", "session-2"), ("sub", "bob")] {
        let other = site
            .signer
            .sign(&header, &with(claims.clone(), name, json!(value)));
        assert_eq!(log_out(site, &other).await, 200, "{name}");
        tried.push((name, visitor.page("/events").await.status != 200));
    }
    tried
}

async fn signed_in(site: &Site) -> Visitor {
    let visitor = site.visitor();
    let asked = site.begin(&visitor).await;
    let genuine = token(
        site.signer
            .sign(&site.signer.header(), &site.claims(&asked["nonce"])),
    );
    site.come_back(&visitor, &asked["state"], &issuer(&site.provider), genuine)
        .await;
    visitor
}

/// A logout of the whole user: some providers name no session.
async fn is_over_after_a_genuine_logout(site: &Site) -> bool {
    let visitor = signed_in(site).await;
    assert_eq!(visitor.page("/events").await.status, 200);
    let token = site
        .signer
        .sign(&site.signer.header(), &without(logout_claims(site), "sid"));
    assert_eq!(log_out(site, &token).await, 200);
    visitor.page("/events").await.status == 303
}
