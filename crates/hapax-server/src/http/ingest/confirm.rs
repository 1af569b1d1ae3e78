//! Senders that are confirmed by calling a URL of theirs, such as SNS: one bounded GET, whose answer is thrown away.
//!
//! The preset has checked the host before; redirects are not followed, so that no answer leads elsewhere.

use std::time::Duration;

use bytes::Bytes;
use hapax_verify::Confirmation;
use http::{Request, Response};
use http_body_util::Full;

use super::{Inner, Source, handshake, refused};
use crate::destination::http::client::Client;
use crate::http::problem::Problem;

/// How long the sender may take to answer; it waits for our own answer meanwhile.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);

impl Inner {
    /// Calls the URL, and only then answers.
    pub(super) async fn confirm(
        &self,
        source: &Source,
        confirmation: Confirmation,
    ) -> Result<Response<Full<Bytes>>, Problem> {
        call(&self.client, &confirmation.url).await?;
        tracing::info!(source = %source.name, "the sender was confirmed");
        Ok(handshake::response(confirmation.answer))
    }
}

async fn call(client: &Client, url: &str) -> Result<(), Problem> {
    let request = Request::get(url)
        .body(Full::default())
        .map_err(|_| refused::confirmation_failed("its URL cannot be called"))?;
    let why = match tokio::time::timeout(CONFIRM_TIMEOUT, client.request(request)).await {
        Ok(Ok(response)) if response.status().is_success() => return Ok(()),
        Ok(Ok(response)) => format!("its URL answered {}", response.status().as_u16()),
        Ok(Err(_)) => "its URL could not be reached".to_owned(),
        Err(_) => "its URL did not answer in time".to_owned(),
    };
    Err(refused::confirmation_failed(&why))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::destination::http::Lookup;

    /// A server that answers one call with this, and says what it was asked.
    async fn called(answer: &'static str) -> (Result<(), Problem>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/?Action=ConfirmSubscription", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = vec![0; 4096];
            let count = stream.read(&mut asked).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&asked[..count]).into_owned()
        });
        let client = Client::new(Lookup::system()).unwrap();
        let result = call(&client, &url).await;
        (result, served.await.unwrap())
    }

    #[tokio::test]
    async fn a_sender_is_confirmed_by_one_get_that_succeeds() {
        let (result, asked) = called("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(result, Ok(()));
        assert!(asked.starts_with("GET /?Action=ConfirmSubscription HTTP/1.1\r\n"), "{asked}");
    }

    #[tokio::test]
    async fn a_call_that_fails_or_leads_elsewhere_confirms_nothing_and_is_503() {
        for answer in [
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n",
            "",
        ] {
            let problem = called(answer).await.0.unwrap_err();
            assert_eq!((problem.status().as_u16(), problem.code()), (503, "confirmation_failed"));
        }
    }
}
