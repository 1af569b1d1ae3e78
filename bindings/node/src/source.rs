//! The class `Source`.

use hapax_bindings::{self as shared, ErrorCode, RequestHead, SourceSettings};
use napi::Result;
use napi_derive::napi;

use crate::input::{self, Headers, Keys, thrown};
use crate::values::{
    CustomSettings, Delivery, HapaxSettings, ProviderSettings, Received, Reply, SampleSettings,
};

#[napi]
pub struct Source(shared::Source);

#[napi]
impl Source {
    #[napi(factory)]
    pub fn provider(
        name: String,
        secrets: Vec<String>,
        settings: Option<ProviderSettings>,
    ) -> Result<Self, ErrorCode> {
        let settings = settings.unwrap_or_default();
        let settings = shared::ProviderSettings {
            options: input::options(settings.options.unwrap_or_default()),
            source_name: settings.source_name,
            keys: input::keys(settings.keys.unwrap_or_default()),
            source: SourceSettings {
                public_url: settings.public_url,
                body_limit: input::body_limit(settings.body_limit)?,
                signing_secret: settings.signing_secret,
            },
        };
        made(shared::Source::provider(&name, &secrets, settings))
    }

    #[napi(factory)]
    pub fn custom(
        name: String,
        scheme: String,
        secrets: Vec<String>,
        settings: Option<CustomSettings>,
    ) -> Result<Self, ErrorCode> {
        let settings = settings.unwrap_or_default();
        let settings = SourceSettings {
            public_url: settings.public_url,
            body_limit: input::body_limit(settings.body_limit)?,
            signing_secret: settings.signing_secret,
        };
        made(shared::Source::custom(&name, &scheme, &secrets, settings))
    }

    #[napi(factory)]
    pub fn hapax(secrets: Vec<String>, settings: Option<HapaxSettings>) -> Result<Self, ErrorCode> {
        let settings = settings.unwrap_or_default();
        let name = settings.source_name.as_deref().unwrap_or("hapax");
        let body_limit = input::body_limit(settings.body_limit)?;
        made(shared::Source::hapax(&secrets, name, body_limit))
    }

    #[napi(getter)]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    #[napi(getter)]
    pub fn body_limit(&self) -> i64 {
        self.0.body_limit() as i64
    }

    #[napi]
    pub fn receive(
        &self,
        method: String,
        query: String,
        headers: Headers,
        body: &[u8],
        now: Option<i64>,
        keys: Option<Keys>,
    ) -> Received {
        let head = RequestHead {
            method,
            query,
            headers: input::headers(headers),
            now,
        };
        self.0.receive(&head, body.to_vec(), keys.map(input::keys)).into()
    }

    #[napi]
    pub fn explain(
        &self,
        method: String,
        query: String,
        headers: Headers,
        body: &[u8],
        now: Option<i64>,
        keys: Option<Keys>,
    ) -> Option<String> {
        let head = RequestHead {
            method,
            query,
            headers: input::headers(headers),
            now,
        };
        self.0.explain(&head, body, keys.map(input::keys))
    }

    #[napi]
    pub fn too_large(&self) -> Reply {
        self.0.too_large().into()
    }

    #[napi]
    pub fn too_slow(&self) -> Reply {
        self.0.too_slow().into()
    }

    #[napi]
    pub fn answer(&self, outcomes: Vec<(String, String)>) -> Result<Reply, ErrorCode> {
        self.0.answer(outcomes).map(Reply::from).map_err(thrown)
    }

    #[napi]
    pub fn answer_failed(&self) -> Reply {
        self.0.answer_failed().into()
    }

    #[napi]
    pub fn answer_unavailable(&self) -> Reply {
        self.0.answer_unavailable().into()
    }

    #[napi]
    pub fn sample(&self, settings: Option<SampleSettings>) -> Result<Delivery, ErrorCode> {
        let settings = settings.unwrap_or_default();
        let settings = shared::SampleSettings {
            event_type: settings.event_type,
            event_id: settings.event_id,
            body: settings.body.map(|body| body.to_vec()),
            now: settings.now,
        };
        self.0.sample(&settings).map(Delivery::from).map_err(thrown)
    }
}

fn made(source: std::result::Result<shared::Source, shared::Error>) -> Result<Source, ErrorCode> {
    source.map(Source).map_err(thrown)
}
