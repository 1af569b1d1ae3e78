//! A database for one test: new, empty, and dropped afterwards.

use tokio_postgres::{Client, NoTls};

use crate::ServerError;
use crate::program::{command, printed, programs};

/// A database, dropped with this value.
#[derive(Debug)]
pub struct Database {
    name: String,
    port: u16,
}

impl Database {
    pub(crate) async fn create(port: u16) -> Result<Self, ServerError> {
        let name = format!("test_{:016x}", fastrand::u64(..));
        let admin = connect_to(port, "postgres").await?;
        admin
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .map_err(|source| ServerError::Refused { source })?;
        Ok(Self { name, port })
    }

    pub fn url(&self) -> String {
        self.url_at("127.0.0.1", "sslmode=disable")
    }

    /// The same URL with another host name and these options.
    pub fn url_at(&self, host: &str, options: &str) -> String {
        format!("postgres://postgres@{host}:{}/{}?{options}", self.port, self.name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole database, as `pg_dump` writes it.
    pub fn dump(&self) -> Result<Vec<u8>, ServerError> {
        let mut dump = command(&programs()?.join("pg_dump"));
        dump.arg("--dbname").arg(self.url());
        printed(&mut dump, "dumping the database")
    }

    /// A connection, for a test to inspect and change the database.
    pub async fn client(&self) -> Result<Client, ServerError> {
        connect_to(self.port, &self.name).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (port, name) = (self.port, self.name.clone());
        // On a separate thread, because this may be a runtime's thread. The server may be down; then it and all its
        // databases are about to be removed anyway.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    if let Ok(admin) = connect_to(port, "postgres").await {
                        let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                        drop(admin.batch_execute(&sql).await);
                    }
                });
            }
        });
        drop(dropping.join());
    }
}

async fn connect_to(port: u16, database: &str) -> Result<Client, ServerError> {
    let config = format!("host=127.0.0.1 port={port} user=postgres dbname={database} connect_timeout=10");
    connect(&config).await
}

/// A connection, driven by its own task.
pub(crate) async fn connect(config: &str) -> Result<Client, ServerError> {
    let (client, connection) = tokio_postgres::connect(config, NoTls)
        .await
        .map_err(|source| ServerError::Refused { source })?;
    tokio::spawn(async move {
        // The client notices when it ends.
        drop(connection.await);
    });
    Ok(client)
}
