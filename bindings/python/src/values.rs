//! The values that the module returns: immutable, with one getter for each field.

use hapax_bindings as shared;
use pyo3::types::{PyBytes, PyList};
use pyo3::{Py, PyResult, Python, pyclass, pymethods};

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Py<PyBytes>,
}

impl Reply {
    pub(crate) fn new(py: Python<'_>, reply: shared::Reply) -> Self {
        Self {
            status: reply.status,
            headers: reply.headers,
            body: bytes(py, &reply.body),
        }
    }
}

#[pymethods]
impl Reply {
    fn __repr__(&self) -> String {
        format!("<Reply status={}>", self.status)
    }
}

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct ViaHapax {
    source: Option<String>,
    event_id: Option<String>,
    event_type: Option<String>,
    attempt: Option<u32>,
    idempotency_key: String,
    received_at: Option<String>,
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

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct NativeEvent {
    source: String,
    event_id: String,
    event_type: Option<String>,
    body: Option<Py<PyBytes>>,
    body_hash: Option<Py<PyBytes>>,
    generation: u32,
    replayed: bool,
    received_at: i64,
    signed_at: Option<i64>,
    secret_index: Option<u32>,
    batch_index: Option<u32>,
    via_hapax: Option<Py<ViaHapax>>,
    binding: Option<(String, Py<PyBytes>)>,
}

impl NativeEvent {
    fn new(py: Python<'_>, event: shared::Event) -> PyResult<Self> {
        Ok(Self {
            source: event.source,
            event_id: event.event_id,
            event_type: event.event_type,
            body: event.body.map(|body| bytes(py, &body)),
            body_hash: event.body_hash.map(|hash| bytes(py, &hash)),
            generation: event.generation,
            // A request is a delivery; only the gateway replays, and then under a key of its own.
            replayed: false,
            received_at: event.received_at,
            signed_at: event.signed_at,
            secret_index: event.secret_index,
            batch_index: event.batch_index,
            via_hapax: event
                .via_hapax
                .map(|via| Py::new(py, ViaHapax::from(via)))
                .transpose()?,
            binding: event.binding.map(|(id, hash)| (id, bytes(py, &hash))),
        })
    }
}

#[pymethods]
impl NativeEvent {
    fn __repr__(&self) -> String {
        format!("<NativeEvent {} {}>", self.source, self.event_id)
    }
}

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct KeyRequest {
    url: String,
    key_id: String,
    kind: &'static str,
    headers: Vec<(String, String)>,
    body: Option<Py<PyBytes>>,
    expects: &'static str,
}

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct Confirmation {
    url: String,
    reply: Py<Reply>,
}

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct Refusal {
    code: &'static str,
    message: String,
    hint: &'static str,
    needs_key: Option<Py<KeyRequest>>,
    confirmation: Option<Py<Confirmation>>,
}

impl Refusal {
    fn new(py: Python<'_>, refusal: shared::Refusal) -> PyResult<Self> {
        let key = |key: shared::KeyRequest| {
            let body = key.body.map(|body| bytes(py, &body));
            let key = KeyRequest {
                url: key.url,
                key_id: key.key_id,
                kind: key.kind,
                headers: key.headers,
                body,
                expects: key.expects,
            };
            Py::new(py, key)
        };
        let confirmation = |asked: shared::Confirmation| {
            let reply = Py::new(py, Reply::new(py, asked.reply))?;
            Py::new(
                py,
                Confirmation {
                    url: asked.url,
                    reply,
                },
            )
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

#[pymethods]
impl Refusal {
    fn __repr__(&self) -> String {
        format!("<Refusal {}: {}>", self.code, self.message)
    }
}

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct Received {
    events: Option<Py<PyList>>,
    reply: Option<Py<Reply>>,
    error: Option<Py<Refusal>>,
}

impl Received {
    pub(crate) fn new(py: Python<'_>, received: shared::Received) -> PyResult<Self> {
        let events = |events: Vec<shared::Event>| -> PyResult<Py<PyList>> {
            let events = events
                .into_iter()
                .map(|event| Py::new(py, NativeEvent::new(py, event)?))
                .collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, events)?.unbind())
        };
        let error = |refusal| Py::new(py, Refusal::new(py, refusal)?);
        Ok(Self {
            events: received.events.map(events).transpose()?,
            reply: received
                .reply
                .map(|reply| Py::new(py, Reply::new(py, reply)))
                .transpose()?,
            error: received.error.map(error).transpose()?,
        })
    }
}

#[pyclass(frozen, get_all, module = "hapax_webhooks._native")]
pub(crate) struct Delivery {
    method: String,
    path_query: String,
    headers: Vec<(String, String)>,
    body: Py<PyBytes>,
    event_id: String,
}

impl Delivery {
    pub(crate) fn new(py: Python<'_>, delivery: shared::Delivery) -> Self {
        Self {
            method: delivery.method,
            path_query: delivery.path_query,
            headers: delivery.headers,
            body: bytes(py, &delivery.body),
            event_id: delivery.event_id,
        }
    }
}

fn bytes(py: Python<'_>, bytes: &[u8]) -> Py<PyBytes> {
    PyBytes::new(py, bytes).unbind()
}
