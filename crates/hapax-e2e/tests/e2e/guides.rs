//! The README and the first guide, as a reader follows them: every command, in order, in an empty folder.

mod page;
mod terminal;

use std::time::Duration;

use hapax_testkit::{Outcome, eventually};
use serde_json::Value;

use page::Page;
use terminal::Terminal;

const LIMIT: Duration = Duration::from_secs(30);

/// The last line of the greeting of `hapax dev`.
const GREETED: &str = "Press Ctrl-C to stop.";

#[tokio::test(flavor = "multi_thread")]
async fn the_first_webhook_arrives_as_the_guide_says() {
    let page = Page::read("docs/guides/first-webhook.md");
    let [start, send, inspect, production] = &page.shell()[..] else {
        panic!("a block of commands was added or removed: run it here");
    };
    let mut terminal = Terminal::open().await;

    terminal.start(&start[0], GREETED).await;
    let secret = terminal.printed("  stripe ");
    terminal.fill("whsec_…", &secret);

    let id = accepted_once(&terminal.run(&send[0]).await);
    terminal.handler.until_effects(1, LIMIT).await;

    let request = &terminal.handler.received()[0];
    let headers = page.first_column("header");
    assert!(headers.len() > 5, "{headers:?}");
    for header in headers {
        // The page says that it is signed only with a secret, and there is none.
        let is_expected = header != "webhook-signature";
        assert_eq!(
            request.header(&header).is_some(),
            is_expected,
            "{header} in {request:?}"
        );
    }

    terminal.fill("show ID", &format!("show {id}"));
    let [list, show, stats] = &inspect[..] else {
        panic!("not three commands: {inspect:?}");
    };
    let listed = terminal.run(list).await;
    assert!(listed.stdout.contains(&id), "{listed:#?}");
    // Duplicates and outcomes are recorded in batches.
    eventually(
        "the event is shown with its duplicate and its attempt",
        LIMIT,
        async || {
            let shown = terminal.run(show).await.stdout;
            let is_whole = shown.contains("\nduplicates  1, ") && shown.contains("\nattempts\n");
            is_whole.then_some(())
        },
    )
    .await;
    let stats = terminal.run(stats).await;
    assert!(stats.stdout.contains("\nstripe\t2\t1\t1\t"), "{stats:#?}");
    terminal.stop().await;

    go_to_production(&mut terminal, production).await;
    accepted_once(&terminal.run("hapax send stripe --id evt_2 --times 2").await);
    terminal.handler.until_effects(2, LIMIT).await;
    terminal.stop().await;
    assert_eq!(terminal.handler.applications(), 2, "one for each event");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_shows_commands_that_work() {
    let page = Page::read("README.md");
    // The handler of `twice` has a database of its own, and the last block is for another project.
    let [start, demo, production, print, _twice, _library] = &page.shell()[..] else {
        panic!("a block of commands was added or removed: run it here");
    };
    let mut terminal = Terminal::open().await;

    let [dev, test] = &start[..] else {
        panic!("not two commands: {start:?}");
    };
    assert!(test.starts_with("./test "), "this runs in it: {test}");
    terminal.start(dev, GREETED).await;
    let [send, list] = &terminal.printed_commands()[..] else {
        panic!("not two commands to copy: {}", terminal.log());
    };
    let id = accepted_once(&terminal.run(send).await);
    let listed = terminal.run(list).await;
    assert!(listed.stdout.contains(&id), "{listed:#?}");
    terminal.stop().await;

    // Fewer events than on the page: this build is not optimised.
    terminal.fill("--events 2000", "--events 200");
    let proof = terminal.run(&demo[0]).await;
    for result in ["lost", "doubled"] {
        let row = proof.stdout.lines().find(|line| line.starts_with(result));
        let count = row.and_then(|row| row.split_whitespace().nth(1));
        assert_eq!(count, Some("0"), "{result}: {proof:#?}");
    }

    terminal.fill("whsec_…", "whsec_of_stripe");
    terminal.fill("GITHUB_WEBHOOK_SECRET=…", "GITHUB_WEBHOOK_SECRET=of-github");
    go_to_production(&mut terminal, production).await;
    let id = accepted_once(&terminal.run("hapax send stripe --id evt_123 --times 2").await);
    accepted_once(&terminal.run("hapax send github --times 2").await);
    eventually("both events are completed", LIMIT, async || {
        let listed = terminal.run("hapax events list -q status:completed").await;
        (listed.stdout.lines().count() == 3).then_some(())
    })
    .await;

    terminal.fill("show ID", &format!("show {id}"));
    terminal.fill("explain CODE", "explain signature_invalid");
    let commands = page.commands_in_tables();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        // The first needs a request that was refused, the second never ends.
        if !command.contains('…') && command != "hapax events tail" {
            terminal.run(&command).await;
        }
    }
    for command in print {
        terminal.run(command).await;
    }
    for name in ["rules.yml", "hapax.json", "compose.yml"] {
        assert!(!terminal.read(name).is_empty(), "{name}");
    }
    terminal.stop().await;
    assert_eq!(terminal.handler.applications(), 2, "one for each event");
}

/// Runs the commands from `hapax init` to `hapax serve`.
async fn go_to_production(terminal: &mut Terminal, block: &[String]) {
    let [init, check @ .., serve] = block else {
        panic!("too few commands: {block:?}");
    };
    terminal.run(init).await;
    terminal.use_free_addresses("hapax.toml");
    for command in check {
        terminal.run(command).await;
    }
    terminal.start(serve, "ready: webhooks at ").await;
}

/// The id of an event that was sent twice: new, then a duplicate of itself.
#[track_caller]
fn accepted_once(sent: &Outcome) -> String {
    let answers = sent.stdout.lines().map(|line| {
        let body = line.strip_prefix("200 ").unwrap_or_else(|| panic!("{sent:#?}"));
        serde_json::from_str(body).unwrap()
    });
    let [first, second]: [Value; 2] = answers.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        (&first["status"], &second["status"]),
        (&"accepted".into(), &"duplicate".into())
    );
    assert_eq!(first["id"], second["id"]);
    first["id"].as_str().unwrap().to_owned()
}
