//! Secrets printed by a command: `exec:vault kv get -field=secret kv/stripe`.
//!
//! The command runs without a shell, with a closed stdin, a deadline, and a separate environment that holds none of the
//! service's other secrets. Its stderr is discarded, because it may contain anything.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::SECRET_BYTES_MAX;
use super::words::{WordsError, split};
use crate::process_group::Group;

/// How long a command may take; a cloud provider's command-line tool takes seconds.
const DEADLINE: Duration = Duration::from_secs(10);

/// The environment variables that a command inherits from the service: how to find programs, files and the network, and
/// the credentials for the usual secret managers. A name that ends with `*` matches all names with that prefix.
pub const ENVIRONMENT_OF_COMMANDS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "VAULT_*",
    "BAO_*",
    "SOPS_*",
    "GNUPGHOME",
    "AWS_*",
    "GOOGLE_*",
    "CLOUDSDK_*",
    "AZURE_*",
    "OP_*",
    "KUBERNETES_*",
];

/// Why a command did not return a secret.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command cannot be parsed.
    #[error(transparent)]
    Words(#[from] WordsError),
    #[error("the command `{program}` cannot be started ({error}); install it, or write its full path")]
    NotStarted {
        /// The first word of the command.
        program: String,
        error: io::Error,
    },
    #[error(
        "the command `{program}` {problem}; run it manually to see why (its stderr is never logged, because it may \
         contain secrets)"
    )]
    Failed {
        /// The first word of the command.
        program: String,
        problem: String,
    },
}

/// The command's output, without the line ending.
pub(super) fn run(command: &str, variables: &[(&str, &OsStr)]) -> Result<String, CommandError> {
    run_within(DEADLINE, command, variables)
}

fn run_within(limit: Duration, command: &str, variables: &[(&str, &OsStr)]) -> Result<String, CommandError> {
    let words = split(command)?;
    // A separate thread and runtime, because configurations are read both inside and outside a runtime.
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| failed(&words, format!("cannot be waited for ({error})")))?
                .block_on(output(limit, &words, variables))
        });
        running
            .join()
            .unwrap_or_else(|_| Err(failed(&words, "cannot be waited for".to_owned())))
    })
}

async fn output(
    limit: Duration,
    words: &[String],
    variables: &[(&str, &OsStr)],
) -> Result<String, CommandError> {
    let (program, arguments) = words.split_first().ok_or(WordsError::Empty)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| CommandError::NotStarted {
        program: program.clone(),
        error,
    })?;
    let group = Group::of(&child);
    let mut bytes = Vec::new();
    let ended = timeout(limit, async {
        if let Some(stdout) = child.stdout.take() {
            stdout.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes).await?;
        }
        child.wait().await
    });
    // Dropping `group` kills the process and everything that it started.
    let status = match ended.await {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return Err(failed(words, format!("cannot be waited for ({error})"))),
        Err(_) => {
            let problem = format!("did not finish within {} s and was killed", limit.as_secs());
            return Err(failed(words, problem));
        }
    };
    group.ended();
    if bytes.len() as u64 > SECRET_BYTES_MAX {
        return Err(failed(
            words,
            format!("printed more than {SECRET_BYTES_MAX} bytes"),
        ));
    }
    if !status.success() {
        return Err(failed(words, format!("failed ({status})")));
    }
    String::from_utf8(bytes).map_err(|_| failed(words, "printed something that is not UTF-8".to_owned()))
}

fn failed(words: &[String], problem: String) -> CommandError {
    CommandError::Failed {
        program: words.first().cloned().unwrap_or_default(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::Environment;

    fn with(variables: &[(&str, &str)]) -> Environment {
        let process = Environment::of_process();
        Environment::with(
            [("PATH", process.text("PATH").unwrap())]
                .into_iter()
                .chain(variables.iter().copied()),
        )
    }

    #[test]
    fn a_command_gets_its_arguments_as_they_are_and_a_closed_stdin() {
        assert_eq!(
            run("printf %s 'hunter2 $x'", &with(&[]).of_commands()).unwrap(),
            "hunter2 $x"
        );
        assert_eq!(run("cat", &with(&[]).of_commands()).unwrap(), "");
    }

    #[test]
    fn a_command_sees_nothing_of_the_environment_but_what_secret_managers_need() {
        let environment = with(&[
            ("VAULT_ADDR", "http://vault"),
            ("AWS_PROFILE", "prod"),
            ("HOME", "/root"),
            ("STRIPE_SECRET", "hunter2"),
            ("HAPAX_ADMIN_TOKEN", "hunter2"),
        ]);
        let seen = run("env", &environment.of_commands()).unwrap();
        let mut names: Vec<&str> = seen
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["AWS_PROFILE", "HOME", "PATH", "VAULT_ADDR"]);
    }

    #[test]
    fn a_command_that_fails_is_named_without_what_it_printed() {
        for (command, problem) in [
            ("sh -c 'echo hunter2; echo hunter2 >&2; exit 3'", "exit status: 3"),
            ("head -c 70000 /dev/zero", "more than 65536 bytes"),
            ("printf '\\377'", "not UTF-8"),
            ("no-such-program-anywhere", "cannot be started"),
            ("echo $SECRET", "not run by a shell"),
        ] {
            let message = run(command, &with(&[]).of_commands()).unwrap_err().to_string();
            assert!(message.contains(problem), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_command_that_never_ends_is_killed_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let command = format!("sh -c 'sleep 600 & echo $! >{}; wait'", file.display());
        let message = run_within(Duration::from_secs(2), &command, &with(&[]).of_commands()).unwrap_err();
        assert!(message.to_string().contains("was killed"), "{message}");
        let child = std::fs::read_to_string(&file).unwrap();
        let began = Instant::now();
        let is_dead = || match std::fs::read_to_string(format!("/proc/{}/stat", child.trim())) {
            // The process may be a zombie that was not waited for yet.
            Ok(state) => state.contains(") Z "),
            Err(_) => true,
        };
        while !is_dead() {
            assert!(began.elapsed() < DEADLINE, "it still runs");
            std::thread::yield_now();
        }
    }
}
