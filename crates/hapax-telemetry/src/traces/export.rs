//! The task behind the queue: batches records briefly, converts them to spans and exports them.
//!
//! After a failure, the exporter pauses, longer each time. Records that do not fit into the queue until then are
//! dropped and counted. The log shows when exports begin to fail and when they work again, not every batch.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, RetryPolicy, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::counts::SpanCounts;
use super::post::Post;
use super::record::Record;
use super::{SpanTargets, span};
use hapax_config as config;
use hapax_outbound::client::Client;

/// The most spans in one request.
pub(super) const BATCH_SPANS_MAX: usize = 512;
/// How long spans wait for others to fill the batch.
const LINGER: Duration = Duration::from_millis(200);
/// The pause after a failed export. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// The time allowed for exporting the last spans when the service stops.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Why spans cannot be exported at all.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be exported; check `[traces]` and the variables that begin with OTEL_")]
pub struct SetupError(#[from] ExporterBuildError);

/// The task that exports spans.
#[derive(Debug)]
pub struct Exporting {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

struct Exporter {
    client: opentelemetry_otlp::SpanExporter,
    post: Arc<Post>,
    counts: SpanCounts,
    places: Arc<SpanTargets>,
    scope: InstrumentationScope,
    timeout: Duration,
    pause: Option<Duration>,
    /// The number of spans in the request that is in progress.
    sending: u64,
}

impl Exporting {
    pub(super) fn start(
        config: &config::Traces,
        client: Client,
        queue: mpsc::Receiver<Record>,
        counts: SpanCounts,
        places: Arc<SpanTargets>,
    ) -> Result<Self, SetupError> {
        let post = Arc::new(Post::new(client, config));
        let mut exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_shared_http_client(Arc::clone(&post) as Arc<dyn opentelemetry_http::HttpClient>)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(config.endpoint.to_string())
            .with_timeout(config.timeout)
            .with_retry_policy(RetryPolicy::disabled())
            .build()?;
        exporter.set_resource(&resource(config));
        let exporter = Exporter {
            client: exporter,
            post,
            counts,
            places,
            scope: span::scope(),
            timeout: config.timeout,
            pause: None,
            sending: 0,
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(exporter.run(queue, stop.clone()));
        Ok(Self { stop, task })
    }

    /// Exports the waiting spans within a short time limit, and ends.
    pub async fn stop(self) {
        self.stop.cancel();
        // This fails only if the task panicked, and then there is nothing to wait for.
        let _ = self.task.await;
    }
}

fn resource(config: &config::Traces) -> Resource {
    let attributes = config.resource.iter();
    Resource::builder_empty()
        .with_attributes(attributes.map(|(name, value)| KeyValue::new(name.clone(), value.clone())))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_service_name(config.service_name.clone())
        .build()
}

impl Exporter {
    async fn run(mut self, mut queue: mpsc::Receiver<Record>, stop: CancellationToken) {
        // A hanging export may take longer than the time allowed for stopping.
        let is_late = async {
            stop.cancelled().await;
            tokio::time::sleep(FLUSH_LIMIT).await;
        };
        tokio::select! {
            biased;
            () = self.work(&mut queue, &stop) => {}
            () = is_late => {
                self.counts.failed.inc_by(self.sending);
                self.counts.dropped.inc_by(queue.len() as u64);
                tracing::warn!("the last spans could not be sent in time and are lost");
            }
        }
    }

    /// Exports batch after batch until `stop` is cancelled, then exports the rest.
    async fn work(&mut self, queue: &mut mpsc::Receiver<Record>, stop: &CancellationToken) {
        let mut batch = Vec::with_capacity(BATCH_SPANS_MAX);
        loop {
            let count = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                count = queue.recv_many(&mut batch, BATCH_SPANS_MAX) => count,
            };
            if count == 0 {
                break;
            }
            if batch.len() < BATCH_SPANS_MAX {
                rest(LINGER, stop).await;
                let room = BATCH_SPANS_MAX - batch.len();
                batch.extend(std::iter::from_fn(|| queue.try_recv().ok()).take(room));
            }
            self.export(std::mem::take(&mut batch)).await;
            if let Some(pause) = self.pause {
                rest(pause, stop).await;
            }
        }
        queue.close();
        self.flush(queue).await;
    }

    async fn flush(&mut self, queue: &mut mpsc::Receiver<Record>) {
        let mut batch = Vec::new();
        while queue.recv_many(&mut batch, BATCH_SPANS_MAX).await > 0 {
            self.export(std::mem::take(&mut batch)).await;
        }
    }

    async fn export(&mut self, batch: Vec<Record>) {
        self.sending = batch.len() as u64;
        let spans: Vec<SpanData> = batch
            .into_iter()
            .map(|record| span::of(record, &self.places, &self.scope))
            .collect();
        let sent = tokio::time::timeout(self.timeout, self.client.export(spans)).await;
        let failure = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(self.post.failure().unwrap_or_else(|| error.to_string())),
            Err(_) => Some("no response in time".to_owned()),
        };
        let count = std::mem::take(&mut self.sending);
        match failure {
            None => self.succeeded(count),
            Some(why) => self.failed(count, &why),
        }
    }

    fn succeeded(&mut self, count: u64) {
        self.counts.exported.inc_by(count);
        if self.pause.take().is_some() {
            tracing::info!("traces are exported again");
        }
    }

    fn failed(&mut self, count: u64, why: &str) {
        self.counts.failed.inc_by(count);
        if self.pause.is_none() {
            tracing::warn!(
                error = why,
                "traces are not exported; spans are dropped and counted until the receiver accepts them again"
            );
        }
        self.pause = Some(self.pause.map_or(PAUSE_MIN, |pause| (pause * 2).min(PAUSE_MAX)));
    }
}

async fn rest(pause: Duration, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = tokio::time::sleep(pause) => {}
    }
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;
    use hapax_outbound::lookup::Lookup;
    use prometheus_client::metrics::counter::Counter;
    use tokio::net::TcpListener;

    use super::super::record::What;
    use super::super::{fresh_span, fresh_trace};
    use super::*;

    fn record() -> Record {
        Record {
            trace: fresh_trace(),
            span: fresh_span(),
            parent: None,
            is_parent_remote: false,
            link: None,
            start: Timestamp::from_seconds(1_000),
            took: Duration::ZERO,
            what: What::Outbox {
                source: "shop".into(),
                result: "relayed",
            },
        }
    }

    #[tokio::test]
    async fn spans_that_a_stop_does_not_wait_for_are_counted() {
        let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/v1/traces", hanging.local_addr().unwrap());
        let config = config::Traces {
            endpoint: endpoint.parse().unwrap(),
            headers: Vec::new(),
            sample: 1.0,
            service_name: "hapax".to_owned(),
            resource: Vec::new(),
            timeout: Duration::from_secs(60),
        };
        let client = Client::new(Lookup::system()).unwrap();
        let (counts, (queue, waiting)) = (SpanCounts::default(), mpsc::channel(8));
        let exporting = Exporting::start(&config, client, waiting, counts.clone(), Arc::default()).unwrap();
        for _ in 0..3 {
            queue.try_send(record()).unwrap();
        }
        // Their export is in progress, and one more span waits.
        let _held = hanging.accept().await.unwrap();
        queue.try_send(record()).unwrap();
        exporting.stop().await;
        let counted = [&counts.exported, &counts.failed, &counts.dropped].map(Counter::get);
        assert_eq!(counted, [0, 3, 1]);
    }
}
