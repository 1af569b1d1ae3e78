//! The types that a setting may have: how each is read, shown and described.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hapax_api::duration::{format_duration, parse_duration};
use hapax_api::size::{format_size, parse_size};
use hapax_core::Secret;
use toml::Value;
use toml::de::DeValue;

use super::{Absent, Facts, FromToml, HIDDEN, Setting, article, in_range};
use crate::rate::{NotARate, Rate};

impl Setting for Duration {
    const TYPE: &'static str = "duration";

    fn from_text(text: &str, key: &Facts) -> Result<Self, String> {
        let duration = parse_duration(text).map_err(|error| error.to_string())?;
        in_range(duration, format_args!("\"{text}\""), key)
    }

    fn to_toml(&self) -> Value {
        format_duration(*self).into()
    }
}

impl FromToml for Duration {}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Size(pub(crate) u64);

impl Setting for Size {
    const TYPE: &'static str = "size";

    fn from_text(text: &str, key: &Facts) -> Result<Self, String> {
        let bytes = parse_size(text).map_err(|error| error.to_string())?;
        in_range(Self(bytes), format_args!("\"{text}\""), key)
    }

    fn to_toml(&self) -> Value {
        format_size(self.0).into()
    }
}

impl FromToml for Size {}

impl Setting for u32 {
    const TYPE: &'static str = "whole number";

    fn from_text(text: &str, key: &Facts) -> Result<Self, String> {
        in_range(text.parse::<Self>().map_err(|_| key.refusal(text))?, text, key)
    }

    fn to_toml(&self) -> Value {
        i64::from(*self).into()
    }

    fn kind(key: &Facts) -> String {
        let (least, most) = key.range.unwrap_or_default();
        format!("{least} to {most}")
    }
}

impl FromToml for u32 {
    fn from_toml(value: &DeValue<'_>, key: &Facts) -> Result<Self, String> {
        let DeValue::Integer(integer) = value else {
            let (least, most) = key.range.unwrap_or_default();
            let found = article(value);
            return Err(format!(
                "expected a whole number from {least} to {most}, found {found}"
            ));
        };
        let number = Self::from_str_radix(integer.as_str(), integer.radix());
        in_range(number.map_err(|_| key.refusal(integer))?, integer, key)
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl Setting for Share {
    const TYPE: &'static str = "0 to 1";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        let share = text.parse::<f64>().ok();
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        share
            .map(Self)
            .ok_or_else(|| "expected a number from 0 to 1, such as 0.1 for a tenth".to_owned())
    }

    fn to_toml(&self) -> Value {
        self.0.into()
    }
}

impl FromToml for Share {
    fn from_toml(value: &DeValue<'_>, key: &Facts) -> Result<Self, String> {
        Self::from_text(
            match value {
                DeValue::Float(number) => number.as_str(),
                DeValue::Integer(number) => number.as_str(),
                _ => "",
            },
            key,
        )
    }
}

impl Setting for bool {
    const TYPE: &'static str = "true or false";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("\"{text}\" is not true or false"))
    }

    fn to_toml(&self) -> Value {
        (*self).into()
    }
}

impl FromToml for bool {
    fn from_toml(value: &DeValue<'_>, _key: &Facts) -> Result<Self, String> {
        match value {
            DeValue::Boolean(boolean) => Ok(*boolean),
            other => Err(format!("expected true or false, found {}", article(other))),
        }
    }
}

impl Setting for String {
    const TYPE: &'static str = "text";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn to_toml(&self) -> Value {
        self.clone().into()
    }
}

impl FromToml for String {}

impl Setting for PathBuf {
    const TYPE: &'static str = "path";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        Ok(text.into())
    }

    fn to_toml(&self) -> Value {
        self.display().to_string().into()
    }
}

impl FromToml for PathBuf {}

impl Setting for SocketAddr {
    const TYPE: &'static str = "address";

    fn from_text(text: &str, key: &Facts) -> Result<Self, String> {
        text.parse().map_err(|_| {
            let port = match key.absent {
                Absent::Is(default) => default.rsplit(':').next().unwrap_or_default(),
                Absent::Required | Absent::Nothing | Absent::Depends(_) => "8080",
            };
            format!("\"{text}\" is not an address: write IP and port, such as \"127.0.0.1:{port}\" or \"0.0.0.0:{port}\"")
        })
    }

    fn to_toml(&self) -> Value {
        self.to_string().into()
    }
}

impl FromToml for SocketAddr {}

impl Setting for Rate {
    const TYPE: &'static str = "rate";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        text.parse().map_err(|error: NotARate| error.to_string())
    }

    fn to_toml(&self) -> Value {
        self.to_string().into()
    }
}

impl FromToml for Rate {}

impl Setting for Secret {
    const TYPE: &'static str = "secret";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        Ok(Self::new(text))
    }

    fn to_toml(&self) -> Value {
        HIDDEN.into()
    }
}

/// References to secrets.
impl Setting for Vec<Secret> {
    const TYPE: &'static str = "list of secrets";

    fn from_text(text: &str, key: &Facts) -> Result<Self, String> {
        let references = Vec::<String>::from_text(text, key)?;
        Ok(references.into_iter().map(Secret::new).collect())
    }

    fn to_toml(&self) -> Value {
        self.iter().map(Setting::to_toml).collect::<Vec<_>>().into()
    }
}

impl Setting for Vec<String> {
    const TYPE: &'static str = "list of strings";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        let table: toml::Table =
            toml::from_str(&format!("list = {text}")).map_err(|error| error.to_string())?;
        let list = table.get("list").and_then(Value::as_array).into_iter().flatten();
        let texts = list.map(|item| item.as_str().map(str::to_owned));
        texts
            .collect::<Option<Self>>()
            .ok_or_else(|| format!("{text} is not a list of strings"))
    }

    fn to_toml(&self) -> Value {
        self.clone().into()
    }
}

impl Setting for toml::Table {
    const TYPE: &'static str = "table";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        let table: Self = toml::from_str(&format!("table = {text}")).map_err(|error| error.to_string())?;
        let inner = table.get("table").and_then(Value::as_table).cloned();
        inner.ok_or_else(|| format!("{text} is not a table"))
    }

    fn to_toml(&self) -> Value {
        self.clone().into()
    }
}
