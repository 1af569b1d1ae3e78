//! One request and its answer, limited in time and size. Redirects are not followed.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy;

use crate::client::Client;
use crate::words;

/// The limits of an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub timeout: Duration,
    /// The largest body of an answer.
    pub answer_bytes_max: usize,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The other side may have acted on the request.
    #[error("no response within {0:?}")]
    Timeout(Duration),
    /// There was no connection, so nothing was sent.
    #[error("{}", words(.0))]
    Connect(legacy::Error),
    /// The other side may have acted on the request.
    #[error("{}", words(.0))]
    Broken(legacy::Error),
    #[error("the response broke off, or is longer than {limit} bytes")]
    Answer {
        limit: usize,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<legacy::Error> for CallError {
    fn from(error: legacy::Error) -> Self {
        if error.is_connect() {
            Self::Connect(error)
        } else {
            Self::Broken(error)
        }
    }
}

impl Client {
    /// The whole answer.
    pub async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        bounds: Bounds,
    ) -> Result<Response<Bytes>, CallError> {
        let exchange = async { collect(self.request(request).await?, bounds.answer_bytes_max).await };
        within(bounds.timeout, exchange).await
    }

    /// The head of the answer; its body has not been read yet.
    pub async fn head(
        &self,
        request: Request<Full<Bytes>>,
        timeout: Duration,
    ) -> Result<Response<Incoming>, CallError> {
        within(timeout, async {
            self.request(request).await.map_err(CallError::from)
        })
        .await
    }
}

/// The rest of an answer whose head has arrived.
pub async fn read(response: Response<Incoming>, bounds: Bounds) -> Result<Response<Bytes>, CallError> {
    within(bounds.timeout, collect(response, bounds.answer_bytes_max)).await
}

async fn within<T>(
    timeout: Duration,
    call: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let done = tokio::time::timeout(timeout, call).await;
    done.unwrap_or(Err(CallError::Timeout(timeout)))
}

async fn collect(response: Response<Incoming>, limit: usize) -> Result<Response<Bytes>, CallError> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, limit).collect().await;
    let body = body.map_err(|source| CallError::Answer { limit, source })?;
    Ok(Response::from_parts(head, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::tls::Tls;

    const LONG: Duration = Duration::from_secs(30);

    /// Calls a server that sends this answer, or keeps silent if it is empty.
    async fn asked(answer: &'static str, timeout: Duration) -> Result<Response<Bytes>, CallError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
            if answer.is_empty() {
                std::future::pending::<()>().await;
            }
        };
        let client = Client::of_operator(&Tls::default()).unwrap();
        let request = Request::get(url).body(Full::default()).unwrap();
        let bounds = Bounds {
            timeout,
            answer_bytes_max: 4,
        };
        let exchange = client.exchange(request, bounds);
        tokio::pin!(exchange);
        tokio::select! {
            answered = &mut exchange => answered,
            () = server => exchange.await,
        }
    }

    #[tokio::test]
    async fn an_answer_is_whole_or_there_is_none() {
        let answer = asked("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\ngone", LONG).await;
        let answer = answer.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.body()[..]),
            (404, &b"gone"[..])
        );
        for cut in [
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nlarge",
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ncut",
        ] {
            let error = asked(cut, LONG).await.unwrap_err();
            assert!(matches!(error, CallError::Answer { limit: 4, .. }), "{error:?}");
        }
        let error = asked("HTTP/1.1 2", LONG).await.unwrap_err();
        assert!(matches!(error, CallError::Broken(_)), "{error:?}");
    }

    #[tokio::test]
    async fn silence_ends_with_the_time_that_was_allowed() {
        let error = asked("", Duration::from_millis(200)).await.unwrap_err();
        assert_eq!(error.to_string(), "no response within 200ms");
    }

    #[tokio::test]
    async fn a_connection_that_was_refused_is_told_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let client = Client::of_operator(&Tls::default()).unwrap();
        let request = Request::get(url).body(Full::default()).unwrap();
        let error = client.head(request, LONG).await.unwrap_err();
        assert!(matches!(error, CallError::Connect(_)), "{error:?}");
    }
}
