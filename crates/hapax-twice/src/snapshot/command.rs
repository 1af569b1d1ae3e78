//! Runs a user's shell command and returns its output, within limits.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
const RUN_LIMIT: Duration = Duration::from_secs(60);

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("the shell could not be started: {0}")]
    NotStarted(#[from] std::io::Error),
    #[error("the command exited with {status}{}", said(.stderr))]
    Failed { status: ExitStatus, stderr: String },
    #[error("the command did not finish within {RUN_LIMIT:?}")]
    Late,
    #[error("the command printed more than {OUTPUT_BYTES_MAX} bytes; print less, such as counts and sums")]
    TooMuch,
}

/// Runs a command and returns its output.
pub(crate) async fn run(command: &str) -> Result<String, CommandError> {
    let mut child = shell(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = async {
        let (stdout, stderr, status) = tokio::try_join!(read(stdout), read(stderr), wait(&mut child))?;
        Ok::<_, CommandError>((stdout, stderr, status))
    };
    let (stdout, stderr, status) = tokio::time::timeout(RUN_LIMIT, read)
        .await
        .map_err(|_| CommandError::Late)??;
    if !status.success() {
        return Err(CommandError::Failed { status, stderr });
    }
    Ok(stdout)
}

/// Runs a command and waits for its end, but not for the processes it starts: a restarted handler keeps running.
pub(crate) async fn run_detached(command: &str) -> Result<(), CommandError> {
    let mut child = shell(command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let status = tokio::time::timeout(RUN_LIMIT, child.wait())
        .await
        .map_err(|_| CommandError::Late)??;
    if status.success() {
        return Ok(());
    }
    let stderr = "its output is not captured; run it manually".to_owned();
    Err(CommandError::Failed { status, stderr })
}

fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    shell
}

async fn wait(child: &mut Child) -> Result<ExitStatus, CommandError> {
    Ok(child.wait().await?)
}

async fn read(stream: Option<impl tokio::io::AsyncRead + Unpin>) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > OUTPUT_BYTES_MAX {
        return Err(CommandError::TooMuch);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_command_prints_is_returned_and_its_failure_says_why() {
        assert_eq!(run("echo a; echo b").await.unwrap(), "a\nb\n");
        let error = run("echo no table >&2; exit 3").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the command exited with exit status: 3: no table"
        );
    }

    #[tokio::test]
    async fn what_a_detached_command_leaves_running_is_not_waited_for() {
        let start = std::time::Instant::now();
        run_detached("sleep 20 & exit 0").await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
