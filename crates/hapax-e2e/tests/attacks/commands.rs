//! A program that Hapax starts reads Hapax's secrets in its environment.

use std::path::Path;
use std::time::Duration;

use super::report;
use hapax_testkit::{Sender, Setup, eventually, secret_of};

const LIMIT: Duration = Duration::from_secs(30);
/// Every secret contains this.
const MARK: &str = "hunter2";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_gets_no_secret_of_ours() {
    let write = |name: &str| format!("[\"sh\", \"-c\", \"env > {name}.new && mv {name}.new {name}\"]");
    let mut service = Setup::new()
        .table(&format!(
            "[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_SECRET\"]\ndeliver_to = [\"script\", \"chosen\"]\n\
             [destinations.script]\nkind = \"command\"\ncommand = {}\n\
             [destinations.chosen]\nkind = \"command\"\nenv = [\"PATH\", \"APP_MODE\"]\ncommand = {}\n\
             [alerts.receivers.pager]\nkind = \"command\"\ncommand = {}",
            write("delivered"),
            write("chosen"),
            write("alerted")
        ))
        .before(&format!(
            "export STRIPE_SECRET={} DATABASE_URL=postgres://app:{MARK}@db/app AWS_SECRET_ACCESS_KEY={MARK} \
             HAPAX_ADMIN_TOKEN={MARK} HAPAX_STATE_KEY={MARK} APP_MODE=test TZ=UTC",
            secret_of("stripe")
        ))
        .spawn();
    service.until_ready().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.hapax(&["alerts", "test", "pager"]).await.assert_code(0);
    let mut seen = Vec::new();
    for name in ["delivered", "chosen", "alerted"] {
        let path = service.setup.path().join(name);
        seen.push(eventually(name, LIMIT, async || read(&path)).await);
    }
    let [delivered, chosen, alerted] = <[String; 3]>::try_from(seen).unwrap();
    let secrets = [MARK.to_owned(), secret_of("stripe")];
    let all = [&delivered, &chosen, &alerted];
    let leaks = all
        .iter()
        .filter(|text| secrets.iter().any(|secret| text.contains(secret)));
    report::write(
        "commands",
        "three commands print their environment; ours holds 5 secrets",
        &format!("{} of 3 see any", leaks.count()),
    );
    for text in all {
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
        assert!(text.contains("PATH="), "{text}");
    }
    assert!(
        delivered.contains("HAPAX_EVENT_ID=evt_1") && delivered.contains("TZ=UTC"),
        "{delivered}"
    );
    assert!(!delivered.contains("APP_MODE"), "{delivered}");
    assert!(
        chosen.contains("APP_MODE=test") && !chosen.contains("TZ=UTC"),
        "{chosen}"
    );
    assert!(alerted.contains("HAPAX_ALERT_RULE="), "{alerted}");
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
