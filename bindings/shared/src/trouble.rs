//! What a driver's error means, as the word that both languages use.

use hapax::Trouble;

/// The meaning of an SQLSTATE of PostgreSQL; `None` is a lost connection.
pub fn trouble(sqlstate: Option<&str>) -> &'static str {
    word(Trouble::of_postgres(sqlstate))
}

/// The meaning of a result code of SQLite, whether primary or extended.
pub const fn sqlite_trouble(code: Option<i32>) -> &'static str {
    word(Trouble::of_sqlite(code))
}

const fn word(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Busy => "busy",
        Trouble::Victim => "victim",
        Trouble::Unavailable => "unavailable",
        Trouble::Refused => "refused",
    }
}
