//! The ceiling: the throughput of this machine with a handler that only reads the body.
//!
//! It runs on the same runtime and allocator as `hapax serve`, because it is the same binary.

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let router = axum::Router::new().fallback(read_the_body);
    // Without this, the kernel may delay an answer to join it with the next.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

async fn read_the_body(_body: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"accepted"}"#)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::{Order, Plan, run};
    use crate::prepare::{Prepared, Recipe};

    #[tokio::test]
    async fn the_ceiling_accepts_everything_every_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener));
        let recipe = Recipe {
            address,
            path: "/in/bench",
            secret: "whsec_x",
            count: 300,
            seed: 1,
            conflicting_ids: None,
        };
        let plan = Plan {
            address,
            connections: 8,
            time_limit: Duration::from_secs(60),
            order: Order::Once,
            rate: None,
        };
        let report = run(Prepared::new(&recipe).unwrap(), &plan).await.unwrap();
        assert_eq!(report.counts.accepted, 300);
        assert_eq!(report.counts.failures(), 0);
    }
}
