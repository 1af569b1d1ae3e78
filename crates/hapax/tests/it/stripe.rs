//! Deliveries signed as Stripe signs them.

use axum::body::Body;
use axum::response::Response;
use hapax_verify::catalogue;
use hapax_verify::sign::Signer;
use http::Request;
use http_body_util::BodyExt as _;

pub(crate) const SECRET: &str = "whsec_test";

/// A body with this id.
pub(crate) fn body(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"invoice.paid","data":{{}}}}"#)
}

/// A signed delivery with the current time.
pub(crate) fn delivery(body: &str) -> Request<Body> {
    signed(SECRET, now(), body)
}

/// A delivery signed with this secret at this time.
pub(crate) fn signed(secret: &str, at: i64, body: &str) -> Request<Body> {
    let signer = Signer::new(catalogue::get("stripe").unwrap().proof.scheme().unwrap(), secret).unwrap();
    let mut request = Request::post("/webhooks/stripe");
    for (name, value) in signer.sign("", at, "POST", "", body.as_bytes()) {
        request = request.header(name, value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    since.as_secs().try_into().unwrap()
}

/// The response's status and body.
pub(crate) async fn read(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}
