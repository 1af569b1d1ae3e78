//! Ports that nobody listens on.

use std::net::TcpListener;

use crate::ServerError;

pub(crate) fn free_port() -> Result<u16, ServerError> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|source| ServerError::Io {
            what: "looking for a free port",
            source,
        })
}
