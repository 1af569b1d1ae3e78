//! The class `Source`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax_bindings::{self as shared, ProviderSettings, RequestHead, SampleSettings, SourceSettings};
use pyo3::{PyResult, Python, pyclass, pymethods};

use crate::error::raised;
use crate::input::{self, Headers, Keys, OptionInput};
use crate::values::{Delivery, Received, Reply};

#[pyclass(frozen, module = "hapax_webhooks._native")]
pub(crate) struct Source(shared::Source);

#[pymethods]
impl Source {
    #[staticmethod]
    #[pyo3(signature = (
        name, secrets, options=None, source_name=None, public_url=None, body_limit=None, keys=None, signing_secret=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn provider(
        py: Python<'_>,
        name: &str,
        secrets: Vec<String>,
        options: Option<BTreeMap<String, OptionInput>>,
        source_name: Option<String>,
        public_url: Option<String>,
        body_limit: Option<f64>,
        keys: Option<Keys>,
        signing_secret: Option<String>,
    ) -> PyResult<Self> {
        let settings = ProviderSettings {
            options: input::options(options.unwrap_or_default()),
            source_name,
            keys: input::keys(keys),
            source: SourceSettings {
                public_url,
                body_limit: limit(py, body_limit)?,
                signing_secret,
            },
        };
        made(py, shared::Source::provider(name, &secrets, settings))
    }

    #[staticmethod]
    #[pyo3(signature = (name, scheme, secrets, public_url=None, body_limit=None, signing_secret=None))]
    fn custom(
        py: Python<'_>,
        name: &str,
        scheme: &str,
        secrets: Vec<String>,
        public_url: Option<String>,
        body_limit: Option<f64>,
        signing_secret: Option<String>,
    ) -> PyResult<Self> {
        let settings = SourceSettings {
            public_url,
            body_limit: limit(py, body_limit)?,
            signing_secret,
        };
        made(py, shared::Source::custom(name, scheme, &secrets, settings))
    }

    #[staticmethod]
    #[pyo3(signature = (secrets, source_name="hapax", body_limit=None))]
    fn hapax(
        py: Python<'_>,
        secrets: Vec<String>,
        source_name: &str,
        body_limit: Option<f64>,
    ) -> PyResult<Self> {
        let body_limit = limit(py, body_limit)?;
        made(py, shared::Source::hapax(&secrets, source_name, body_limit))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn body_limit(&self) -> usize {
        self.0.body_limit()
    }

    #[pyo3(signature = (method, query, headers, body, now=None, keys=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn receive(
        &self,
        py: Python<'_>,
        method: String,
        query: String,
        headers: Headers,
        body: Cow<'_, [u8]>,
        now: Option<i64>,
        keys: Option<Keys>,
    ) -> PyResult<Received> {
        let head = RequestHead {
            method,
            query,
            headers: input::headers(&headers),
            now,
        };
        Received::new(py, self.0.receive(&head, &body, input::keys(keys)))
    }

    #[pyo3(signature = (method, query, headers, body, now=None, keys=None))]
    fn explain(
        &self,
        method: String,
        query: String,
        headers: Headers,
        body: Cow<'_, [u8]>,
        now: Option<i64>,
        keys: Option<Keys>,
    ) -> Option<String> {
        let head = RequestHead {
            method,
            query,
            headers: input::headers(&headers),
            now,
        };
        self.0.explain(&head, &body, input::keys(keys))
    }

    fn too_large(&self, py: Python<'_>) -> Reply {
        Reply::new(py, self.0.too_large())
    }

    fn too_slow(&self, py: Python<'_>) -> Reply {
        Reply::new(py, self.0.too_slow())
    }

    fn answer(&self, py: Python<'_>, outcomes: Vec<(String, String)>) -> PyResult<Reply> {
        let reply = self.0.answer(outcomes).map_err(|error| raised(py, error))?;
        Ok(Reply::new(py, reply))
    }

    fn answer_failed(&self, py: Python<'_>) -> Reply {
        Reply::new(py, self.0.answer_failed())
    }

    fn answer_unavailable(&self, py: Python<'_>) -> Reply {
        Reply::new(py, self.0.answer_unavailable())
    }

    #[pyo3(signature = (event_type=None, event_id=None, body=None, now=None))]
    fn sample(
        &self,
        py: Python<'_>,
        event_type: Option<String>,
        event_id: Option<String>,
        body: Option<Cow<'_, [u8]>>,
        now: Option<i64>,
    ) -> PyResult<Delivery> {
        let settings = SampleSettings {
            event_type,
            event_id,
            body: body.map(Cow::into_owned),
            now,
        };
        let delivery = self.0.sample(&settings).map_err(|error| raised(py, error))?;
        Ok(Delivery::new(py, delivery))
    }

    fn __repr__(&self) -> String {
        format!("<Source {}>", self.0.name())
    }
}

fn made(py: Python<'_>, source: Result<shared::Source, shared::Error>) -> PyResult<Source> {
    source.map(Source).map_err(|error| raised(py, error))
}

fn limit(py: Python<'_>, bytes: Option<f64>) -> PyResult<Option<usize>> {
    let limit = |bytes| shared::body_limit(bytes).map_err(|error| raised(py, error));
    bytes.map(limit).transpose()
}
