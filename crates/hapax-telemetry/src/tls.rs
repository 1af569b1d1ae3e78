//! The metrics of TLS handshakes and of certificate reloads.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::catalogue::help;

/// The counters of one listener. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct TlsMeter {
    /// Connections that failed before HTTP.
    pub handshake_failed: Counter,
    /// Files that changed and were reloaded.
    pub reloaded: Counter,
    /// Files that changed but cannot be used.
    pub reload_failed: Counter,
}

#[derive(Clone, Debug)]
pub struct TlsMeters {
    pub ingest: TlsMeter,
    pub admin: TlsMeter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Listener {
    listener: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reload {
    listener: &'static str,
    result: &'static str,
}

impl TlsMeters {
    /// Registers the counters as `hapax_tls_…`, at zero.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let failures = Family::<Listener, Counter>::default();
        let reloads = Family::<Reload, Counter>::default();
        registry.register(
            "tls_handshake_failures",
            help("hapax_tls_handshake_failures_total"),
            failures.clone(),
        );
        registry.register("tls_reloads", help("hapax_tls_reloads_total"), reloads.clone());
        let meter = |listener| TlsMeter {
            handshake_failed: failures.get_or_create_owned(&Listener { listener }),
            reloaded: reloads.get_or_create_owned(&Reload {
                listener,
                result: "loaded",
            }),
            reload_failed: reloads.get_or_create_owned(&Reload {
                listener,
                result: "failed",
            }),
        };
        Self {
            ingest: meter("ingest"),
            admin: meter("admin"),
        }
    }
}
