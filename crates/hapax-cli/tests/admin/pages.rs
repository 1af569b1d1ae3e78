//! Access to the dashboard: sessions, forms, headers. The look of pages is tested in a browser.

use hapax_config::Role;
use hapax_testkit::HttpResponse;

use super::site::{Site, TOKEN, token};

/// Paths of the dashboard that require a session.
const PAGES: [&str; 2] = ["/events", "/events?q=status:dead"];

async fn sign_in(site: &Site, token: &str) -> String {
    let answer = site
        .send("POST", "/login", &[], &format!("token={token}&note=Ada"))
        .await;
    assert_eq!(answer.status, 303, "{answer:?}");
    cookie_of(&answer)
}

fn cookie_of(answer: &HttpResponse) -> String {
    let line = answer.header("set-cookie").unwrap();
    line.split(';').next().unwrap().to_owned()
}

fn text(answer: &HttpResponse) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// The CSRF token in the forms of a page.
fn form_token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn with_reader() -> Site {
    let site = Site::start().await;
    site.admit(
        TOKEN,
        vec![token("reader", "a-reader-0123456789", Role::Read, None)],
    );
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_leads_to_the_login_and_the_login_leads_back() {
    let site = Site::start().await;
    for path in PAGES {
        let asked = site.send("GET", path, &[], "").await;
        assert_eq!(asked.status, 303);
        assert!(
            asked
                .header("location")
                .unwrap()
                .starts_with("/login?next=%2Fevents")
        );
    }
    let body = format!("token={TOKEN}&next=%2Fevents%3Fq%3Devt_1");
    let answer = site.send("POST", "/login", &[], &body).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/events?q=evt_1"))
    );
    for next in ["https://evil.example", "//evil.example", "%2F%2Fevil.example"] {
        let body = format!("token={TOKEN}&next={next}");
        let answer = site.send("POST", "/login", &[], &body).await;
        assert_eq!(answer.header("location"), Some("/"), "{next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_cookie_is_hidden_from_scripts_and_other_sites() {
    let site = Site::start().await;
    let body = format!("token={TOKEN}");
    let plain = site.send("POST", "/login", &[], &body).await;
    let line = plain.header("set-cookie").unwrap().to_ascii_lowercase();
    for word in ["httponly", "samesite=strict", "path=/;", "max-age=43200"] {
        assert!(line.contains(word), "{line}");
    }
    assert!(!line.contains("secure") && !line.contains(TOKEN), "{line}");
    let headers = [("origin", "https://hooks.example"), ("host", "hooks.example")];
    let safe = site.send("POST", "/login", &headers, &body).await;
    assert!(safe.header("set-cookie").unwrap().contains("; Secure"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_opens_no_session_and_another_site_cannot_sign_anybody_in() {
    let site = Site::start().await;
    let wrong = site.send("POST", "/login", &[], "token=wrong").await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("set-cookie").is_none());
    assert!(text(&wrong).contains("not a token of this service"));
    let foreign = [("origin", "https://evil.example")];
    let refused = site
        .send("POST", "/login", &foreign, &format!("token={TOKEN}"))
        .await;
    assert_eq!(refused.status, 403);
    assert!(refused.header("set-cookie").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_reads_the_api_and_never_changes_through_it() {
    let site = Site::start().await;
    let cookie = sign_in(&site, TOKEN).await;
    let headers = [("cookie", cookie.as_str())];
    assert_eq!(site.send("GET", "/api/v1/events", &headers, "").await.status, 200);
    let path = "/api/v1/destinations/billing/pause";
    site.send("POST", path, &headers, "{}")
        .await
        .assert_problem(401, "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_session_even_for_who_kept_the_cookie() {
    let site = Site::start().await;
    let cookie = sign_in(&site, TOKEN).await;
    let headers = [("cookie", cookie.as_str())];
    let page = site.send("GET", "/events", &headers, "").await;
    assert_eq!(page.status, 200);
    assert!(text(&page).contains("Signed in as"));
    let body = format!("csrf={}", form_token(&text(&page)));
    let out = site.send("POST", "/logout", &headers, &body).await;
    assert_eq!(
        (out.status, out.header("location")),
        (303, Some("/login?done=signed-out"))
    );
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(site.send("GET", "/events", &headers, "").await.status, 303);
    assert_eq!(site.send("GET", "/api/v1/events", &headers, "").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_in_at_one_replica_is_known_at_another_and_signs_out_at_both() {
    let site = Site::start().await;
    let other = site.another_replica().await;
    let (cookie, second) = (sign_in(&site, TOKEN).await, sign_in(&site, TOKEN).await);
    let (headers, second) = ([("cookie", cookie.as_str())], [("cookie", second.as_str())]);
    let page = Site::send_to(other, "GET", "/events", &headers, "").await;
    assert_eq!(page.status, 200);
    let body = format!("csrf={}", form_token(&text(&page)));
    assert_eq!(
        Site::send_to(other, "POST", "/logout", &headers, &body)
            .await
            .status,
        303
    );
    assert_eq!(site.send("GET", "/events", &headers, "").await.status, 303);
    let page = site.send("GET", "/events", &second, "").await;
    assert_eq!(page.status, 200, "another session goes on");
    let third = sign_in(&site, TOKEN).await;
    let third = [("cookie", third.as_str())];
    let body = format!("csrf={}&everywhere=yes", form_token(&text(&page)));
    assert_eq!(site.send("POST", "/logout", &second, &body).await.status, 303);
    for address in [site.address, other] {
        assert_eq!(
            Site::send_to(address, "GET", "/events", &third, "").await.status,
            303
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_say_whose_a_session_is_lets_nobody_in() {
    let site = Site::start().await;
    let cookie = sign_in(&site, TOKEN).await;
    let headers = [("cookie", cookie.as_str())];
    let database = rusqlite::Connection::open(site.folder.path().join("hapax.db")).unwrap();
    database
        .execute("ALTER TABLE source_states RENAME TO moved", ())
        .unwrap();
    for path in ["/events", "/api/v1/events"] {
        let answer = site.send("GET", path, &headers, "").await;
        assert!(answer.status >= 500, "{path}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_token_ends_the_sessions_that_it_opened() {
    let site = Site::start().await;
    let cookie = sign_in(&site, TOKEN).await;
    let headers = [("cookie", cookie.as_str())];
    assert_eq!(site.send("GET", "/events", &headers, "").await.status, 200);
    site.admit("another", Vec::new());
    assert_eq!(site.send("GET", "/events", &headers, "").await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_needs_the_sessions_own_proof_and_our_own_origin() {
    let site = Site::start().await;
    let (cookie, other) = (sign_in(&site, TOKEN).await, sign_in(&site, TOKEN).await);
    let headers = [("cookie", cookie.as_str())];
    let page = text(&site.send("GET", "/events?q=status:dead", &headers, "").await);
    let other = [("cookie", other.as_str())];
    let other_page = text(&site.send("GET", "/events?q=status:dead", &other, "").await);
    let (right, of_another) = (form_token(&page), form_token(&other_page));
    assert_ne!(right, of_another);
    for csrf in ["", "wrong", &of_another] {
        let body = format!("csrf={csrf}&name=mine&q=status:dead");
        let refused = site.send("POST", "/searches", &headers, &body).await;
        assert_eq!(refused.status, 403, "{csrf}");
        assert!(text(&refused).contains("stale_form"));
    }
    let body = format!("csrf={right}&name=mine&q=status:dead");
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let foreign = [("cookie", cookie.as_str()), (name, value)];
        assert_eq!(site.send("POST", "/searches", &foreign, &body).await.status, 403);
    }
    let out_of_nowhere = site.send("POST", "/searches", &[], &body).await;
    assert_eq!(out_of_nowhere.header("location"), Some("/login"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_read_sees_forms_that_do_nothing() {
    let site = with_reader().await;
    let cookie = sign_in(&site, "a-reader-0123456789").await;
    let headers = [("cookie", cookie.as_str())];
    let page = text(&site.send("GET", "/events?q=status:dead", &headers, "").await);
    assert!(page.contains("reader") && page.contains("<fieldset class=\"disabled\" disabled"));
    let body = format!("csrf={}&name=mine&q=status:dead", form_token(&page));
    let refused = site.send("POST", "/searches", &headers, &body).await;
    assert_eq!(refused.status, 403);
    assert!(text(&refused).contains("role_too_low"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_nobody_signs_in_and_forms_still_need_their_proof() {
    let site = Site::start_with(None).await;
    let page = site.send("GET", "/events?q=status:dead", &[], "").await;
    assert_eq!(page.status, 200);
    assert!(text(&page).contains("local") && !text(&page).contains("Sign out"));
    let refused = site
        .send("POST", "/searches", &[], "csrf=&name=mine&q=status:dead")
        .await;
    assert_eq!(refused.status, 403);
    let rebound = site.send("GET", "/events", &[("host", "evil.example")], "").await;
    assert_eq!(rebound.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_of_the_port_has_the_strict_headers() {
    let site = Site::start_with(None).await;
    for path in [
        "/events",
        "/login",
        "/no-such-page",
        "/healthz",
        "/api/v1/events",
        "/assets/hapax.js",
    ] {
        let answer = site.send("GET", path, &[], "").await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}"
        );
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(
            answer.header("cross-origin-opener-policy"),
            Some("same-origin"),
            "{path}"
        );
    }
    let page = site.send("GET", "/events", &[], "").await;
    assert_eq!(page.header("cache-control"), Some("no-store"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_is_kept_under_the_address_that_pages_use_and_checked_under_any_other() {
    let site = Site::start_with(None).await;
    let page = text(&site.send("GET", "/events", &[], "").await);
    let (_, rest) = page.split_once("href=\"/assets/hapax.css?v=").unwrap();
    let version = rest.split('"').next().unwrap();
    let pinned = site
        .send("GET", &format!("/assets/hapax.css?v={version}"), &[], "")
        .await;
    assert_eq!(
        pinned.header("cache-control"),
        Some("public, max-age=31536000, immutable")
    );
    let tag = pinned.header("etag").unwrap();
    let again = site
        .send("GET", "/assets/hapax.css", &[("if-none-match", tag)], "")
        .await;
    assert_eq!(
        (again.status, again.header("cache-control")),
        (304, Some("no-cache"))
    );
    assert_eq!(site.send("GET", "/assets/nothing", &[], "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn everyone_may_read_the_book_which_runs_only_scripts_of_its_own() {
    let site = Site::start().await;
    let moved = site.send("GET", "/docs", &[], "").await;
    assert_eq!((moved.status, moved.header("location")), (308, Some("/docs/")));
    let first = site.send("GET", "/docs/", &[], "").await;
    assert!(text(&first).contains("href=\"guides/first-webhook.html\""));
    let page = site
        .send("GET", "/docs/errors/unknown_source.html", &[], "")
        .await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self' 'sha256-")
            && !policy.contains("unsafe-inline"),
        "{policy}"
    );
    let tag = [("if-none-match", page.header("etag").unwrap())];
    let again = site
        .send("GET", "/docs/errors/unknown_source.html", &tag, "")
        .await;
    assert_eq!(
        (again.status, again.header("cache-control")),
        (304, Some("no-cache"))
    );
    let missing = site.send("GET", "/docs/errors/nothing.html", &[], "").await;
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json()["code"], "unknown_path");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_a_sender_is_escaped_wherever_it_is_shown() {
    let site = Site::start_with(None).await;
    let bad = "<script>alert(1)</script>";
    site.accept(bad).await;
    site.accept(bad).await;
    let page = text(&site.send("GET", "/events", &[], "").await);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>"));
    let search = "/events?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    let page = text(&site.send("GET", search, &[], "").await);
    assert!(!page.contains("<script>"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_cannot_be_read_is_shown_with_its_mistake() {
    let site = Site::start_with(None).await;
    let answer = site
        .send("GET", "/events?q=source:stripe+colour:red", &[], "")
        .await;
    assert_eq!(answer.status, 400);
    let page = text(&answer);
    assert!(
        page.contains("aria-invalid=\"true\"") && page.contains("<mark>colour:red</mark>"),
        "{page}"
    );
}
