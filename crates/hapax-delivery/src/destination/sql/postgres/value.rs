//! Values for PostgreSQL: sent as text, which the server parses as the type that the statement asks for. So any type
//! that the server knows can be written, numbers keep their digits, and no value ever becomes part of the SQL.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use hapax_config::destination::sql::Value;

#[derive(Debug)]
pub(super) struct Bound<'v>(pub(super) &'v Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Text(text) | Value::Number(text) | Value::Json(text) => {
                out.extend_from_slice(text.as_bytes());
            }
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Bytes(bytes) => {
                out.extend_from_slice(b"\\x");
                out.extend_from_slice(hex::encode(bytes).as_bytes());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

impl Bound<'_> {
    /// The type to declare if the server was not asked for it first: unknown lets the server decide.
    pub(super) const fn kind(&self) -> Type {
        match self.0 {
            Value::Bytes(_) => Type::BYTEA,
            Value::Null | Value::Text(_) | Value::Number(_) | Value::Boolean(_) | Value::Json(_) => {
                Type::UNKNOWN
            }
        }
    }
}
