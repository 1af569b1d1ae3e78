//! A single server, with the URLs to open a store.

use std::ops::Deref;

use crate::node::Node;
use crate::{ServerError, folder, shared};

/// One Redis. Operations on the server are on [`Node`].
#[derive(Debug)]
pub struct Server {
    node: Node,
}

impl Server {
    /// The server shared by all test processes. It stores nothing on disk; each test uses its own prefix.
    pub fn shared() -> Result<Self, ServerError> {
        let mut nodes = shared::join("server", |folder| {
            Ok(vec![Node::detached(&folder.join("node-0"), || Ok(Vec::new()))?])
        })?;
        let node = nodes.pop().ok_or(ServerError::Shared)?;
        Ok(Self { node })
    }

    /// A server for this test alone. `arguments` are as on its command line, such as `--appendonly yes`.
    pub fn start(arguments: &[&str]) -> Result<Self, ServerError> {
        let arguments = || Ok(arguments.iter().map(ToString::to_string).collect());
        let node = Node::private(folder::private()?, arguments)?;
        Ok(Self { node })
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port())
    }

    /// The URL with a key prefix.
    pub fn url_with_prefix(&self, prefix: &str) -> String {
        format!("{}?prefix={prefix}", self.url())
    }
}

impl Deref for Server {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}
