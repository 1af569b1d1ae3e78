//! `hapax init --template`: a small app that runs, with a test that delivers its event twice.
//!
//! The files are those of `crates/hapax-cli/templates`, where `check` generates, starts and tests each app.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use hapax_core::SystemRandom;
use hapax_verify::catalogue;
use hapax_verify::sign::generate_secret;

use crate::exit::CliError;
use hapax_terminal::output;

/// The file with the secrets. It may hold the user's own by now, so `--force` leaves it alone.
const SECRETS: &str = ".env";

/// The framework of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Template {
    /// Python, with SQLAlchemy
    Fastapi,
    /// Python, with SQLAlchemy
    Flask,
    /// Python, with its own ORM
    Django,
    /// JavaScript, with Knex
    Express,
    /// TypeScript, a route handler with Knex
    Next,
    /// Rust, with rusqlite
    Axum,
}

/// A file of a template: its path below the folder, and its text.
type File = (&'static str, &'static str);

/// The files of a folder in `templates`, under their own names.
macro_rules! files {
    ($folder:literal: $($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../templates/", $folder, "/", $path)))),*]
    };
}

/// The files that every app has. The names of two begin with a dot only in the app, so that git and others take no notice
/// of them here.
const SHARED: &[File] = &[
    ("hapax.toml", include_str!("../../../templates/shared/hapax.toml")),
    (".gitignore", include_str!("../../../templates/shared/gitignore")),
    (SECRETS, include_str!("../../../templates/shared/env")),
];

impl Template {
    const fn name(self) -> &'static str {
        match self {
            Self::Fastapi => "fastapi",
            Self::Flask => "flask",
            Self::Django => "django",
            Self::Express => "express",
            Self::Next => "next",
            Self::Axum => "axum",
        }
    }

    const fn own_files(self) -> &'static [File] {
        match self {
            Self::Fastapi => files!("fastapi": "README.md" "app.py" "schema.sql" "test_app.py" "conftest.py"
                "requirements.txt" "compose.yaml"),
            Self::Flask => files!("flask": "README.md" "app.py" "schema.sql" "test_app.py" "conftest.py"
                "requirements.txt" "compose.yaml"),
            Self::Django => files!("django": "README.md" "manage.py" "shop/__init__.py" "shop/settings.py"
                "shop/urls.py" "shop/wsgi.py" "shop/models.py" "shop/views.py" "shop/migrations/__init__.py"
                "shop/migrations/0001_initial.py" "test_shop.py" "conftest.py" "pytest.ini" "requirements.txt"
                "compose.yaml"),
            Self::Express => files!("express": "README.md" "app.js" "database.js" "server.js" "schema.sql"
                "app.test.js" "package.json" "compose.yaml"),
            Self::Next => files!("next": "README.md" "app/webhooks/stripe/route.ts" "app/payments/route.ts"
                "lib/database.ts" "schema.sql" "instrumentation.ts" "webhooks.test.ts" "next.config.ts" "tsconfig.json"
                "package.json" "compose.yaml"),
            Self::Axum => files!("axum": "README.md" "src/lib.rs" "src/main.rs" "schema.sql" "tests/twice.rs"
                "Cargo.toml" "compose.yaml"),
        }
    }

    fn files(self) -> impl Iterator<Item = &'static File> {
        self.own_files().iter().chain(SHARED)
    }

    /// The commands that start the app: the first of its README.
    fn commands(self) -> impl Iterator<Item = &'static str> {
        let readme = self.own_files().iter().find(|(path, _)| *path == "README.md");
        let text = readme.map_or("", |(_, text)| text);
        let lines = text.lines().skip_while(|line| *line != "```sh").skip(1);
        lines.take_while(|line| *line != "```")
    }
}

/// Writes the app into the folder. Unless forced, an existing file stops it before anything is written.
pub(super) fn run(template: Template, folder: Option<&str>, force: bool) -> Result<(), CliError> {
    let folder = Path::new(folder.unwrap_or_else(|| template.name()));
    if !force {
        refuse_existing(template, folder)?;
    }
    for (path, text) in template.files() {
        let file = folder.join(path);
        let written = if *path == SECRETS {
            write_secrets(&file, text, force)
        } else {
            write(&file, text, force)
        };
        written.with_context(|| format!("{} cannot be written", file.display()))?;
    }
    output::note(format_args!("{} written. Next:", folder.display()));
    output::note(format_args!("  cd {}", folder.display()));
    for command in template.commands() {
        output::note(format_args!("  {command}"));
    }
    Ok(())
}

fn refuse_existing(template: Template, folder: &Path) -> Result<(), CliError> {
    let paths = template.files().map(|(path, _)| folder.join(path));
    let there: Vec<String> = paths
        .filter(|path| path.exists())
        .map(|path| path.display().to_string())
        .collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(CliError::failed(format!(
        "{} already there; nothing was written. Name another folder, or overwrite with `--force` (except {SECRETS})",
        match there.as_slice() {
            [one] => format!("{one} is"),
            several => format!("{} are", several.join(", ")),
        }
    )))
}

fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    parent(path)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        // In one step with the check: a file that appeared since is not lost.
        options.create_new(true);
    }
    Ok(options.open(path)?.write_all(text.as_bytes())?)
}

/// Writes the secrets, new ones of this app, readable only by their owner.
fn write_secrets(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    if force && path.exists() {
        output::note(format_args!("{} is kept.", path.display()));
        return Ok(());
    }
    parent(path)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let text = text
        .replace("{stripe}", &secret("stripe")?)
        .replace("{hapax}", &secret("standard-webhooks")?)
        .replace("{token}", &hex::encode(random()?))
        .replace("{password}", &hex::encode(random()?));
    Ok(file.write_all(text.as_bytes())?)
}

fn parent(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn secret(provider: &str) -> anyhow::Result<String> {
    let provider = catalogue::get(provider).context("a preset of the catalogue")?;
    Ok(generate_secret(provider, &random()?).signing)
}

fn random() -> anyhow::Result<[u8; 32]> {
    let mut random = [0; 32];
    SystemRandom::new().fill(&mut random)?;
    Ok(random)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use clap::ValueEnum as _;
    use hapax_config::Environment;

    use super::*;
    use crate::exit::Exit;

    fn templates() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("templates")
    }

    fn written(template: Template) -> (tempfile::TempDir, PathBuf) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("shop");
        run(template, folder.to_str(), false).unwrap();
        (temporary, folder)
    }

    /// Every file below, by its path.
    fn below(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found
    }

    #[test]
    fn every_file_of_a_template_is_written() {
        for template in Template::value_variants() {
            let own: BTreeSet<String> = template
                .own_files()
                .iter()
                .map(|(path, _)| (*path).to_owned())
                .collect();
            assert_eq!(own, below(&templates().join(template.name())), "{template:?}");
            let (_temporary, folder) = written(*template);
            let all: BTreeSet<String> = template.files().map(|(path, _)| (*path).to_owned()).collect();
            assert_eq!(below(&folder), all, "{template:?}");
        }
    }

    #[test]
    fn the_configuration_is_valid_with_the_secrets_beside_it() {
        let (_temporary, folder) = written(Template::Fastapi);
        let path = folder.join("hapax.toml");
        let config = hapax_config::load(&path, &Environment::beside(&path).unwrap(), &[]).unwrap();
        assert!(config.sources.contains_key("stripe"));
        assert!(config.destinations.contains_key("app"));
        assert_eq!(config.warning_lines(), Vec::<String>::new());
    }

    #[test]
    fn secrets_are_new_each_time_and_only_for_their_owner() {
        let text = |folder: &Path| fs::read_to_string(folder.join(SECRETS)).unwrap();
        let (_one, first) = written(Template::Flask);
        let (_two, second) = written(Template::Flask);
        assert!(!text(&first).contains('{'), "{}", text(&first));
        let values = |text: String| -> BTreeSet<String> {
            let values = text.lines().filter_map(|line| line.split_once('='));
            values
                .map(|(_, value)| value.to_owned())
                .filter(|value| !value.starts_with("http"))
                .collect()
        };
        let (first_values, second_values) = (values(text(&first)), values(text(&second)));
        assert_eq!(first_values.len(), 4);
        assert!(first_values.is_disjoint(&second_values));
        let mode = fs::metadata(first.join(SECRETS)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_existing_file_stops_it_before_anything_is_written() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        fs::write(folder.join("schema.sql"), "mine").unwrap();
        fs::write(folder.join(SECRETS), "MINE=1").unwrap();
        let error = run(Template::Fastapi, folder.to_str(), false).unwrap_err();
        assert_eq!(error.exit, Exit::Failed);
        let message = error.error.unwrap().to_string();
        assert!(
            message.contains("schema.sql") && message.contains(" are already there"),
            "{message}"
        );
        assert_eq!(below(folder).len(), 2, "nothing else was written");
        run(Template::Fastapi, folder.to_str(), true).unwrap();
        assert_ne!(fs::read_to_string(folder.join("schema.sql")).unwrap(), "mine");
        assert_eq!(
            fs::read_to_string(folder.join(SECRETS)).unwrap(),
            "MINE=1",
            "secrets are kept"
        );
    }

    #[test]
    fn every_readme_begins_with_the_commands_that_start_the_app() {
        for template in Template::value_variants() {
            let commands: Vec<&str> = template.commands().collect();
            assert!((2..=4).contains(&commands.len()), "{template:?}: {commands:?}");
        }
    }

    #[test]
    fn a_name_is_the_same_on_the_command_line_and_in_the_folder() {
        for template in Template::value_variants() {
            let value = template.to_possible_value().unwrap();
            assert_eq!(value.get_name(), template.name());
        }
    }
}
