//! Prometheus and its tools with the metrics, the rules and the dashboard that are shipped.

mod bounded;
mod formats;
mod scraped;
mod server;
