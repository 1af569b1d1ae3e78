//! A user of the dashboard: a session, a connection for pages, and one for the live tail.

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

use crate::connection::Connection;
use crate::service::Site;

/// A signed-in browser.
pub(super) struct Browser<'a> {
    site: &'a Site,
    connection: Connection,
    cookie: String,
}

impl<'a> Browser<'a> {
    /// Sends the login form.
    pub(super) async fn sign_in(site: &'a Site) -> anyhow::Result<Self> {
        let mut connection = Connection::open(site.admin()).await?;
        let body = format!("token={}", site.token());
        let request = format!(
            "POST /login HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncontent-type: \
             application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len(),
            host = site.admin(),
        );
        let answer = connection.exchange(request.as_bytes()).await?;
        let head = String::from_utf8_lossy(connection.head(&answer)).into_owned();
        let cookie = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
            .and_then(|(_, value)| value.trim().split(';').next())
            .with_context(|| format!("the login was answered {} without a cookie", answer.status))?;
        Ok(Self {
            site,
            connection,
            cookie: cookie.to_owned(),
        })
    }

    /// Requests a page; returns its size in bytes.
    pub(super) async fn ask(&mut self, path: &str) -> anyhow::Result<usize> {
        let request = self.get(path);
        let answer = self.connection.exchange(request.as_bytes()).await?;
        anyhow::ensure!(answer.status == 200, "{path} was answered {}", answer.status);
        Ok(self.connection.body(&answer).len())
    }

    /// Opens the live tail of the events page; returns its lines.
    pub(super) async fn follow(&self) -> anyhow::Result<Lines<BufReader<TcpStream>>> {
        let mut stream = TcpStream::connect(self.site.admin()).await?;
        stream.write_all(self.get("/events/live").as_bytes()).await?;
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await?.unwrap_or_default();
        anyhow::ensure!(status.contains(" 200 "), "the tail was answered {status}");
        Ok(lines)
    }

    fn get(&self, path: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\n\r\n",
            self.site.admin(),
            self.cookie
        )
    }
}
