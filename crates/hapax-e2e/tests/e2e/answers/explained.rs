//! The reason for a refusal is in the operator's log, and never in the response.

use std::time::Duration;

use hapax_testkit::{Sender, Setup, eventually, secret_of};

const LOG_LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn the_likely_mistake_is_in_the_log_and_not_in_the_answer() {
    let other = "whsec_of_the_other_source";
    let service = Setup::new()
        .source("stripe", "stripe", "")
        .table(&format!(
            "[sources.elsewhere]\nprovider = \"stripe\"\nsecrets = [\"{other}\"]\ndeliver_to = []"
        ))
        .start()
        .await;
    let foreign = Sender::with_secret("stripe", "stripe", other).event("evt_1");
    for _ in 0..2 {
        let answer = service.deliver(&foreign).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        let text = format!("{answer:?}");
        assert!(!text.contains("likely") && !text.contains("elsewhere"), "{text}");
    }
    let line = eventually("the mistake is in the log", LOG_LIMIT, async || {
        let log = service.log();
        log.lines()
            .find(|line| line.contains("likely"))
            .map(str::to_owned)
    })
    .await;
    assert!(line.contains("a secret of the source `elsewhere`"), "{line}");
    assert!(
        !line.contains(other) && !line.contains(&secret_of("stripe")),
        "{line}"
    );
}
