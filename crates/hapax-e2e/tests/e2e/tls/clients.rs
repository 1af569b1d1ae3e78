//! Client authentication: clients with a certificate of the right authority, and our own command line.

use std::process::Stdio;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::{Authority, Curl, LIMIT, serve, until_healthy};
use hapax_testkit::{Sender, Service, Setup, eventually, within};

/// Webhooks over plain TLS; the admin port requires a certificate of `clients`.
async fn serve_mutual(authority: &Authority, clients: &Authority) -> Service {
    let setup = Setup::new().source("stripe", "stripe", "");
    let folder = setup.path().to_owned();
    authority.certify(&folder, "tls");
    std::fs::copy(clients.path(), folder.join("clients.crt")).unwrap();
    let service = setup
        .table("[server.tls]\ncert = \"tls.crt\"\nkey = \"tls.key\"\nclient_ca = \"clients.crt\"")
        .spawn();
    clients.certify(&folder, "ours");
    eventually("the service is healthy", LIMIT, async || {
        (service.hapax(&["health", "--client-cert", "ours.pem"]).await.code == Some(0)).then_some(())
    })
    .await;
    service
}

#[tokio::test]
async fn without_a_certificate_of_the_authority_nobody_gets_in_on_either_port() {
    let (authority, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let service = serve_mutual(&authority, &clients).await;
    let folder = service.setup.path().to_owned();
    strangers.certify(&folder, "strange");
    let event = Sender::of("stripe").event("evt_1");
    let base = format!("https://{}", service.address());
    for address in [service.address(), service.setup.admin] {
        let ask = || Curl::get(&format!("https://{address}/readyz")).trusting(&authority);
        assert_eq!(ask().run().await.status, 0);
        assert_eq!(ask().showing(&folder.join("strange.pem")).run().await.status, 0);
        assert_ne!(ask().showing(&folder.join("ours.pem")).run().await.status, 0);
    }
    for status in ["accepted", "duplicate"] {
        let answer = Curl::deliver(&base, &event)
            .trusting(&authority)
            .showing(&folder.join("ours.pem"))
            .run()
            .await;
        assert!(
            answer.body.contains(&format!("\"status\":\"{status}\"")),
            "{answer:?}"
        );
    }
    let refused = service.hapax(&["health"]).await;
    refused.assert_code(1);
    let metrics = Curl::get(&format!("https://{}/metrics", service.setup.admin));
    let metrics = metrics
        .trusting(&authority)
        .showing(&folder.join("ours.pem"))
        .run()
        .await
        .body;
    assert!(
        metrics.contains("hapax_tls_handshake_failures_total{listener=\"ingest\"} 2"),
        "{metrics}"
    );
}

#[tokio::test]
async fn an_authority_that_is_replaced_lets_nobody_in_again_and_ends_open_connections() {
    let (authority, old, new) = (Authority::new(), Authority::new(), Authority::new());
    let service = serve_mutual(&authority, &old).await;
    let folder = service.setup.path().to_owned();
    let mut open = Command::new("openssl")
        .args([
            "s_client", "-quiet", "-cert", "ours.crt", "-key", "ours.key", "-connect",
        ])
        .arg(service.setup.admin.to_string())
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = open.stdin.take().unwrap();
    let mut stdout = open.stdout.take().unwrap();
    stdin
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = [0; 12];
    within("an answer", LIMIT, stdout.read_exact(&mut answer))
        .await
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");

    std::fs::copy(new.path(), folder.join("clients.crt")).unwrap();
    // The input stays open, so it is the service that closes.
    within("the connection ends", LIMIT, open.wait()).await.unwrap();
    let ask = || Curl::get(&format!("https://{}/healthz", service.setup.admin)).trusting(&authority);
    assert_eq!(ask().showing(&folder.join("ours.pem")).run().await.status, 0);
    new.certify(&folder, "theirs");
    assert_eq!(ask().showing(&folder.join("theirs.pem")).run().await.status, 200);
}

#[tokio::test]
async fn a_session_of_a_client_with_a_certificate_is_never_resumed() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let service = serve_mutual(&authority, &clients).await;
    for version in ["-tls1_2", "-tls1_3"] {
        let mut reused = 0;
        for with in ["-sess_out", "-sess_in"] {
            let output = Command::new("openssl")
                .args([
                    "s_client",
                    version,
                    "-cert",
                    "ours.crt",
                    "-key",
                    "ours.key",
                    with,
                    "session.pem",
                    "-connect",
                ])
                .arg(service.setup.admin.to_string())
                .current_dir(service.setup.path())
                .stdin(Stdio::null())
                .output()
                .await
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            reused += text.matches("Reused, ").count();
            assert!(with == "-sess_in" || text.contains("New, "), "{text}");
        }
        assert_eq!(reused, 0, "{version}");
    }
}

#[tokio::test]
async fn the_command_line_finds_its_way_by_the_configuration_or_by_an_authority() {
    let authority = Authority::new();
    let service = until_healthy(serve(&authority, |setup| setup).await).await;
    for answer in ["accepted", "duplicate"] {
        let sent = service.hapax(&["send", "stripe", "--id", "evt_1"]).await;
        assert!(sent.assert_code(0).stdout.contains(answer), "{sent:#?}");
    }
    let listed = service.hapax(&["events", "list", "--json"]).await;
    assert!(listed.assert_code(0).stdout.contains("evt_1"), "{listed:#?}");
    let url = format!("https://localhost:{}", service.setup.admin.port());
    let ca = authority.path();
    let named = ["health", "--admin", &url, "--cacert", ca.to_str().unwrap()];
    service.hapax(&named).await.assert_code(0);
    let unknown = service.hapax(&["health", "--admin", &url]).await;
    assert!(unknown.assert_code(1).stderr.contains("--cacert"), "{unknown:#?}");
}
