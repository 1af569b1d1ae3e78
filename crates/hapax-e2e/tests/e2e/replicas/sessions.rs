//! Sessions of the dashboard: signing out on one replica signs out on all of them, and closes open streams there.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use super::{LIMIT, Replicas};
use hapax_testkit::{Connection, HttpResponse, RawConnection, Sender, Service, Setup, Sink};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_out_on_one_replica_is_out_on_all_and_their_live_tail_ends() {
    let sink = Sink::start().await;
    let admin_token = format!("admin_token = \"{TOKEN}\"");
    let replicas = Replicas::start_with(2, || Setup::stripe_to(&sink).server(&admin_token)).await;
    let [here, there] = &replicas.services[..] else {
        unreachable!("two were started");
    };
    let (first, second) = (sign_in(here).await, sign_in(there).await);
    for service in [here, there] {
        for cookie in [&first, &second] {
            assert_eq!(get(service, cookie, "/events").await.status, 200);
        }
    }
    let mut tail = RawConnection::to(there.setup.admin).await;
    let request = format!(
        "GET /events/live HTTP/1.1\r\nhost: {}\r\ncookie: {first}\r\nconnection: close\r\n\r\n",
        there.setup.admin
    );
    tail.write(request).await.unwrap();
    let head = tail.read_answer(LIMIT).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    there
        .deliver_twice(&Sender::of("stripe").event("evt_before"))
        .await;

    sign_out(here, &first, "").await;
    for path in ["/events", "/api/v1/events"] {
        for service in [here, there] {
            assert_ne!(get(service, &first, path).await.status, 200, "{path}");
            assert_eq!(get(service, &second, path).await.status, 200, "{path}");
        }
    }
    let seen = tail.read_until_closed(LIMIT).await;
    assert!(seen.contains("evt_before"), "{seen}");

    let third = sign_in(here).await;
    sign_out(there, &second, "&everywhere=yes").await;
    for service in [here, there] {
        for cookie in [&second, &third] {
            assert_eq!(get(service, cookie, "/events").await.status, 303);
        }
    }
}

async fn sign_in(service: &Service) -> String {
    let answer = post(service, "", "/login", format!("token={TOKEN}")).await;
    let cookie = answer.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

async fn sign_out(service: &Service, cookie: &str, how: &str) {
    let page = get(service, cookie, "/events").await.text();
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    let csrf = rest.split('"').next().unwrap();
    let answer = post(service, cookie, "/logout", format!("csrf={csrf}{how}")).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
}

async fn get(service: &Service, cookie: &str, path: &str) -> HttpResponse {
    send(service, cookie, Request::get(path), String::new()).await
}

async fn post(service: &Service, cookie: &str, path: &str, form: String) -> HttpResponse {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    send(service, cookie, request, form).await
}

async fn send(
    service: &Service,
    cookie: &str,
    request: http::request::Builder,
    body: String,
) -> HttpResponse {
    let admin = service.setup.admin;
    let request = request.header("host", admin.to_string()).header("cookie", cookie);
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    Connection::to(admin).send(request).await.unwrap()
}
