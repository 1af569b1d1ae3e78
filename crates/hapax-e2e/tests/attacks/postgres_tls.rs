//! Someone between Hapax and its database claims that there is no TLS, and asks for the password in plain text.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::report;
use hapax_testkit::{Sender, Setup, eventually};

const LIMIT: Duration = Duration::from_secs(60);
const PASSWORD: &str = "hunter2";
/// The request for TLS: the same eight bytes from every client.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// "The password in plain text, please."
const ASK_FOR_PASSWORD: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];

/// Refuses TLS, asks for the password, and records everything that it receives.
struct InTheMiddle {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl InTheMiddle {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, heard) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
        let told = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let told = Arc::clone(&told);
                tokio::spawn(async move {
                    let mut buffer = [0; 1024];
                    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                        told.lock().extend_from_slice(&buffer[..count]);
                        let answer: &[u8] = if buffer[..count] == TLS_REQUEST {
                            b"N"
                        } else {
                            &ASK_FOR_PASSWORD
                        };
                        let _ = stream.write_all(answer).await;
                    }
                });
            }
        });
        Self { address, heard }
    }

    /// The URL of a database on another machine, which leads here.
    fn url(&self, options: &str) -> String {
        let port = self.address.port();
        format!("postgres://app:{PASSWORD}@db.example.com:{port}/app?hostaddr=127.0.0.1{options}")
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock()).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_password_goes_to_whoever_refuses_tls() {
    let middle = InTheMiddle::start().await;
    let url = middle.url("");
    let refused = Setup::new().database(&url).refusal().await;
    let service = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"table\"]")
        .table(&format!(
            "[outbox.app]\nurl = \"{url}\"\npoll = \"10ms\"\n\
             [destinations.table]\nkind = \"sql\"\nurl = \"env:TABLE_URL\"\nmax_attempts = 1\n\
             params = {{ id = \"event_id\" }}\nstatements = [\"select :id\"]"
        ))
        .before(&format!("export TABLE_URL='{url}'"))
        .start()
        .await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let event = service.until_event_is(&id, "dead", LIMIT).await;
    let outbox = eventually("the outbox is in trouble", LIMIT, async || {
        let log = service.log();
        log.contains("the outbox is not relayed").then_some(log)
    })
    .await;
    let heard = middle.heard.lock().clone();
    let requests = heard.windows(8).filter(|bytes| *bytes == TLS_REQUEST).count();
    let others = heard.len() - requests * TLS_REQUEST.len();
    report::write(
        "postgres-tls",
        "store, sql destination and outbox meet a man in the middle who refuses TLS and asks for the password",
        &format!("{requests} requests for TLS, and {others} bytes of anything else"),
    );
    assert!(requests >= 3, "{requests}");
    assert_eq!(others, 0, "{}", middle.heard());
    assert_ne!(refused.code, Some(0));
    for said in [&refused.stderr, &event["attempts"].to_string(), &outbox] {
        assert!(
            said.contains("sslmode=require") && said.contains("sslrootcert=FILE"),
            "{said}"
        );
        assert!(!said.contains(PASSWORD), "{said}");
    }
}

/// The operator's setting is respected: a private network may do without TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_text_is_for_those_who_ask_for_it() {
    let middle = InTheMiddle::start().await;
    let refused = Setup::new()
        .database(&middle.url("&sslmode=disable"))
        .refusal()
        .await;
    assert_ne!(refused.code, Some(0));
    assert!(middle.heard().contains(PASSWORD), "{:?}", middle.heard());
}
