//! The one exception of this module. The Python package maps its code to a class of its own.

use hapax_bindings::Error;
use pyo3::exceptions::PyException;
use pyo3::{PyErr, PyResult, Python, create_exception};

create_exception!(hapax_webhooks._native, NativeError, PyException, "Bad input.");

/// The exception for an error, with `code` and `message`.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    let raised = NativeError::new_err(error.message.clone());
    let value = raised.value(py);
    let set = || -> PyResult<()> {
        use pyo3::types::PyAnyMethods as _;
        value.setattr("code", error.code.as_str())?;
        value.setattr("message", error.message)
    };
    match set() {
        Ok(()) => raised,
        Err(other) => other,
    }
}
