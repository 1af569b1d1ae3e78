//! The native module of the Python library: `hapax_webhooks._native`. It only translates types; `_native.pyi` describes
//! it.

mod error;
mod functions;
mod input;
mod source;
mod values;

use pyo3::pymodule;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::error::NativeError;
    #[pymodule_export]
    use super::functions::{
        body_hash, call_key, check_call, check_name, idempotency_key, limits, providers, sql, sqlite_trouble,
        trouble, version,
    };
    #[pymodule_export]
    use super::source::Source;
    #[pymodule_export]
    use super::values::{
        Confirmation, Delivery, KeyRequest, NativeEvent, Received, Refusal, Reply, ViaHapax,
    };
}
