//! The class `Source`.

use hapax_bindings::{self as shared, ErrorCode, RequestHead, SourceSettings};
use napi::{Env, Result};
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
            keys: input::keys(settings.keys),
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
    pub fn receive<'env>(
        &self,
        env: &'env Env,
        method: String,
        query: String,
        headers: Headers,
        body: &[u8],
        now: Option<i64>,
        keys: Option<Keys>,
    ) -> Result<Received<'env>, ErrorCode> {
        let head = RequestHead {
            method,
            query,
            headers: input::headers(&headers),
            now,
        };
        Received::new(env, self.0.receive(&head, body, input::keys(keys)))
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
            headers: input::headers(&headers),
            now,
        };
        self.0.explain(&head, body, input::keys(keys))
    }

    #[napi]
    pub fn too_large<'env>(&self, env: &'env Env) -> Result<Reply<'env>, ErrorCode> {
        Reply::new(env, self.0.too_large())
    }

    #[napi]
    pub fn too_slow<'env>(&self, env: &'env Env) -> Result<Reply<'env>, ErrorCode> {
        Reply::new(env, self.0.too_slow())
    }

    #[napi]
    pub fn answer<'env>(
        &self,
        env: &'env Env,
        outcomes: Vec<(String, String)>,
    ) -> Result<Reply<'env>, ErrorCode> {
        Reply::new(env, self.0.answer(outcomes).map_err(thrown)?)
    }

    #[napi]
    pub fn answer_failed<'env>(&self, env: &'env Env) -> Result<Reply<'env>, ErrorCode> {
        Reply::new(env, self.0.answer_failed())
    }

    #[napi]
    pub fn answer_unavailable<'env>(&self, env: &'env Env) -> Result<Reply<'env>, ErrorCode> {
        Reply::new(env, self.0.answer_unavailable())
    }

    #[napi]
    pub fn sample<'env>(
        &self,
        env: &'env Env,
        settings: Option<SampleSettings>,
    ) -> Result<Delivery<'env>, ErrorCode> {
        let settings = settings.unwrap_or_default();
        let settings = shared::SampleSettings {
            event_type: settings.event_type,
            event_id: settings.event_id,
            body: settings.body.map(|body| body.to_vec()),
            now: settings.now,
        };
        Delivery::new(env, self.0.sample(&settings).map_err(thrown)?)
    }
}

fn made(source: std::result::Result<shared::Source, shared::Error>) -> Result<Source, ErrorCode> {
    source.map(Source).map_err(thrown)
}
