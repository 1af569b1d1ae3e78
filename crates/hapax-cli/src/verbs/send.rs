//! `hapax send`: signs a delivery as a provider would, and sends it.
//!
//! `sender` finds the signer, its secret and the URL; `delivery` builds the request; `post` sends it.

mod delivery;
mod post;
mod sender;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hapax_core::Secret;
use serde::Serialize;
use tokio::task::JoinSet;

use super::{body, option};
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_terminal::output;

use delivery::Delivery;
use post::{Post, SendResult};
use sender::Sender;

/// Sign a delivery as a provider would, and send it.
///
/// Takes a configured source or a provider. Prints the response to each request, and exits with 1 unless all are 2xx.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax send stripe
  hapax send stripe --id evt_1 --times 5 --concurrency 5
  hapax events payload 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 | hapax send hubspot --body -
  hapax send github --to http://127.0.0.1:8080/in/github --secret env:GITHUB_SECRET --body push.json")]
pub struct Args {
    /// Configured source, or provider
    #[arg(value_name = "PROVIDER_OR_SOURCE")]
    pub target: String,

    /// URL to send to [default: the path of the source at the configured `server.listen`]
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,

    /// Signing secret: `env:NAME`, `file:PATH`, `exec:COMMAND` or the secret itself; for a key pair, the private half
    /// [default: the source's first secret, or that of `hapax dev` in this folder]
    #[arg(long, value_name = "SECRET", value_parser = crate::globals::secret)]
    pub secret: Option<Secret>,

    /// Option of the provider; may be repeated (`hapax providers NAME` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    pub option: Vec<option::Given>,

    /// Body, or one event of a batch; `-` reads stdin [default: a sample of the provider]
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,

    /// Event id [default: a new one, or the one in the body]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,

    /// Number of times to send the delivery
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub times: u32,

    /// Number of requests to send at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub concurrency: u32,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let sender = Sender::find(&args, globals)?;
    let body = args.body.as_deref().map(body::read).transpose()?;
    let delivery = Delivery::new(&sender, body.as_ref(), args.id.as_deref())?;
    let post = Post::new(&sender.url, &sender.tls)?;
    let mut summary = Summary::new(&sender, &delivery);
    let mut copies = start(delivery, post, args.times, args.concurrency);
    while let Some(answer) = copies.next().await? {
        show(&answer, globals)?;
        summary.add(&answer);
    }
    if globals.json {
        output::json_line(&summary)?;
    } else if args.times > 1 {
        output::note(format_args!(
            "{} sent, {} answered 2xx: {:?}",
            summary.sent, summary.succeeded, summary.results
        ));
    }
    if summary.sent == summary.succeeded {
        Ok(())
    } else {
        Err(CliError::silent(Exit::Failed))
    }
}

/// The last line of `--json`.
#[derive(Debug, Serialize)]
struct Summary {
    url: String,
    event_id: Option<String>,
    sent: u64,
    succeeded: u64,
    /// Counted by the `status` of the answers, or by HTTP status if they have none.
    results: BTreeMap<String, u64>,
}

impl Summary {
    fn new(sender: &Sender, delivery: &Delivery) -> Self {
        let event_id = delivery.event_id().map(str::to_owned);
        Self {
            url: sender.url.to_string(),
            event_id,
            sent: 0,
            succeeded: 0,
            results: BTreeMap::new(),
        }
    }

    fn add(&mut self, answer: &SendResult) {
        self.sent += 1;
        self.succeeded += u64::from(answer.is_success());
        *self.results.entry(answer.result()).or_default() += 1;
    }
}

fn show(answer: &SendResult, globals: &Globals) -> std::io::Result<()> {
    if globals.json {
        return output::json_line(answer);
    }
    output::line(answer)
}

/// Requests in progress, at most this many at once.
struct Sends {
    delivery: Arc<Delivery>,
    post: Post,
    remaining: u32,
    under_way: JoinSet<SendResult>,
}

fn start(delivery: Delivery, post: Post, times: u32, concurrency: u32) -> Sends {
    let mut copies = Sends {
        delivery: Arc::new(delivery),
        post,
        remaining: times,
        under_way: JoinSet::new(),
    };
    for _ in 0..concurrency {
        copies.send_one();
    }
    copies
}

impl Sends {
    fn send_one(&mut self) {
        if self.remaining == 0 {
            return;
        }
        self.remaining -= 1;
        let (delivery, post) = (Arc::clone(&self.delivery), self.post.clone());
        self.under_way
            .spawn(async move { post.send(&delivery.sign()).await });
    }

    async fn next(&mut self) -> anyhow::Result<Option<SendResult>> {
        let Some(answer) = self.under_way.join_next().await else {
            return Ok(None);
        };
        self.send_one();
        Ok(Some(answer?))
    }
}
