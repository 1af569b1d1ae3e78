//! The byte stream of a connection, in plain text or over TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A connection that is ready for HTTP.
pub(super) enum Stream {
    Plain(TcpStream),
    /// Boxed, because its state is large and idle plain connections must not hold it.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// The underlying socket.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    pub(super) const fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Whether the client has negotiated HTTP/2, which is possible only over TLS.
    pub(super) fn speaks_http2(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(super::tls::HTTP2),
        }
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut (dyn Duplex + Unpin)> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket),
            Self::Tls(stream) => Pin::new(stream.as_mut()),
        }
    }
}

trait Duplex: AsyncRead + AsyncWrite {}
impl<T: AsyncRead + AsyncWrite> Duplex for T {}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(context)
    }
}
