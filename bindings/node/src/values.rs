//! The values that the module takes and returns, as plain objects.

use std::collections::HashMap;

use hapax_bindings as shared;
use napi::bindgen_prelude::{Buffer, Uint8Array};
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
    pub swap_lock_timeout: Option<&'static str>,
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
            swap_lock_timeout: sql.swap_lock_timeout,
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Buffer,
}

impl From<shared::Reply> for Reply {
    fn from(reply: shared::Reply) -> Self {
        Self {
            status: reply.status,
            headers: reply.headers,
            body: reply.body.into(),
        }
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
pub struct Binding {
    pub event_id: String,
    pub body_hash: Buffer,
}

#[napi(object, object_from_js = false)]
pub struct NativeEvent {
    pub source: String,
    pub event_id: String,
    pub event_type: Option<String>,
    pub body: Buffer,
    pub body_hash: Option<Buffer>,
    pub generation: u32,
    pub replayed: bool,
    pub received_at: i64,
    pub signed_at: Option<i64>,
    pub secret_index: Option<u32>,
    pub batch_index: Option<u32>,
    pub via_hapax: Option<ViaHapax>,
    pub binding: Option<Binding>,
}

impl From<shared::Event> for NativeEvent {
    fn from(event: shared::Event) -> Self {
        let binding = |(event_id, hash): (String, [u8; 32])| Binding {
            event_id,
            body_hash: hash.to_vec().into(),
        };
        Self {
            source: event.source,
            event_id: event.event_id,
            event_type: event.event_type,
            body: event.body.into(),
            body_hash: event.body_hash.map(|hash| hash.to_vec().into()),
            generation: event.generation,
            // A request is a delivery; only the gateway replays, and then under a key of its own.
            replayed: false,
            received_at: event.received_at,
            signed_at: event.signed_at,
            secret_index: event.secret_index,
            batch_index: event.batch_index,
            via_hapax: event.via_hapax.map(ViaHapax::from),
            binding: event.binding.map(binding),
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct KeyRequest {
    pub url: String,
    pub key_id: String,
    pub kind: &'static str,
    pub headers: Vec<(String, String)>,
    pub body: Option<Buffer>,
    pub expects: &'static str,
}

#[napi(object, object_from_js = false)]
pub struct Confirmation {
    pub url: String,
    pub reply: Reply,
}

#[napi(object, object_from_js = false)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
    pub hint: &'static str,
    pub needs_key: Option<KeyRequest>,
    pub confirmation: Option<Confirmation>,
}

impl From<shared::Refusal> for Refusal {
    fn from(refusal: shared::Refusal) -> Self {
        let key = |key: shared::KeyRequest| KeyRequest {
            url: key.url,
            key_id: key.key_id,
            kind: key.kind,
            headers: key.headers,
            body: key.body.map(Buffer::from),
            expects: key.expects,
        };
        let confirmation = |asked: shared::Confirmation| Confirmation {
            url: asked.url,
            reply: asked.reply.into(),
        };
        Self {
            code: refusal.code,
            message: refusal.message,
            hint: refusal.hint,
            needs_key: refusal.needs_key.map(key),
            confirmation: refusal.confirmation.map(confirmation),
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct Received {
    pub events: Option<Vec<NativeEvent>>,
    pub reply: Option<Reply>,
    pub error: Option<Refusal>,
}

impl From<shared::Received> for Received {
    fn from(received: shared::Received) -> Self {
        let events = |events: Vec<shared::Event>| events.into_iter().map(NativeEvent::from).collect();
        Self {
            events: received.events.map(events),
            reply: received.reply.map(Reply::from),
            error: received.error.map(Refusal::from),
        }
    }
}

#[napi(object, object_from_js = false)]
pub struct Delivery {
    pub method: String,
    pub path_query: String,
    pub headers: Vec<(String, String)>,
    pub body: Buffer,
    pub event_id: String,
}

impl From<shared::Delivery> for Delivery {
    fn from(delivery: shared::Delivery) -> Self {
        Self {
            method: delivery.method,
            path_query: delivery.path_query,
            headers: delivery.headers,
            body: delivery.body.into(),
            event_id: delivery.event_id,
        }
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
