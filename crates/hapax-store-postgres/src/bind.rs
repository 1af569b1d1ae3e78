//! Parameters with their types, so that a statement can be sent without being prepared first.

use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// A parameter with its type.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// A Rust type that is always bound as one SQL type.
pub(crate) trait Typed {
    const TYPE: Type;
}

/// A Rust type whose lists are bound as arrays.
pub(crate) trait Listed {
    const ARRAY: Type;
}

macro_rules! typed {
    ($($rust:ty => $sql:ident, $array:ident;)+) => {
        $(impl Typed for $rust {
            const TYPE: Type = Type::$sql;
        }

        impl Listed for $rust {
            const ARRAY: Type = Type::$array;
        })+
    };
}

typed! {
    bool => BOOL, BOOL_ARRAY;
    i16 => INT2, INT2_ARRAY;
    i32 => INT4, INT4_ARRAY;
    i64 => INT8, INT8_ARRAY;
    Uuid => UUID, UUID_ARRAY;
    String => TEXT, TEXT_ARRAY;
    &str => TEXT, TEXT_ARRAY;
    &[u8] => BYTEA, BYTEA_ARRAY;
    Vec<u8> => BYTEA, BYTEA_ARRAY;
}

impl<T: Typed> Typed for Option<T> {
    const TYPE: Type = T::TYPE;
}

impl<T: Listed> Listed for Option<T> {
    const ARRAY: Type = T::ARRAY;
}

/// A column of a statement over arrays. A separate type, since `Vec<u8>` is a value and not a list.
#[derive(Debug)]
pub(crate) struct Column<T>(pub(crate) Vec<T>);

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Listed> Typed for Column<T> {
    const TYPE: Type = T::ARRAY;
}

impl<T: ToSql> ToSql for Column<T> {
    fn to_sql(
        &self,
        sql_type: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.0.as_slice().to_sql(sql_type, out)
    }

    fn accepts(sql_type: &Type) -> bool {
        <&[T] as ToSql>::accepts(sql_type)
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A value as a parameter.
pub(crate) fn param<T: ToSql + Sync + Typed>(value: &T) -> Param<'_> {
    (value, T::TYPE)
}

/// Parameters of a statement, in order.
macro_rules! bind {
    ($($value:expr),* $(,)?) => {
        &[$($crate::bind::param(&$value)),*]
    };
}
pub(crate) use bind;
