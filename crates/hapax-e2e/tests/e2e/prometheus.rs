//! What Prometheus and its tools make of the metrics, the rules and the dashboard that are shipped.

mod bounded;
mod formats;
mod scraped;
mod server;
