//! A browser as far as HTTP goes: cookies, forms, and redirects that are followed one by one.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{Method, Request, Uri};
use http_body_util::Full;
use parking_lot::Mutex;

use super::{Connection, HttpResponse};

/// The most redirects and forms that a sign-in takes.
const STEPS_MAX: usize = 16;

/// A browser without a window. One name leads to the service, whichever replica a load balancer would choose.
pub struct Visitor {
    pub dashboard: String,
    pub replica: SocketAddr,
    /// By host, then by name.
    cookies: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
}

impl Visitor {
    pub fn new(dashboard: &str, replica: SocketAddr) -> Self {
        Self {
            dashboard: dashboard.to_owned(),
            replica,
            cookies: Mutex::default(),
        }
    }

    /// The same visitor, whom the load balancer sends to this replica from now on.
    pub const fn at(&mut self, replica: SocketAddr) -> &Self {
        self.replica = replica;
        self
    }

    /// A page of the dashboard.
    pub async fn page(&self, path: &str) -> HttpResponse {
        self.get(&format!("{}{path}", self.dashboard)).await
    }

    /// Submits a form of a page of the dashboard, with the CSRF token in that page.
    pub async fn form(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
        let page = self.page(page).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.text();
        let csrf = between(&page, "name=\"csrf\" value=\"", "\"").expect("the page has a form");
        self.raw_form(path, &[], &[&[("csrf", csrf)], fields].concat())
            .await
    }

    /// Submits exactly these fields to the dashboard, with these headers.
    pub async fn raw_form(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> HttpResponse {
        let url = format!("{}{path}", self.dashboard);
        self.send(Method::POST, &url, headers, fields).await
    }

    /// Signs in with a token.
    pub async fn sign_in_with(&self, token: &str) {
        let answer = self.raw_form("/login", &[], &[("token", token)]).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
    }

    pub async fn get(&self, url: &str) -> HttpResponse {
        self.send(Method::GET, url, &[], &[]).await
    }

    pub async fn post(&self, url: &str, fields: &[(&str, &str)]) -> HttpResponse {
        self.send(Method::POST, url, &[], fields).await
    }

    /// Goes to the provider, signs in there, and stops at the URL that leads back.
    pub async fn come_back_as(&self, user: &str, next: &str) -> String {
        let mut url = format!("{}/login/oidc?next={next}", self.dashboard);
        let mut answer = self.get(&url).await;
        for _ in 0..STEPS_MAX {
            let text = answer.text();
            if let Some(location) = answer.header("location") {
                url = absolute(&url, location);
                if url.starts_with(&self.dashboard) {
                    return url;
                }
                answer = self.get(&url).await;
            } else {
                assert_eq!(answer.status, 200, "{text}");
                url = absolute(&url, between(&text, "action=\"", "\"").unwrap());
                let prompt = between(&text, "name=\"prompt\" value=\"", "\"").unwrap_or_default();
                let fields = [("prompt", prompt), ("login", user), ("password", "any")];
                answer = self.post(&url, &fields).await;
            }
        }
        panic!("the provider does not lead back");
    }

    /// Signs in and follows the redirects.
    pub async fn sign_in(&self, user: &str, next: &str) -> HttpResponse {
        let back = self.come_back_as(user, next).await;
        let answer = self.get(&back).await;
        let refresh = answer
            .header("refresh")
            .and_then(|refresh| refresh.split_once("url="));
        let Some((_, path)) = refresh else {
            return answer;
        };
        let path = path.to_owned();
        self.page(&path).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> HttpResponse {
        let uri: Uri = url.parse().unwrap();
        let host = uri.authority().unwrap().to_string();
        let address = if self.dashboard.ends_with(&host) {
            self.replica
        } else {
            host.parse().unwrap()
        };
        let mut request = Request::builder()
            .method(method)
            .uri(uri.path_and_query().unwrap().as_str())
            .header("host", &host)
            .header("cookie", self.cookies(&host))
            .header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let answer = Connection::to(address).send(request).await.unwrap();
        let mut cookies = self.cookies.lock();
        let cookies = cookies.entry(host).or_default();
        for line in answer.headers.get_all("set-cookie") {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if value.is_empty() {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// The `Cookie` header for this host.
    pub fn cookies(&self, host: &str) -> String {
        let cookies = self.cookies.lock();
        let held = cookies.get(host).into_iter().flatten();
        let held: Vec<String> = held.map(|(name, value)| format!("{name}={value}")).collect();
        held.join("; ")
    }
}

/// Where a link on the page at `url` leads.
fn absolute(url: &str, link: &str) -> String {
    if !link.starts_with('/') {
        return link.to_owned();
    }
    let uri: Uri = url.parse().unwrap();
    format!("http://{}{link}", uri.authority().unwrap())
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split(after).next()
}
