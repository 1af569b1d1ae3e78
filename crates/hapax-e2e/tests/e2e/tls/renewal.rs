//! Certificates change while the service runs.

use super::{Authority, Curl, LIMIT, admin, serve};
use hapax_testkit::{Sender, Service, eventually};
use rustix::process::Signal;

async fn is_served(service: &Service, authority: &Authority) -> bool {
    let url = format!("https://{}/in/stripe", service.address());
    let answer = Curl::get(&url).trusting(authority).run().await;
    answer.status != 0
}

#[tokio::test]
async fn a_new_pair_is_served_without_a_restart_and_a_key_of_another_certificate_never() {
    let (old, new) = (Authority::new(), Authority::new());
    let service = serve(&old, |setup| setup).await;
    let folder = service.setup.path().to_owned();
    assert!(is_served(&service, &old).await && !is_served(&service, &new).await);

    // A renewal changes its files one after the other: for a while they do not match.
    new.certify(&folder, "next");
    std::fs::copy(folder.join("next.key"), folder.join("tls.key")).unwrap();
    eventually("the pair is refused", LIMIT, async || {
        service
            .log()
            .contains("does not belong to the certificate")
            .then_some(())
    })
    .await;
    assert!(is_served(&service, &old).await);
    let metrics = admin(&service, &old, "/metrics").await;
    assert!(
        metrics.contains("hapax_tls_reloads_total{listener=\"ingest\",result=\"failed\"} 1"),
        "{metrics}"
    );

    std::fs::copy(folder.join("next.crt"), folder.join("tls.crt")).unwrap();
    eventually("the new pair is served", LIMIT, async || {
        is_served(&service, &new).await.then_some(())
    })
    .await;
    assert!(!is_served(&service, &old).await);
    let metrics = admin(&service, &new, "/metrics").await;
    assert!(
        metrics.contains("hapax_tls_reloads_total{listener=\"admin\",result=\"loaded\"} 1"),
        "{metrics}"
    );

    let event = Sender::of("stripe").event("evt_1");
    for status in ["accepted", "duplicate"] {
        let answer = Curl::deliver(&format!("https://{}", service.address()), &event)
            .trusting(&new)
            .run()
            .await;
        assert!(
            answer.body.contains(&format!("\"status\":\"{status}\"")),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn a_sighup_looks_at_once_and_a_file_that_is_gone_is_complained_about_once() {
    let (old, new) = (Authority::new(), Authority::new());
    let service = serve(&old, |setup| setup).await;
    let folder = service.setup.path().to_owned();
    std::fs::remove_file(folder.join("tls.crt")).unwrap();
    service.signal(Signal::HUP);
    service.signal(Signal::HUP);
    eventually("the reload is done", LIMIT, async || {
        service.log().contains("configuration reloaded").then_some(())
    })
    .await;
    let complaints = service.log().matches("the certificate was not reloaded").count();
    assert_eq!(complaints, 2, "one for each port: {}", service.log());
    assert!(is_served(&service, &old).await);
    new.certify(&folder, "tls");
    service.signal(Signal::HUP);
    eventually("the new pair is served", LIMIT, async || {
        is_served(&service, &new).await.then_some(())
    })
    .await;
}
