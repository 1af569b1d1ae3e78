//! A refusal reaches every client while it is still sending: a bare socket, Python's http.client, curl. Node, Go and
//! clients behind a proxy are in `./test proxies`.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use hapax_testkit::{Sender, Service, Setup, Wire, within};

const LIMIT: Duration = Duration::from_secs(60);
/// One above the limit of 5 MiB, and one far above it.
const SIZES: [usize; 2] = [6 << 20, 60 << 20];
/// A result that is right by chance is not right twenty times.
const TIMES: usize = 20;
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proxies/clients/client.py");

async fn service() -> Service {
    Setup::new().source("stripe", "stripe", "").start().await
}

/// The lines that a client prints, one per request.
async fn lines(command: &mut Command) -> Vec<String> {
    let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = within("the client ends", LIMIT, running).await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_socket_that_sends_it_all_first_reads_413() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    for size in SIZES {
        let body = vec![b'x'; size];
        for _ in 0..TIMES {
            let mut connection = Wire::open(service.address()).await.patient_for(LIMIT);
            let head = delivery.head(&format!("content-length: {size}\r\n"));
            connection.say(&head).await;
            connection.say(&body).await;
            let answer = connection.hear().await;
            answer.assert_problem(413, "body_too_large");
            assert_eq!(answer.header("connection"), Some("close"), "{size}");
            assert_eq!(connection.hear_out().await, "");
        }
    }
    service.deliver_twice(&delivery).await;
}

#[tokio::test]
async fn pythons_client_reads_413_and_404() {
    let service = service().await;
    for size in SIZES {
        for (path, status) in [("/in/stripe", "413"), ("/in/strpie", "404")] {
            let url = format!("http://{}{path}", service.address());
            let mut client = Command::new("python3");
            client.args([PYTHON, &url, &size.to_string(), &TIMES.to_string()]);
            assert_eq!(lines(&mut client).await, [status; TIMES], "{size} {path}");
        }
    }
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}

#[tokio::test]
async fn curl_reads_413_whether_it_asks_before_it_sends_or_not() {
    let service = service().await;
    let url = format!("http://{}/in/stripe", service.address());
    let file = service.setup.path().join("zeros");
    for size in SIZES {
        std::fs::File::create(&file)
            .and_then(|file| file.set_len(size as u64))
            .unwrap();
        for expect in ["expect: 100-continue", "expect:"] {
            for _ in 0..TIMES {
                let mut client = Command::new("curl");
                client.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}\\n", "-H", expect]);
                client.arg("--data-binary").arg(format!("@{}", file.display()));
                assert_eq!(lines(client.arg(&url)).await, ["413"], "{size} {expect}");
            }
        }
    }
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}

#[tokio::test]
async fn the_admin_port_refuses_in_the_same_way() {
    let token = "0123456789abcdef0123456789abcdef";
    let setup = Setup::new().source("stripe", "stripe", "");
    let service = setup.server(&format!("admin_token = \"{token}\"")).start().await;
    let size = SIZES[0];
    for _ in 0..TIMES {
        let mut connection = Wire::open(service.setup.admin).await.patient_for(LIMIT);
        let head = format!(
            "POST /api/v1/replays HTTP/1.1\r\nhost: {}\r\ncontent-length: {size}\r\n\r\n",
            service.setup.admin
        );
        connection.say(head.as_bytes()).await;
        connection.say(&vec![b'x'; size]).await;
        connection.hear().await.assert_problem(401, "unauthorized");
        assert_eq!(connection.hear_out().await, "");
    }
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}
