//! The reference of every preset, from the catalogue itself.

use std::fmt::Write as _;

use hapax_verify::catalogue::{self, Provider};

use crate::verbs::providers::words;

const INTRODUCTION: &str = "
The providers in the catalogue. Put a provider's lines into `hapax.toml`, and signature, event id, retry window and
handshake are configured. `hapax providers NAME` shows the details of one, `hapax send NAME` signs as it does, and
`hapax verify NAME` explains a delivery.

**Confidence** has a grade for the signature, for the event (id and type) and for the delivery (retries, responses):

| grade | means |
|---|---|
| A | from the provider's own documentation or source code |
| B | quoted by others, or several implementations agree |
| C | recalled, and not verified: try it with a real delivery before you rely on it |

**Id class** says what an id identifies:

| class | means |
|---|---|
| `own-id` | the provider assigns the id: a retry has the same id, another event a different one |
| `content` | the provider assigns no id: a hash of the content that stays the same on a retry is part of the id, so different content is a different event |
| `not-deduplicated` | the provider does not retry, or retries cannot be distinguished from new events: every request is a separate event |

For each provider, two questions are answered: can two different events have the same id, and can one event arrive under two
ids?

An id that is **not signed** can be changed by an attacker who replays an old delivery: the replayed request is processed as
a new event, and flagged. If nothing is signed, anyone who knows the token can send anything.
";

pub(super) fn page() -> String {
    let mut page = super::heading("Providers", "providers");
    page.push_str(INTRODUCTION);
    page.push_str(
        "\n| provider | line in `hapax.toml` | scheme | event id | id class | id signed | retries for | handshake | \
         confidence |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for provider in catalogue::all() {
        row(&mut page, provider);
    }
    page.push_str("\n## Each one\n");
    for provider in catalogue::all() {
        details(&mut page, provider);
    }
    page
}

// Writing to a String cannot fail, here and below.
fn row(page: &mut String, provider: &Provider) {
    let _ = writeln!(
        page,
        "| [{}](#{}) | `provider = \"{}\"` | {} | `{}` | {} | {} | {} | {} | {} |",
        provider.title,
        provider.name,
        provider.name,
        cell(&provider.proof.summary()),
        cell(&provider.identity.event_id.to_string()),
        provider.identity.class,
        if provider.delivery.id_is_signed {
            "yes"
        } else {
            "no"
        },
        words::retry_window(provider),
        words::handshake_mark(provider),
        words::confidence(provider.confidence),
    );
}

fn details(page: &mut String, provider: &Provider) {
    let _ = write!(
        page,
        "\n### {}\n\n{}\n\n```toml\n{}\n```\n\n",
        provider.name,
        provider.title,
        words::lines(provider).join("\n")
    );
    for option in &provider.options {
        let need = if option.required { "required" } else { "optional" };
        let _ = writeln!(page, "- option `{}` ({need}): {}", option.name, option.about);
    }
    let _ = writeln!(
        page,
        "- id: {}, version {}; on conflict: {}",
        provider.identity.class,
        provider.identity.version,
        provider.identity.on_conflict.as_str()
    );
    let _ = writeln!(
        page,
        "- two events with the same id? {}",
        provider.delivery.id_uniqueness
    );
    let _ = writeln!(
        page,
        "- one event under two ids? {}",
        provider.delivery.id_stability
    );
    let _ = writeln!(page, "- retries: {}", provider.delivery.retry_policy);
    if let Some(handshake) = &provider.handshake {
        let _ = writeln!(page, "- handshake: {handshake}");
    }
    for choice in &provider.choices {
        let decision = if choice.accept { "accepted" } else { "refused" };
        let _ = writeln!(page, "- choice `{}`: {decision}; {}", choice.vector, choice.why);
    }
    for note in &provider.notes {
        let _ = writeln!(page, "- {note}");
    }
    for url in &provider.docs {
        let _ = writeln!(page, "- <{url}>");
    }
}

/// Escapes `|`, which would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_a_row_with_the_line_to_write_and_every_choice_is_said() {
        let page = page();
        for provider in catalogue::all() {
            assert!(page.contains(&format!("| `provider = \"{}\"` |", provider.name)));
            assert!(
                page.contains(&provider.delivery.id_uniqueness),
                "{}",
                provider.name
            );
            for choice in &provider.choices {
                assert!(page.contains(&choice.why), "{}", choice.vector);
            }
        }
    }
}
