//! A keep-alive connection; a provider's fleet holds many.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Delivery, HttpResponse};

/// The limit for a response; a service that hangs fails its test.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// One connection; reopened when the other side has closed it.
pub struct Connection {
    address: SocketAddr,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    pub const fn to(address: SocketAddr) -> Self {
        Self { address, open: None }
    }

    /// Delivers; a response is required.
    pub async fn deliver(&mut self, delivery: &Delivery) -> HttpResponse {
        self.try_deliver(delivery)
            .await
            .unwrap_or_else(|error| panic!("no answer: {error:#}"))
    }

    /// Delivers to a service that may die at any moment.
    pub async fn try_deliver(&mut self, delivery: &Delivery) -> anyhow::Result<HttpResponse> {
        self.send(delivery.request(&self.address.to_string())).await
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> anyhow::Result<HttpResponse> {
        timeout(ANSWER_LIMIT, self.exchange(request))
            .await
            .context("there was no answer in time")?
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> anyhow::Result<HttpResponse> {
        let sender = self.ready().await?;
        match answer(sender, request).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                self.open = None;
                Err(error)
            }
        }
    }

    async fn ready(&mut self) -> anyhow::Result<&mut SendRequest<Full<Bytes>>> {
        let usable = match &mut self.open {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            let stream = TcpStream::connect(self.address).await.context("cannot connect")?;
            stream.set_nodelay(true)?;
            let (sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            self.open = Some(sender);
        }
        self.open.as_mut().context("the connection was just opened")
    }
}

async fn answer(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<HttpResponse> {
    let (head, body) = sender
        .send_request(request)
        .await
        .context("the request failed")?
        .into_parts();
    let body = body.collect().await.context("the answer broke off")?.to_bytes();
    Ok(HttpResponse {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
    })
}
