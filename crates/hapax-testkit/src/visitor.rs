//! A browser as far as HTTP goes: cookies, forms, and redirects that are followed one by one.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{Method, Request, Uri};
use http_body_util::Full;

use super::{Connection, HttpResponse};

/// The most redirects and forms that a sign-in takes.
const STEPS_MAX: usize = 16;

/// A browser without a window. One name leads to the service, whichever replica a load balancer would choose.
pub struct Visitor {
    pub dashboard: String,
    pub replica: SocketAddr,
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

impl Visitor {
    pub fn new(dashboard: &str, replica: SocketAddr) -> Self {
        Self {
            dashboard: dashboard.to_owned(),
            replica,
            cookies: BTreeMap::new(),
        }
    }

    /// A page of the dashboard.
    pub async fn page(&mut self, path: &str) -> HttpResponse {
        self.get(&format!("{}{path}", self.dashboard)).await
    }

    /// Submits a form of the dashboard, with the CSRF token from one of its pages.
    pub async fn form(&mut self, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
        let page = self.page("/events").await.text();
        let csrf = between(&page, "name=\"csrf\" value=\"", "\"")
            .unwrap_or_default()
            .to_owned();
        let fields = [&[("csrf", csrf.as_str())], fields].concat();
        self.post(&format!("{}{path}", self.dashboard), &fields).await
    }

    pub async fn get(&mut self, url: &str) -> HttpResponse {
        self.send(Method::GET, url, String::new()).await
    }

    pub async fn post(&mut self, url: &str, fields: &[(&str, &str)]) -> HttpResponse {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(Method::POST, url, body).await
    }

    /// Goes to the provider, signs in there, and stops at the URL that leads back.
    pub async fn come_back_as(&mut self, user: &str, next: &str) -> String {
        let mut answer = self.page(&format!("/login/oidc?next={next}")).await;
        for _ in 0..STEPS_MAX {
            let text = answer.text();
            answer = match answer.header("location") {
                Some(back) if back.starts_with(&self.dashboard) => return back.to_owned(),
                Some(location) => {
                    let location = location.to_owned();
                    self.get(&location).await
                }
                None => {
                    assert_eq!(answer.status, 200, "{text}");
                    let action = between(&text, "action=\"", "\"").unwrap().to_owned();
                    let prompt = between(&text, "name=\"prompt\" value=\"", "\"").unwrap_or_default();
                    let fields = [("prompt", prompt), ("login", user), ("password", "any")];
                    self.post(&action, &fields).await
                }
            };
        }
        panic!("the provider does not lead back");
    }

    /// Signs in and follows the redirects.
    pub async fn sign_in(&mut self, user: &str, next: &str) -> HttpResponse {
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

    async fn send(&mut self, method: Method, url: &str, body: String) -> HttpResponse {
        let uri: Uri = url.parse().unwrap();
        let host = uri.authority().unwrap().to_string();
        let address = if self.dashboard.ends_with(&host) {
            self.replica
        } else {
            host.parse().unwrap()
        };
        let cookies = self.cookies.entry(host.clone()).or_default();
        let held: Vec<String> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let request = Request::builder()
            .method(method)
            .uri(uri.path_and_query().unwrap().as_str())
            .header("host", host)
            .header("cookie", held.join("; "))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let mut answer = Connection::to(address).send(request).await.unwrap();
        for line in answer.headers.get_all("set-cookie") {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if value.is_empty() {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        // The provider redirects to its own paths.
        if let Some(path) = answer
            .header("location")
            .filter(|location| location.starts_with('/'))
        {
            let whole = format!("http://{}{path}", uri.authority().unwrap());
            answer.headers.insert("location", whole.parse().unwrap());
        }
        answer
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split(after).next()
}
