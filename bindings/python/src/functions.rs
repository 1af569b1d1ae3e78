//! The functions of the module.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax_bindings as shared;
use pyo3::types::{IntoPyDict as _, PyBytes, PyDict};
use pyo3::{Bound, PyResult, Python, pyfunction};

use crate::error::raised;

#[pyfunction]
pub(crate) fn version() -> &'static str {
    shared::version()
}

#[pyfunction]
pub(crate) fn providers(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    shared::providers()
        .into_iter()
        .map(|provider| {
            let options = provider
                .options
                .iter()
                .map(|option| {
                    let facts = [
                        ("name", option.name),
                        ("about", option.about),
                        ("kind", option.kind),
                    ];
                    let facts = facts.into_py_dict(py)?;
                    pyo3::types::PyDictMethods::set_item(&facts, "required", option.required)?;
                    Ok(facts)
                })
                .collect::<PyResult<Vec<_>>>()?;
            let facts = [("name", provider.name), ("title", provider.title)].into_py_dict(py)?;
            pyo3::types::PyDictMethods::set_item(&facts, "docs", provider.docs)?;
            pyo3::types::PyDictMethods::set_item(&facts, "needs_secret", provider.needs_secret)?;
            pyo3::types::PyDictMethods::set_item(&facts, "options", options)?;
            Ok(facts)
        })
        .collect()
}

#[pyfunction]
pub(crate) fn limits(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let limits = shared::limits();
    [
        ("name_bytes_max", limits.name_bytes_max as u64),
        ("purge_rows_max", limits.purge_rows_max.into()),
        ("target_bytes_max", limits.target_bytes_max as u64),
        ("headers_max", limits.headers_max as u64),
        ("body_bytes_max", limits.body_bytes_max as u64),
        ("body_timeout_seconds", limits.body_timeout_seconds),
        ("wait_ms_default", limits.wait_ms_default),
        ("retention_seconds_default", limits.retention_seconds_default),
        ("claim_attempts_max", limits.claim_attempts_max as u64),
    ]
    .into_py_dict(py)
}

#[pyfunction]
pub(crate) fn sql<'py>(py: Python<'py>, dialect: &str) -> PyResult<Bound<'py, PyDict>> {
    let sql = shared::sql(dialect).map_err(|error| raised(py, error))?;
    [
        ("create_inbox", Some(sql.create_inbox)),
        ("create_outbox", Some(sql.create_outbox)),
        ("claim", Some(sql.claim)),
        ("look_up", Some(sql.look_up)),
        ("extend", Some(sql.extend)),
        ("purge", Some(sql.purge)),
        ("stage", Some(sql.stage)),
        ("claim_within", sql.claim_within),
    ]
    .into_py_dict(py)
}

#[pyfunction]
#[pyo3(signature = (sqlstate))]
pub(crate) fn trouble(sqlstate: Option<&str>) -> &'static str {
    shared::trouble(sqlstate)
}

#[pyfunction]
#[pyo3(signature = (primary_code))]
pub(crate) fn sqlite_trouble(primary_code: Option<i32>) -> &'static str {
    shared::sqlite_trouble(primary_code)
}

#[pyfunction]
pub(crate) fn check_name(py: Python<'_>, what: &str, text: String) -> PyResult<()> {
    shared::check_name(what, text).map_err(|error| raised(py, error))
}

#[pyfunction]
pub(crate) fn idempotency_key(scope: &str, event_id: &str, generation: u32, destination: &str) -> String {
    shared::idempotency_key(scope, event_id, generation, destination)
}

#[pyfunction]
pub(crate) fn call_key(scope: &str, event_id: &str, generation: u32, consumer: &str, number: u32) -> String {
    shared::call_key(scope, event_id, generation, consumer, number)
}

#[pyfunction]
pub(crate) fn body_hash<'py>(py: Python<'py>, body: Cow<'_, [u8]>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &shared::body_hash(&body))
}

#[pyfunction]
#[pyo3(signature = (kind, target, headers, body, key, order_key))]
pub(crate) fn check_call(
    py: Python<'_>,
    kind: &str,
    target: String,
    headers: BTreeMap<String, String>,
    body: Cow<'_, [u8]>,
    key: Option<String>,
    order_key: Option<String>,
) -> PyResult<String> {
    shared::check_call(kind, target, headers, &body, key, order_key).map_err(|error| raised(py, error))
}
