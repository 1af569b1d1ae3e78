//! The messages to systemd, read from a socket like its own.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::UnixDatagram;

use hapax_testkit::{Sender, Service, Setup, Sink, within};

const LIMIT: Duration = Duration::from_secs(30);
/// The watchdog's timeout. It is fed three times as often.
const WATCHDOG: Duration = Duration::from_millis(600);

/// Messages that may be in transit when a process is frozen.
const ON_THE_WAY_MAX: usize = 3;

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn at(folder: &Path) -> Self {
        Self(UnixDatagram::bind(folder.join("notify.sock")).unwrap())
    }

    async fn hear(&self) -> String {
        let mut message = [0; 4096];
        let length = within("systemd is told something", LIMIT, self.0.recv(&mut message))
            .await
            .unwrap();
        String::from_utf8_lossy(&message[..length]).into_owned()
    }

    /// The next message that contains this line.
    async fn until(&self, line: &str) -> String {
        loop {
            let message = self.hear().await;
            if message.lines().any(|one| one == line) {
                return message;
            }
        }
    }

    /// Whether nothing arrives for this long, after the messages in transit.
    async fn falls_silent_for(&self, time: Duration) -> bool {
        let mut message = [0; 4096];
        for _ in 0..ON_THE_WAY_MAX {
            if tokio::time::timeout(time, self.0.recv(&mut message))
                .await
                .is_err()
            {
                return true;
            }
        }
        false
    }
}

fn start(sink: &Sink) -> (Service, Manager) {
    let setup = Setup::stripe_to(sink);
    let manager = Manager::at(setup.path());
    let setup = setup.before(&format!(
        "export NOTIFY_SOCKET=\"$PWD/notify.sock\" WATCHDOG_USEC={}",
        WATCHDOG.as_micros()
    ));
    let service = setup.spawn();
    (service, manager)
}

#[tokio::test]
async fn systemd_is_told_of_readiness_life_a_reload_and_the_end() {
    let sink = Sink::start().await;
    let (mut service, manager) = start(&sink);
    manager.until("READY=1").await;
    // Ready means that both ports respond at once.
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    assert_eq!(service.admin("/healthz").await.status, 200);

    let alive = manager.until("WATCHDOG=1").await;
    assert!(alive.contains("STATUS=serving: "), "{alive}");
    let counted = "STATUS=serving: 1 accepted, 1 duplicates, 0 rejected since the start";
    manager.until(counted).await;

    service.signal(Signal::HUP);
    let reloading = manager.until("RELOADING=1").await;
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    manager.until("READY=1").await;

    service.signal(Signal::TERM);
    manager.until("STOPPING=1").await;
    assert_eq!(service.ended(LIMIT).await.code(), Some(0));
}

#[tokio::test]
async fn a_frozen_process_gives_no_sign_of_life_and_one_that_goes_on_does() {
    let sink = Sink::start().await;
    let (service, manager) = start(&sink);
    manager.until("WATCHDOG=1").await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.signal(Signal::STOP);
    assert!(
        manager.falls_silent_for(WATCHDOG * 2).await,
        "systemd would lose patience now"
    );
    service.signal(Signal::CONT);
    manager.until("WATCHDOG=1").await;
}
