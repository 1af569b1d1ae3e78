//! `--vectors`: files of deliveries, each with its expected result.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hapax_verify::vectors::File;
use serde::Serialize;

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_terminal::output;

/// The largest vector file that is read.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Default, Serialize)]
struct Sum {
    files: usize,
    vectors: usize,
    failed: Vec<Failure>,
}

#[derive(Debug, Serialize)]
struct Failure {
    file: String,
    vector: Option<String>,
    reason: String,
}

pub(super) fn run(files: &[PathBuf], globals: &Globals) -> Result<(), CliError> {
    let mut sum = Sum::default();
    for file in files {
        sum.add(file)?;
    }
    if globals.json {
        output::json(&sum)?;
    } else {
        print(&sum)?;
    }
    if sum.failed.is_empty() {
        Ok(())
    } else {
        Err(CliError::silent(Exit::ProblemFound))
    }
}

impl Sum {
    fn add(&mut self, path: &Path) -> Result<(), CliError> {
        let file = read(path)?;
        self.files += 1;
        self.vectors += file.vectors.len();
        let failure = |vector, reason| Failure {
            file: path.display().to_string(),
            vector,
            reason,
        };
        match file.run() {
            Ok(outcomes) => self.failed.extend(outcomes.into_iter().filter_map(|outcome| {
                let reason = outcome.failure?;
                Some(failure(Some(outcome.name), reason))
            })),
            // None of the file's vectors was tried.
            Err(error) => self.failed.push(failure(None, error.to_string())),
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<File, CliError> {
    let size = std::fs::metadata(path)
        .with_context(|| format!("{} cannot be read", path.display()))?
        .len();
    if size > FILE_BYTES_MAX {
        return Err(CliError::usage(format!(
            "{} is larger than {FILE_BYTES_MAX} bytes",
            path.display()
        )));
    }
    let text = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_slice(&text)
        .map_err(|error| CliError::usage(format!("{} is not a vector file: {error}", path.display())))
}

fn print(sum: &Sum) -> std::io::Result<()> {
    for failure in &sum.failed {
        let vector = failure.vector.as_deref().unwrap_or("no vectors were run");
        output::line(format_args!("{}: {vector}: {}", failure.file, failure.reason))?;
    }
    output::line(format_args!(
        "{} vectors in {} files, {} failed",
        sum.vectors,
        sum.files,
        sum.failed.len()
    ))
}
