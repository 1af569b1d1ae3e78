//! Signing as the provider does, and what is signed: the provider's own sample.

mod event_type;

use hapax::webhook::Timestamp;
use hapax_core::{Random as _, SystemRandom};
use hapax_verify::sample::{self, IdShape};
use hapax_verify::sign::{self, ProviderSigner};
use hapax_verify::{IdentityRule, Options, Proof, catalogue};

use crate::Error;

/// What it takes to sign as the provider does.
#[derive(Clone)]
pub(crate) struct Signing {
    kind: Kind,
    proof: Proof,
    identity: IdentityRule,
    options: Options,
    secret: Option<String>,
    url: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Preset(&'static catalogue::Provider),
    Scheme,
    Gateway(&'static catalogue::Provider),
}

impl Signing {
    pub(crate) fn of_preset(preset: &'static catalogue::Provider, options: Options) -> Self {
        Self::new(
            Kind::Preset(preset),
            preset.proof.clone(),
            preset.identity.clone(),
            options,
        )
    }

    pub(crate) fn of_scheme(proof: Proof, identity: IdentityRule) -> Self {
        Self::new(Kind::Scheme, proof, identity, Options::default())
    }

    pub(crate) fn of_gateway(preset: &'static catalogue::Provider) -> Self {
        Self {
            kind: Kind::Gateway(preset),
            ..Self::of_preset(preset, Options::default())
        }
    }

    fn new(kind: Kind, proof: Proof, identity: IdentityRule, options: Options) -> Self {
        Self {
            kind,
            proof,
            identity,
            options,
            secret: None,
            url: String::new(),
        }
    }

    pub(crate) fn with(self, secret: Option<String>, url: String) -> Self {
        Self { secret, url, ..self }
    }

    pub(crate) fn signer(&self) -> Result<ProviderSigner, Error> {
        let secret = self.secret.as_deref().ok_or_else(|| {
            Error::setup("there is no secret to sign a sample with; pass `signing_secret`, the private half")
        })?;
        ProviderSigner::of_proof(&self.proof, secret, &self.options).map_err(|error| {
            Error::setup(format!(
                "a sample cannot be signed with the source's first secret: {error}; pass `signing_secret`, the private \
                 half"
            ))
        })
    }

    pub(crate) fn id_shape(&self) -> IdShape {
        match self.kind {
            Kind::Preset(preset) => preset.sample.id,
            Kind::Scheme | Kind::Gateway(_) => IdShape::Text,
        }
    }

    /// A new id, in the shape of the provider's own.
    pub(crate) fn fresh_id(&self) -> String {
        let random = SystemRandom::new();
        let random = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
        match self.kind {
            // As the gateway's idempotency keys look.
            Kind::Gateway(_) => format!("{random:032x}"),
            Kind::Preset(_) | Kind::Scheme => self.id_shape().fresh(random),
        }
    }

    /// The provider's sample with this id.
    pub(crate) fn unsigned(&self, id: &str, at: i64) -> sign::Delivery {
        let draft = match self.kind {
            Kind::Preset(preset) => sample::of_provider(preset, id),
            Kind::Gateway(preset) => gateway_headers(sample::of_provider(preset, id), at),
            Kind::Scheme => sample::of_rule(&self.identity, id),
        };
        sign::Delivery {
            url: self.url.clone(),
            ..draft.delivery(at)
        }
    }

    /// The body of a request with only this event.
    pub(crate) fn request_of(&self, headers: &[(String, String)], event: &[u8]) -> Vec<u8> {
        match self.kind {
            Kind::Preset(preset) => sample::alone(preset, &headers, event).into_owned(),
            Kind::Scheme | Kind::Gateway(_) => event.to_vec(),
        }
    }

    /// Gives the event another type, and returns it; `None` if its type is in a place that cannot be set.
    pub(crate) fn set_type(
        &self,
        delivery: &mut sign::Delivery,
        item: &[u8],
        wanted: &str,
    ) -> Option<Vec<u8>> {
        match self.kind {
            Kind::Gateway(_) => {
                event_type::set_header(delivery, "hapax-event-type", wanted);
                Some(item.to_vec())
            }
            Kind::Preset(_) | Kind::Scheme => {
                let fields = self.identity.event_type.as_ref()?.fields();
                event_type::set(delivery, item, fields, wanted)
            }
        }
    }
}

/// What the gateway adds.
fn gateway_headers(mut draft: sample::Sample, at: i64) -> sample::Sample {
    let received_at = Timestamp::from_seconds(at).to_string();
    for (name, value) in [
        ("idempotency-key", draft.id.as_str()),
        ("hapax-source", "sample"),
        ("hapax-event-id", "evt_sample"),
        ("hapax-event-type", "contact.created"),
        ("hapax-attempt", "1"),
        ("hapax-received-at", received_at.as_str()),
    ] {
        draft.headers.push((name.to_owned(), value.to_owned()));
    }
    draft
}
