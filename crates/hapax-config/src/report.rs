//! Collects problems, warnings and the origin of each value while a file is read.

use std::fmt::Display;
use std::ops::Range;

use hapax_core::Secret;

use super::environment::Environment;
use super::origins::Origins;
use super::problem::{ConfigLocation, Problem};
use super::secret::resolve_secret;
use super::secret_origin::SecretOrigin;
use super::show::ShownTable;

pub(super) struct Report<'a> {
    text: &'a str,
    environment: &'a Environment,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    pub(super) origins: Origins,
    /// The values that are in effect.
    pub(super) shown: Vec<ShownTable>,
    /// The keys that the reader requested, to compare with the table of keys.
    #[cfg(test)]
    pub(super) asked: std::collections::BTreeSet<(&'static str, String)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(text: &'a str, environment: &'a Environment) -> Self {
        Self {
            text,
            environment,
            problems: Vec::new(),
            warnings: Vec::new(),
            origins: Origins::default(),
            shown: Vec::new(),
            #[cfg(test)]
            asked: std::collections::BTreeSet::new(),
        }
    }

    pub(super) fn environment(&self) -> &'a Environment {
        self.environment
    }

    pub(super) fn place_of(&self, span: &Range<usize>) -> ConfigLocation {
        ConfigLocation::of_byte(self.text, span.start)
    }

    /// Records where the value at `path` was written.
    pub(super) fn locate(&mut self, path: &str, place: ConfigLocation) {
        self.origins.places.insert(path.to_owned(), place);
    }

    pub(super) fn problem_at(&mut self, place: ConfigLocation, message: impl Into<String>) {
        self.problems.push(Problem {
            location: place,
            message: message.into(),
        });
    }

    /// Reports a problem with the value at `path`. Its location is that of the value, or of the nearest enclosing
    /// table.
    pub(super) fn problem(&mut self, path: &str, message: impl Display) {
        let place = self.nearest_place(path);
        self.problem_at(place, format!("{path}: {message}"));
    }

    pub(super) fn warn(&mut self, path: &str, message: impl Display) {
        let place = self.nearest_place(path);
        self.warnings.push(Problem {
            location: place,
            message: format!("{path}: {message}"),
        });
    }

    /// The secret that `reference` names. Reports a problem at `path` if it cannot be resolved.
    pub(super) fn secret(&mut self, path: &str, reference: &str) -> Option<Secret> {
        let secret = self.reference(path, reference)?;
        if self.origins.secret(path) == Some(&SecretOrigin::Literal) {
            self.warn(
                path,
                "the secret is written in the file; use \"env:NAME\", \"file:PATH\" or \"exec:COMMAND\" to keep it out",
            );
        }
        Some(secret)
    }

    /// The same for a value that may also be written literally.
    pub(super) fn reference(&mut self, path: &str, reference: &str) -> Option<Secret> {
        match resolve_secret(reference, self.environment) {
            Ok((secret, origin)) => {
                self.origins.secrets.insert(path.to_owned(), origin);
                Some(secret)
            }
            Err(error) => {
                self.problem(path, error);
                None
            }
        }
    }

    fn nearest_place(&self, path: &str) -> ConfigLocation {
        let mut path = path;
        loop {
            if let Some(place) = self.origins.places.get(path) {
                return place.clone();
            }
            match path.rsplit_once('.') {
                Some((parent, _)) => path = parent,
                None => return ConfigLocation::Nowhere,
            }
        }
    }
}
