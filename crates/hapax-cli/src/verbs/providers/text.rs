//! A preset as a page for people.

use hapax_verify::catalogue::{Addresses, Choice, Provider};
use hapax_verify::{OptionSpec, SecretNeed};

use super::{document, words};
use hapax_api::size::format_size;

pub(super) fn of(provider: &Provider) -> String {
    let mut page = Page(vec![format!("{} ({})", provider.title, provider.name)]);
    proof(&mut page, provider);
    event(&mut page, provider);
    delivery(&mut page, provider);
    for option in &provider.options {
        page.field("option", describe(option));
    }
    for choice in &provider.choices {
        page.field("choice", decided(choice));
    }
    for note in &provider.notes {
        page.field("note", note);
    }
    for url in &provider.docs {
        page.field("docs", url);
    }
    page.field("confidence", confidence(provider));
    for line in words::lines(provider) {
        page.field("in hapax.toml", line);
    }
    page.0.join("\n")
}

struct Page(Vec<String>);

impl Page {
    fn field(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.push(format!("{name:<17}{value}"));
    }
}

fn proof(page: &mut Page, provider: &Provider) {
    page.field("scheme", provider.proof.summary());
    if !words::is_signed(&provider.proof) {
        page.field(
            "",
            "nothing is signed: anyone who knows the token can send anything".to_owned(),
        );
    }
    let scheme = provider.proof.scheme();
    if let Some(rule) = scheme.and_then(|scheme| scheme.timestamp.as_ref()) {
        let place = document::timestamp_place(&rule.path);
        page.field(
            "timestamp",
            format!("{place}, within {} s", rule.tolerance_seconds),
        );
    }
    if provider.proof.covers_url() {
        page.field(
            "url",
            "signed, so `public_url` must be the URL that is configured at the provider",
        );
    }
    match provider.secrets {
        SecretNeed::Required => {}
        SecretNeed::Optional => page.field("secrets", "not needed"),
    }
}

fn event(page: &mut Page, provider: &Provider) {
    let (identity, delivery) = (&provider.identity, &provider.delivery);
    page.field("event id", &identity.event_id);
    page.field(
        "id class",
        format!(
            "{}: {} (version {})",
            identity.class,
            words::id_class(identity.class),
            identity.version
        ),
    );
    page.field("", words::id_is_signed(provider));
    page.field("2 events, 1 id?", &delivery.id_uniqueness);
    page.field("1 event, 2 ids?", &delivery.id_stability);
    page.field("on conflict", words::on_conflict(identity.on_conflict));
    if let Some(fields) = &identity.event_type {
        page.field("event type", fields);
    }
}

fn delivery(page: &mut Page, provider: &Provider) {
    let window = words::retry_window(provider);
    page.field(
        "retries",
        format!("{window} ({})", provider.delivery.retry_policy),
    );
    if let Some(seconds) = provider.delivery.timeout_seconds {
        page.field("timeout", format!("{seconds} s"));
    }
    if let Some(bytes) = provider.delivery.body_bytes_max {
        page.field("body limit", format!("{} by default", format_size(bytes)));
    }
    if let Some(addresses) = &provider.addresses {
        let Addresses {
            networks,
            published,
            as_of,
        } = addresses;
        page.field("addresses", networks.join(", "));
        page.field(
            "",
            format!("published at {published}, as of {as_of}; only checked with `allow_from`"),
        );
    }
    page.field("handshake", provider.handshake.as_deref().unwrap_or("none"));
}

fn describe(option: &OptionSpec) -> String {
    let need = if option.required { "required" } else { "optional" };
    format!("{} ({need}): {}", option.name, option.about)
}

fn decided(choice: &Choice) -> String {
    let decision = if choice.accept { "accepted" } else { "refused" };
    format!("{}: {decision}; {}", choice.vector, choice.why)
}

fn confidence(provider: &Provider) -> String {
    let grade = provider.confidence;
    format!(
        "signature {}, event {}, delivery {} (A: official documentation or source, B: several others agree, C: not \
         verified)",
        words::grade(grade.verification),
        words::grade(grade.event),
        words::grade(grade.delivery)
    )
}
