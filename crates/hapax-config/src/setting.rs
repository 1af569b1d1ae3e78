//! One setting: its name, its type, its default, its range and what it does. It is declared once, next to its reader.
//! The reader, `config show`, `init` and the reference all use the declaration.

mod types;

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use toml::Value;
use toml::de::DeValue;

use super::nearest::suggestion;
use hapax_api::renamed::{self, hint};

pub(super) use types::{Share, Size};

/// Shown in place of a secret.
pub(super) const HIDDEN: &str = "***";

/// A key whose value has the type `T`.
#[derive(Debug)]
pub(super) struct Key<T> {
    facts: Facts,
    of: PhantomData<fn() -> T>,
}

/// What is declared about a key. Values are text, in the notation of the file.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub name: &'static str,
    absent: Absent,
    /// A kind of table with a default of its own, and that default.
    absent_in: Option<(&'static str, &'static str)>,
    /// The least and the greatest value.
    range: Option<(&'static str, &'static str)>,
    /// A more precise name for the type.
    kind: Option<&'static str>,
    /// The kinds of table that it applies to; all of them if empty.
    pub only: &'static [&'static str],
    /// Whether its value may contain a credential that is not marked as one, so that the admin port does not show it.
    pub is_local: bool,
    help: &'static str,
}

/// What applies if a key is missing.
#[derive(Clone, Copy, Debug)]
enum Absent {
    /// Nothing works without it.
    Required,
    /// No value.
    Nothing,
    /// This value.
    Is(&'static str),
    /// A value that depends on something else; described in words.
    Depends(&'static str),
}

impl<T> Key<T> {
    const fn new(name: &'static str, absent: Absent, help: &'static str) -> Self {
        Self {
            facts: Facts {
                name,
                absent,
                absent_in: None,
                range: None,
                kind: None,
                only: &[],
                is_local: false,
                help,
            },
            of: PhantomData,
        }
    }

    pub(super) const fn required(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Absent::Required, help)
    }

    pub(super) const fn optional(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Absent::Nothing, help)
    }

    /// With a default, as it would be written in the file, without quotes.
    pub(super) const fn with_default(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Self::new(name, Absent::Is(value), help)
    }

    /// With a default that depends on something else.
    pub(super) const fn depends(name: &'static str, on: &'static str, help: &'static str) -> Self {
        Self::new(name, Absent::Depends(on), help)
    }

    /// The default in one kind of table, if it differs there.
    pub(super) const fn but_in(mut self, kind: &'static str, value: &'static str) -> Self {
        self.facts.absent_in = Some((kind, value));
        self
    }

    /// The range of the value, bounds included.
    pub(super) const fn within(mut self, least: &'static str, most: &'static str) -> Self {
        self.facts.range = Some((least, most));
        self
    }

    /// The type's name, where that of `T` is too general.
    pub(super) const fn named(mut self, kind: &'static str) -> Self {
        self.facts.kind = Some(kind);
        self
    }

    /// The kinds of table that it applies to.
    pub(super) const fn only(mut self, kinds: &'static [&'static str]) -> Self {
        self.facts.only = kinds;
        self
    }

    /// Keeps the value off the admin port.
    pub(super) const fn local(mut self) -> Self {
        self.facts.is_local = true;
        self
    }
}

impl<T> Key<T> {
    pub(super) const fn name(&self) -> &'static str {
        self.facts.name
    }
}

impl<T: Setting> Key<T> {
    /// The declared default.
    pub(super) fn default_value(&self) -> T {
        self.value_of(match self.facts.absent {
            Absent::Is(text) => text,
            Absent::Required | Absent::Nothing | Absent::Depends(_) => "",
        })
    }

    /// The default in a kind of table.
    pub(super) fn default_in(&self, kind: &str) -> T {
        match self.facts.absent_in {
            Some((other, text)) if other == kind => self.value_of(text),
            Some(_) | None => self.default_value(),
        }
    }

    fn value_of(&self, text: &str) -> T {
        // A test reads every default.
        T::from_text(text, &self.facts)
            .unwrap_or_else(|error| unreachable!("the default of `{}`: {error}", self.facts.name))
    }
}

impl<T> AsRef<str> for Key<T> {
    fn as_ref(&self) -> &str {
        self.facts.name
    }
}

/// A key of any type.
pub trait AnyKey: Debug + Sync {
    fn facts(&self) -> &Facts;
    /// The values it accepts, in words.
    fn kind(&self) -> String;
    /// The key and its default as a line of the file, if it has one.
    fn default_line(&self) -> Option<String>;
    /// Whether the default and the bounds can be read, and the default lies between the bounds.
    fn check(&self) -> Result<(), String>;
}

impl<T: Setting> AnyKey for Key<T> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn kind(&self) -> String {
        self.facts
            .kind
            .map_or_else(|| T::kind(&self.facts), str::to_owned)
    }

    fn default_line(&self) -> Option<String> {
        let Absent::Is(_) = self.facts.absent else {
            return None;
        };
        Some(format!(
            "{} = {}",
            self.facts.name,
            self.default_value().to_toml()
        ))
    }

    fn check(&self) -> Result<(), String> {
        let Facts {
            absent,
            absent_in,
            range,
            ..
        } = self.facts;
        let default = match absent {
            Absent::Is(text) => Some(text),
            Absent::Required | Absent::Nothing | Absent::Depends(_) => None,
        };
        let texts = default.into_iter().chain(absent_in.map(|(_, text)| text));
        let bounds = range.into_iter().flat_map(|(least, most)| [least, most]);
        for text in texts.chain(bounds) {
            T::from_text(text, &self.facts)?;
        }
        Ok(())
    }
}

impl Facts {
    /// The default, for the reference.
    pub fn default_words(&self) -> String {
        let words = match self.absent {
            Absent::Required => "required".to_owned(),
            Absent::Nothing => "none".to_owned(),
            Absent::Is(text) => format!("`{text}`"),
            Absent::Depends(words) => words.to_owned(),
        };
        match self.absent_in {
            Some((kind, text)) => format!("{words}; `{kind}`: `{text}`"),
            None => words,
        }
    }

    /// What the key does, for the reference.
    pub fn help(&self) -> String {
        if self.only.is_empty() {
            return self.help.to_owned();
        }
        format!("`{}`: {}", self.only.join("`, `"), self.help)
    }

    /// Whether it applies to a kind of table.
    pub(super) fn applies_to(&self, kind: &str) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    fn refusal(&self, written: impl fmt::Display) -> String {
        let (least, most) = self.range.unwrap_or_default();
        format!("{written} is not between {least} and {most}")
    }
}

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// The table's header, as written in the file.
    pub header: &'static str,
    pub help: &'static str,
    pub keys: &'static [&'static dyn AnyKey],
}

impl Table {
    /// The names of the table's keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.facts().name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

/// A type that a key may have.
pub(super) trait Setting: Debug + Sized + 'static {
    /// The type's name in the reference.
    const TYPE: &'static str;

    /// Reads a default, a bound, a variable or a flag.
    fn from_text(text: &str, key: &Facts) -> Result<Self, String>;

    /// The value for `config show`.
    fn to_toml(&self) -> Value;

    /// The accepted values, in words.
    fn kind(key: &Facts) -> String {
        match key.range {
            Some((least, most)) => format!("{}, {least} to {most}", Self::TYPE),
            None => Self::TYPE.to_owned(),
        }
    }
}

/// A type that can be read from a single value of the file.
pub(super) trait FromToml: Setting {
    fn from_toml(value: &DeValue<'_>, key: &Facts) -> Result<Self, String> {
        match value {
            DeValue::String(text) => Self::from_text(text, key),
            // The value is not printed, because it may be intended as a secret.
            other => Err(format!("expected a string in quotes, found {}", article(other))),
        }
    }
}

fn in_range<T: Setting + PartialOrd>(value: T, written: impl fmt::Display, key: &Facts) -> Result<T, String> {
    let Some((least, most)) = key.range else {
        return Ok(value);
    };
    let unbounded = Facts { range: None, ..*key };
    let bound = |text| T::from_text(text, &unbounded);
    if bound(least)? <= value && value <= bound(most)? {
        return Ok(value);
    }
    Err(key.refusal(written))
}

/// A setting that is one of a few words.
pub(super) trait Word: FromToml {
    /// Every word, in the order of the reference.
    fn words() -> Vec<&'static str>;
}

/// Makes settings of an enum with a method `as_str`: one word for each variant.
macro_rules! words {
    ($type:ty { $($variant:ident),+ $(,)? }) => {
        impl $crate::setting::Word for $type {
            fn words() -> Vec<&'static str> {
                vec![$(Self::$variant.as_str()),+]
            }
        }

        impl $crate::setting::Setting for $type {
            const TYPE: &'static str = "text";

            fn from_text(text: &str, key: &$crate::setting::Facts) -> Result<Self, String> {
                let found = [$(Self::$variant),+].into_iter().find(|variant| variant.as_str() == text);
                found.ok_or_else(|| {
                    $crate::setting::not_one_of(text, &<Self as $crate::setting::Word>::words(), key.name)
                })
            }

            fn to_toml(&self) -> toml::Value {
                self.as_str().into()
            }

            fn kind(_key: &$crate::setting::Facts) -> String {
                format!("`{}`", <Self as $crate::setting::Word>::words().join("`, `"))
            }
        }

        impl $crate::setting::FromToml for $type {}
    };
}

pub(super) use words;

pub(super) fn not_one_of(text: &str, words: &[&'static str], name: &str) -> String {
    let meant = suggestion(text, words.iter().copied());
    let renamed = hint(renamed::Kind::Setting, &format!("{name} = \"{text}\""));
    let known: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("\"{text}\" is not one of {}{meant}{renamed}", known.join(", "))
}

/// What a value is, for error messages.
pub(super) fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
