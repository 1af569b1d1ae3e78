//! The phrases that describe a preset, shared by all outputs.

use hapax_verify::catalogue::{Confidence, Grade, Provider};
use hapax_verify::{IdClass, OnConflict, OptionKind, OptionSpec, Proof, SecretNeed};

/// What ids of a class promise.
pub fn id_class(class: IdClass) -> &'static str {
    match class {
        IdClass::OwnId => "the provider assigns the id",
        IdClass::Content => "a hash of the content is part of the id",
        IdClass::NotDeduplicated => "every request is a separate event, with an id that Hapax generates",
    }
}

/// Whether a replayed request could carry another id.
pub fn id_is_signed(provider: &Provider) -> &'static str {
    if provider.delivery.id_is_signed {
        "covered by the signature"
    } else {
        "NOT covered by the signature"
    }
}

/// What happens to a known id with a different body.
pub fn on_conflict(on_conflict: OnConflict) -> &'static str {
    match on_conflict {
        OnConflict::Keep => "keep: a different body under a known id is stored as a conflict",
        OnConflict::Accept => "accept: a different body under a known id is accepted as a new event",
    }
}

/// How long the provider retries.
pub fn retry_window(provider: &Provider) -> String {
    match provider.delivery.retry_window_hours {
        None => "unknown".to_owned(),
        Some(hours) if hours <= 0.0 => "not at all".to_owned(),
        Some(hours) if hours < 1.0 => format!("{:.0} min", hours * 60.0),
        Some(hours) => format!("{hours} h"),
    }
}

/// Whether the provider expects a handshake.
pub fn handshake_mark(provider: &Provider) -> &'static str {
    if provider.handshake.is_some() || !provider.handshakes.is_empty() {
        "yes"
    } else {
        "-"
    }
}

/// The grades of signature, event and delivery.
pub fn confidence(confidence: Confidence) -> String {
    let grades = [confidence.verification, confidence.event, confidence.delivery];
    grades.map(grade).join("/")
}

pub fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::A => "A",
        Grade::B => "B",
        Grade::C => "C",
    }
}

/// Whether the provider proves what it sends, and not only who it is.
pub fn is_signed(proof: &Proof) -> bool {
    match proof {
        Proof::Any(proofs) => proofs.iter().any(is_signed),
        Proof::Jwt(rule) => rule.body_hash.is_some(),
        Proof::Token(_) => false,
        Proof::Signature(_) | Proof::Coded(_) => true,
    }
}

/// The line of hapax.toml with the options that the provider's samples use.
pub fn sample_options(provider: &Provider) -> Option<String> {
    let option = |option: &OptionSpec| {
        let text = toml::Value::String(option.sample.clone()?).to_string();
        match option.kind {
            OptionKind::Text | OptionKind::Secret => Some(format!("{} = {text}", option.name)),
            OptionKind::List => Some(format!("{} = [{text}]", option.name)),
            OptionKind::Table => None,
        }
    };
    let options: Vec<String> = provider.options.iter().filter_map(option).collect();
    (!options.is_empty()).then(|| format!("options = {{ {} }}", options.join(", ")))
}

/// The lines of hapax.toml that configure a source for the provider.
pub fn lines(provider: &Provider) -> Vec<String> {
    let name = &provider.name;
    let mut lines = vec![format!("[sources.{name}]"), format!("provider = \"{name}\"")];
    match provider.secrets {
        SecretNeed::Required => lines.push(format!("secrets = [\"env:{}_SECRET\"]", variable(name))),
        SecretNeed::Optional => {}
    }
    let required: Vec<String> = provider
        .options
        .iter()
        .filter(|option| option.required)
        .map(|option| format!("{} = {}", option.name, placeholder(option, name)))
        .collect();
    if !required.is_empty() {
        lines.push(format!("options = {{ {} }}", required.join(", ")));
    }
    lines
}

fn placeholder(option: &OptionSpec, provider: &str) -> String {
    match option.kind {
        OptionKind::Text => "\"…\"".to_owned(),
        OptionKind::Secret => format!("\"env:{}_{}\"", variable(provider), variable(&option.name)),
        OptionKind::List => "[\"…\"]".to_owned(),
        OptionKind::Table => "{ … = \"…\" }".to_owned(),
    }
}

fn variable(name: &str) -> String {
    name.to_ascii_uppercase().replace('-', "_")
}
