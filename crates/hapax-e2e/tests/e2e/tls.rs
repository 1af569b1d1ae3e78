//! TLS on both ports, with certificates from OpenSSL and requests from curl.

mod clients;
mod renewal;
mod served;

use std::time::Duration;

use hapax_testkit::{Service, Setup, eventually};

use hapax_testkit::certificate::Authority;
use hapax_testkit::curl::Curl;

const LIMIT: Duration = Duration::from_secs(30);

/// A service with the source `stripe` and a certificate of this authority on both ports, in `tls.crt` and `tls.key`.
async fn serve(authority: &Authority, change: impl FnOnce(Setup) -> Setup) -> Service {
    let setup = change(Setup::new().source("stripe", "stripe", ""));
    authority.certify(setup.path(), "tls");
    let setup = setup.table("[server.tls]\ncert = \"tls.crt\"\nkey = \"tls.key\"");
    until_healthy(setup.spawn()).await
}

/// Waits with the command line, which finds the certificate through the configuration.
async fn until_healthy(service: Service) -> Service {
    eventually("the service is healthy", LIMIT, async || {
        (service.hapax(&["health"]).await.code == Some(0)).then_some(())
    })
    .await;
    service
}

/// Fetches a document from the admin port.
async fn admin(service: &Service, authority: &Authority, path: &str) -> String {
    let url = format!("https://{}{path}", service.setup.admin);
    let answer = Curl::get(&url).trusting(authority).run().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}
