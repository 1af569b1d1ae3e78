//! A folder of events: `NAME.json` is a body; the optional `NAME.headers` contains `name: value` lines.
//!
//! They are used in the order of their names, which is also the order in which they are assumed to have happened.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::event::{Event, EventProblem};

/// The maximum size of a body.
const BODY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The maximum number of events: each takes seconds under every plan.
const EVENTS_MAX: usize = 100;

/// Reads all events of a folder.
pub(crate) fn read(folder: &Path) -> Result<Vec<Event>, Error> {
    let at = |path: &Path| {
        let name = path.display().to_string();
        move |problem| Error::Event { name, problem }
    };
    let files = files_in(folder).map_err(at(folder))?;
    files
        .iter()
        .map(|file| read_event(file).map_err(at(file)))
        .collect()
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, EventProblem> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
        if files.len() > EVENTS_MAX {
            return Err(EventProblem::TooMany(EVENTS_MAX));
        }
    }
    if files.is_empty() {
        return Err(EventProblem::Empty);
    }
    files.sort();
    Ok(files)
}

fn read_event(file: &Path) -> Result<Event, EventProblem> {
    let name = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let body = read_text(file)?;
    let headers = file.with_extension("headers");
    let headers = if headers.exists() {
        read_text(&headers)?
    } else {
        String::new()
    };
    let lines = headers.lines().filter(|line| !line.trim().is_empty());
    let headers = lines.map(header).collect::<Result<_, _>>()?;
    Ok(Event::new(name, headers, body))
}

fn header(line: &str) -> Result<(String, String), EventProblem> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| EventProblem::Header(line.to_owned()))?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

fn read_text(path: &Path) -> Result<String, EventProblem> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(BODY_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > BODY_BYTES_MAX {
        return Err(EventProblem::TooLarge(BODY_BYTES_MAX));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_names_with_their_headers() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("b.json", "{}"),
            ("a.json", "[]"),
            ("a.headers", "X-One: 1\n"),
            ("notes.txt", ""),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let events = read(folder.path()).unwrap();
        assert_eq!(
            events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(events[0].headers, [("x-one".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn a_folder_without_events_and_a_line_that_is_no_header_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let empty = read(folder.path()).unwrap_err().to_string();
        assert!(
            empty.contains("it contains no file whose name ends with .json"),
            "{empty}"
        );
        std::fs::write(folder.path().join("a.json"), "{}").unwrap();
        std::fs::write(folder.path().join("a.headers"), "nonsense").unwrap();
        let header = read(folder.path()).unwrap_err().to_string();
        assert!(
            header.contains("a.json") && header.contains("`nonsense` is not a header"),
            "{header}"
        );
    }
}
