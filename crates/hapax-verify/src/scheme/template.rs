//! The signed content: a template such as `{timestamp}.{body}`, compiled to parts that are hashed one after another and
//! never joined in memory.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::request::header_name;
use crate::setup::SetupError;

/// A compiled template of signed content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    text: String,
}

/// One part of signed content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    Timestamp,
    Id,
    Body,
    Url,
    Method,
    Header(String),
}

impl Template {
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether the body is covered.
    pub fn covers_body(&self) -> bool {
        self.parts.contains(&Part::Body)
    }

    /// Whether the public URL is covered.
    pub fn covers_url(&self) -> bool {
        self.parts.contains(&Part::Url)
    }

    /// Two adjacent parts without an unambiguous boundary, so that one signature would be valid for two requests. If a
    /// separator or a timestamp is between them, each request is checked instead.
    pub(crate) fn movable(&self) -> Option<(&Part, &Part)> {
        let neighbours = self.parts.windows(2).filter_map(|pair| match pair {
            [first, second] if first.may_touch(second) => None,
            [first, second] => Some((first, second)),
            _ => None,
        });
        // A body may contain any separator, so parts that the client can choose freely must come before it.
        let behind = self.parts.iter().skip_while(|part| **part != Part::Body);
        let behind = behind.filter(|part| matches!(part, Part::Id | Part::Header(_)));
        neighbours.chain(behind.map(|part| (&Part::Body, part))).next()
    }

    /// Whether the header with this lower-case name is covered.
    pub(crate) fn covers_header(&self, name: &str) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Header(covered) if covered == name))
    }
}

impl Part {
    /// Whether its end is unambiguous even if this part follows directly. A timestamp and a method have distinctive
    /// formats, and the URL is configured.
    fn may_touch(&self, next: &Part) -> bool {
        let is_free = |part: &Part| matches!(part, Part::Id | Part::Header(_) | Part::Body | Part::Url);
        match (self, next) {
            (Part::Url, Part::Body) | (Part::Body, Part::Url) => true,
            (first, second) => !is_free(first) || !is_free(second),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Literal(text) => formatter.write_str(text),
            Part::Timestamp => formatter.write_str("{timestamp}"),
            Part::Id => formatter.write_str("{id}"),
            Part::Body => formatter.write_str("{body}"),
            Part::Url => formatter.write_str("{url}"),
            Part::Method => formatter.write_str("{method}"),
            Part::Header(name) => write!(formatter, "{{header:{name}}}"),
        }
    }
}

impl FromStr for Template {
    type Err = SetupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            if at > 0 {
                parts.push(Part::Literal(rest[..at].to_owned()));
            }
            let inside = rest[at..].strip_prefix('{').ok_or(SetupError::UnbalancedBrace)?;
            let end = inside.find('}').ok_or(SetupError::UnbalancedBrace)?;
            parts.push(placeholder(&inside[..end])?);
            rest = &inside[end + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Template {
            parts,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn placeholder(name: &str) -> Result<Part, SetupError> {
    match name {
        "timestamp" => Ok(Part::Timestamp),
        "id" => Ok(Part::Id),
        "body" => Ok(Part::Body),
        "url" => Ok(Part::Url),
        "method" => Ok(Part::Method),
        other => match other.strip_prefix("header:") {
            Some(header) => Ok(Part::Header(header_name(header)?)),
            None => Err(SetupError::UnknownPlaceholder {
                placeholder: other.to_owned(),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_split_into_literals_and_placeholders() {
        let template: Template = "v0:{timestamp}:{header:X-Foo}{body}".parse().unwrap();
        assert_eq!(
            template.parts(),
            [
                Part::Literal("v0:".to_owned()),
                Part::Timestamp,
                Part::Literal(":".to_owned()),
                Part::Header("x-foo".to_owned()),
                Part::Body,
            ]
        );
    }

    #[test]
    fn parts_whose_border_could_be_moved_are_found() {
        let movable = |text: &str| {
            let template: Template = text.parse().unwrap();
            let parts = template.movable();
            parts.map(|(first, second)| format!("{first} {second}"))
        };
        for (text, parts) in [
            ("{id}{body}", "{id} {body}"),
            ("{timestamp}.{header:X-A}{body}", "{header:x-a} {body}"),
            ("{id}{header:x-a}.{body}", "{id} {header:x-a}"),
            ("{body}{id}", "{body} {id}"),
            ("{body}.{id}", "{body} {id}"),
            ("{body}.{timestamp}.{header:x-a}", "{body} {header:x-a}"),
            ("{url}{id}.{body}", "{url} {id}"),
        ] {
            assert_eq!(movable(text).as_deref(), Some(parts), "{text}");
        }
        for text in [
            "{body}",
            "{id}.{body}",
            "{id}{timestamp}{body}",
            "{timestamp}{body}",
            "{body}{timestamp}",
            "{method}{url}{body}",
            "{body}{url}",
        ] {
            assert_eq!(movable(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_or_not_closed_is_named() {
        let unknown = "{time}.{body}".parse::<Template>().unwrap_err().to_string();
        assert!(unknown.contains("{time}") && unknown.contains("{timestamp}"));
        for text in ["{body", "body}", "{body}}", "{{body}}"] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
        assert!("{header:not a name}".parse::<Template>().is_err());
    }
}
