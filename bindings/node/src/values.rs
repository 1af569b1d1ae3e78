//! The values that the module takes and returns, as plain objects.

use std::collections::HashMap;

use hapax_bindings::{self as shared, ErrorCode};
use napi::bindgen_prelude::{BufferSlice, Uint8Array};
use napi::{Env, Error, Result};
use napi_derive::napi;

use crate::input::{Keys, OptionInput};

#[napi(object, object_from_js = false)]
pub struct OptionInfo {
    pub name: &'static str,
    pub about: &'static str,
    pub kind: &'static str,
    pub required: bool,
}

#[napi(object, object_from_js = false)]
pub struct ProviderInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub docs: Vec<String>,
    pub needs_secret: bool,
    pub options: Vec<OptionInfo>,
}

impl From<shared::ProviderFacts> for ProviderInfo {
    fn from(provider: shared::ProviderFacts) -> Self {
        let option = |option: shared::OptionFacts| OptionInfo {
            name: option.name,
            about: option.about,
            kind: option.kind,
            required: option.required,
        };
        Self {
            name: provider.name,
            title: provider.title,
            docs: provider.docs.to_vec(),
            needs_secret: provider.needs_secret,
            options: provider.options.into_iter().map(option).collect(),
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct Limits {
    pub name_bytes_max: u32,
    pub purge_rows_max: u32,
    pub target_bytes_max: u32,
    pub headers_max: u32,
    pub body_bytes_max: u32,
    pub body_timeout_seconds: u32,
    pub wait_ms_default: u32,
    pub retention_seconds_default: u32,
    pub claim_attempts_max: u32,
}

impl From<shared::Limits> for Limits {
    fn from(limits: shared::Limits) -> Self {
        Self {
            name_bytes_max: limits.name_bytes_max as u32,
            purge_rows_max: limits.purge_rows_max,
            target_bytes_max: limits.target_bytes_max as u32,
            headers_max: limits.headers_max as u32,
            body_bytes_max: limits.body_bytes_max as u32,
            body_timeout_seconds: limits.body_timeout_seconds as u32,
            wait_ms_default: limits.wait_ms_default as u32,
            retention_seconds_default: limits.retention_seconds_default as u32,
            claim_attempts_max: limits.claim_attempts_max as u32,
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct Sql {
    pub create_inbox: &'static str,
    pub create_outbox: &'static str,
    pub claim: &'static str,
    pub look_up: &'static str,
    pub extend: &'static str,
    pub purge: &'static str,
    pub stage: &'static str,
    pub claim_within: Option<&'static str>,
}

impl From<shared::Sql> for Sql {
    fn from(sql: shared::Sql) -> Self {
        Self {
            create_inbox: sql.create_inbox,
            create_outbox: sql.create_outbox,
            claim: sql.claim,
            look_up: sql.look_up,
            extend: sql.extend,
            purge: sql.purge,
            stage: sql.stage,
            claim_within: sql.claim_within,
        }
    }
}

/// Bytes are copied into buffers of the engine: one that refers to memory of Rust costs more than copying a body, and some
/// runtimes forbid it.
fn buffer<'env>(env: &'env Env, bytes: &[u8]) -> Result<BufferSlice<'env>, ErrorCode> {
    BufferSlice::copy_from(env, bytes).map_err(|error| Error::new(ErrorCode::Invalid, error.reason.clone()))
}

#[napi(object, object_from_js = false)]
pub struct Reply<'env> {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: BufferSlice<'env>,
}

impl<'env> Reply<'env> {
    pub(crate) fn new(env: &'env Env, reply: shared::Reply) -> Result<Self, ErrorCode> {
        Ok(Self {
            status: reply.status,
            headers: reply.headers,
            body: buffer(env, &reply.body)?,
        })
    }
}

#[napi(object, object_from_js = false)]
pub struct ViaHapax {
    pub source: Option<String>,
    pub event_id: Option<String>,
    pub event_type: Option<String>,
    pub attempt: Option<u32>,
    pub idempotency_key: String,
    pub received_at: Option<String>,
}

impl From<shared::ViaHapax> for ViaHapax {
    fn from(via: shared::ViaHapax) -> Self {
        Self {
            source: via.source,
            event_id: via.event_id,
            event_type: via.event_type,
            attempt: via.attempt,
            idempotency_key: via.idempotency_key,
            received_at: via.received_at,
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct Binding<'env> {
    pub event_id: String,
    pub body_hash: BufferSlice<'env>,
}

#[napi(object, object_from_js = false)]
pub struct NativeEvent<'env> {
    pub source: String,
    pub event_id: String,
    pub event_type: Option<String>,
    pub body: Option<BufferSlice<'env>>,
    pub body_hash: Option<BufferSlice<'env>>,
    pub generation: u32,
    pub replayed: bool,
    pub received_at: i64,
    pub signed_at: Option<i64>,
    pub secret_index: Option<u32>,
    pub batch_index: Option<u32>,
    pub via_hapax: Option<ViaHapax>,
    pub binding: Option<Binding<'env>>,
}

impl<'env> NativeEvent<'env> {
    fn new(env: &'env Env, event: shared::Event) -> Result<Self, ErrorCode> {
        let binding = |(event_id, hash): (String, [u8; 32])| -> Result<Binding<'env>, ErrorCode> {
            let body_hash = buffer(env, &hash)?;
            Ok(Binding { event_id, body_hash })
        };
        Ok(Self {
            source: event.source,
            event_id: event.event_id,
            event_type: event.event_type,
            body: event.body.map(|body| buffer(env, &body)).transpose()?,
            body_hash: event.body_hash.map(|hash| buffer(env, &hash)).transpose()?,
            generation: event.generation,
            // A request is a delivery; only the gateway replays, and then under a key of its own.
            replayed: false,
            received_at: event.received_at,
            signed_at: event.signed_at,
            secret_index: event.secret_index,
            batch_index: event.batch_index,
            via_hapax: event.via_hapax.map(ViaHapax::from),
            binding: event.binding.map(binding).transpose()?,
        })
    }
}

#[napi(object, object_from_js = false)]
pub struct KeyRequest<'env> {
    pub url: String,
    pub key_id: String,
    pub kind: &'static str,
    pub headers: Vec<(String, String)>,
    pub body: Option<BufferSlice<'env>>,
    pub expects: &'static str,
}

#[napi(object, object_from_js = false)]
pub struct Confirmation<'env> {
    pub url: String,
    pub reply: Reply<'env>,
}

#[napi(object, object_from_js = false)]
pub struct Refusal<'env> {
    pub code: &'static str,
    pub message: String,
    pub hint: &'static str,
    pub needs_key: Option<KeyRequest<'env>>,
    pub confirmation: Option<Confirmation<'env>>,
}

impl<'env> Refusal<'env> {
    fn new(env: &'env Env, refusal: shared::Refusal) -> Result<Self, ErrorCode> {
        let key = |key: shared::KeyRequest| -> Result<KeyRequest<'env>, ErrorCode> {
            Ok(KeyRequest {
                url: key.url,
                key_id: key.key_id,
                kind: key.kind,
                headers: key.headers,
                body: key.body.map(|body| buffer(env, &body)).transpose()?,
                expects: key.expects,
            })
        };
        let confirmation = |asked: shared::Confirmation| -> Result<Confirmation<'env>, ErrorCode> {
            let reply = Reply::new(env, asked.reply)?;
            Ok(Confirmation {
                url: asked.url,
                reply,
            })
        };
        Ok(Self {
            code: refusal.code,
            message: refusal.message,
            hint: refusal.hint,
            needs_key: refusal.needs_key.map(key).transpose()?,
            confirmation: refusal.confirmation.map(confirmation).transpose()?,
        })
    }
}

#[napi(object, object_from_js = false)]
pub struct Received<'env> {
    pub events: Option<Vec<NativeEvent<'env>>>,
    pub reply: Option<Reply<'env>>,
    pub error: Option<Refusal<'env>>,
}

impl<'env> Received<'env> {
    pub(crate) fn new(env: &'env Env, received: shared::Received) -> Result<Self, ErrorCode> {
        let events = |events: Vec<shared::Event>| {
            events
                .into_iter()
                .map(|event| NativeEvent::new(env, event))
                .collect::<Result<Vec<_>, ErrorCode>>()
        };
        Ok(Self {
            events: received.events.map(events).transpose()?,
            reply: received.reply.map(|reply| Reply::new(env, reply)).transpose()?,
            error: received
                .error
                .map(|refusal| Refusal::new(env, refusal))
                .transpose()?,
        })
    }
}

#[napi(object, object_from_js = false)]
pub struct Delivery<'env> {
    pub method: String,
    pub path_query: String,
    pub headers: Vec<(String, String)>,
    pub body: BufferSlice<'env>,
    pub event_id: String,
}

impl<'env> Delivery<'env> {
    pub(crate) fn new(env: &'env Env, delivery: shared::Delivery) -> Result<Self, ErrorCode> {
        Ok(Self {
            method: delivery.method,
            path_query: delivery.path_query,
            headers: delivery.headers,
            body: buffer(env, &delivery.body)?,
            event_id: delivery.event_id,
        })
    }
}

#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct ProviderSettings {
    pub options: Option<HashMap<String, OptionInput>>,
    pub source_name: Option<String>,
    pub public_url: Option<String>,
    pub body_limit: Option<f64>,
    pub keys: Option<Keys>,
    pub signing_secret: Option<String>,
}

#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct CustomSettings {
    pub public_url: Option<String>,
    pub body_limit: Option<f64>,
    pub signing_secret: Option<String>,
}

#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct HapaxSettings {
    pub source_name: Option<String>,
    pub body_limit: Option<f64>,
}

#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct SampleSettings {
    pub event_type: Option<String>,
    pub event_id: Option<String>,
    pub body: Option<Uint8Array>,
    pub now: Option<i64>,
}
