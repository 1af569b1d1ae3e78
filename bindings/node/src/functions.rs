//! The functions of the module.

use std::collections::HashMap;

use hapax_bindings::{self as shared, ErrorCode};
use napi::bindgen_prelude::BufferSlice;
use napi::{Env, Result};
use napi_derive::napi;

use crate::input::thrown;
use crate::values::{Limits, ProviderInfo, Sql};

#[napi]
pub fn version() -> &'static str {
    shared::version()
}

#[napi]
pub fn providers() -> Vec<ProviderInfo> {
    shared::providers().into_iter().map(ProviderInfo::from).collect()
}

#[napi]
pub fn limits() -> Limits {
    shared::limits().into()
}

#[napi]
pub fn sql(dialect: String) -> Result<Sql, ErrorCode> {
    shared::sql(&dialect).map(Sql::from).map_err(thrown)
}

#[napi]
pub fn trouble(sqlstate: Option<String>) -> &'static str {
    shared::trouble(sqlstate.as_deref())
}

#[napi]
pub fn sqlite_trouble(primary_code: Option<i32>) -> &'static str {
    shared::sqlite_trouble(primary_code)
}

#[napi]
pub fn check_name(what: String, text: String) -> Result<(), ErrorCode> {
    shared::check_name(&what, text).map_err(thrown)
}

#[napi]
pub fn idempotency_key(scope: String, event_id: String, generation: u32, destination: String) -> String {
    shared::idempotency_key(&scope, &event_id, generation, &destination)
}

#[napi]
pub fn call_key(scope: String, event_id: String, generation: u32, consumer: String, number: u32) -> String {
    shared::call_key(&scope, &event_id, generation, &consumer, number)
}

#[napi]
pub fn body_hash<'env>(env: &'env Env, body: &[u8]) -> napi::Result<BufferSlice<'env>> {
    BufferSlice::copy_from(env, shared::body_hash(body))
}

#[napi]
pub fn check_call(
    kind: String,
    target: String,
    headers: HashMap<String, String>,
    body: &[u8],
    key: Option<String>,
    order_key: Option<String>,
) -> Result<String, ErrorCode> {
    shared::check_call(&kind, target, headers, body, key, order_key).map_err(thrown)
}
