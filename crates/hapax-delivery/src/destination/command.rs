//! The `command` destination: one process per attempt. The payload is on stdin, the metadata in the environment, and
//! exit code 0 means success.

mod find;
mod tail;

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{ErrorClass, Leased};
use hapax_engine::{AttemptResult, Reply, Transport};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{DestinationKind, SetupError, Shared, Unreachable};
use hapax_config::destination::command::Command as CommandSettings;
use hapax_config::process_group::Group;
use hapax_config::{CommandEnv, Destination};
use hapax_telemetry::traces::SpanTarget;
use hapax_telemetry::traces::context::{self, Parent, Propagation};
use tail::Tail;

/// The exit code for "not now" (`EX_TEMPFAIL` of sysexits); it is retried like any other failure.
const EXIT_TEMPORARY: i32 = 75;
/// How long to wait for output after the process has exited: one of its children may hold the pipe open indefinitely.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);

#[async_trait]
impl DestinationKind for CommandSettings {
    fn start(&self, destination: &Destination, shared: &Shared) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(CommandTarget {
            argv: self.argv.clone(),
            env: self.env.clone(),
            timeout: destination.timeout,
            propagation: shared.propagation,
        }))
    }

    async fn check(&self) -> Result<String, Unreachable> {
        let program = self.argv.first().map_or("", String::as_str);
        match find::find(program) {
            Some(path) => Ok(format!("{} can be run", path.display())),
            None => Err(Unreachable {
                problem: format!("`{program}` is not a program that this user can run"),
                fix: format!("correct its command, or `chmod +x {program}`"),
            }),
        }
    }

    fn span_target(&self) -> SpanTarget {
        SpanTarget::Process
    }

    fn remembers(&self) -> Option<Duration> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct CommandTarget {
    /// The program and its arguments. There is no shell in between.
    pub argv: Vec<String>,
    /// The part of our environment that it inherits.
    pub env: CommandEnv,
    /// After this time it is killed, together with everything it started.
    pub timeout: Duration,
    /// Whether and how the event's trace context is passed on.
    pub propagation: Propagation,
}

#[async_trait]
impl Transport for CommandTarget {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        let mut command = match program(&self.argv, &self.env) {
            Ok(command) => command,
            Err(message) => return AttemptResult::failed(ErrorClass::Exit, message),
        };
        let event = &delivery.event;
        command
            .env("HAPAX_SOURCE", event.source.as_str())
            .env("HAPAX_EVENT_ID", &event.identity.event_id)
            .env(
                "HAPAX_EVENT_TYPE",
                event.event_type.as_deref().unwrap_or_default(),
            )
            .env("HAPAX_ID", event.id.to_string())
            .env("HAPAX_IDEMPOTENCY_KEY", crate::outbox::key_of(delivery))
            .env("HAPAX_ATTEMPT", delivery.attempt.to_string())
            .env("HAPAX_RECEIVED_AT", event.received_at.to_string());
        for (name, value) in self.trace(delivery) {
            command.env(name, value);
        }
        if let Some((batch, index)) = event.batch {
            command
                .env("HAPAX_BATCH_ID", batch.to_string())
                .env("HAPAX_BATCH_INDEX", index.to_string());
        }
        call(command, &event.body, self.timeout).await
    }
}

/// A program that runs in its own process group with piped stdin and output. It inherits only `env` from our
/// environment, which holds every secret.
pub fn program(argv: &[String], env: &CommandEnv) -> Result<Command, String> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| "the command is empty; set `command`".to_owned())?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(env.iter())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group: Ctrl-C in the terminal is for the service, which lets its commands finish.
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

/// Runs a program with this payload on stdin until it exits. After `limit` it is killed, together with everything it
/// started.
pub async fn call(mut command: Command, payload: &[u8], limit: Duration) -> AttemptResult {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let program = command.as_std().get_program().to_string_lossy();
            return AttemptResult::failed(
                ErrorClass::Exit,
                format!("`{program}` could not be started: {error}; check `command`"),
            );
        }
    };
    let group = Group::of(&child);
    let output = Mutex::new(Tail::default());
    let ended = timeout(limit, run(&mut child, payload, &output)).await;
    let excerpt = tail::text(&output);
    match ended {
        Ok(Ok(status)) => {
            group.ended();
            judge(status, excerpt)
        }
        Ok(Err(error)) => AttemptResult {
            excerpt,
            ..AttemptResult::failed(
                ErrorClass::Exit,
                format!("the command could not be waited for: {error}"),
            )
        },
        // Dropping `group` kills the process and everything it started.
        Err(_) => AttemptResult {
            excerpt,
            ..AttemptResult::failed(
                ErrorClass::Timeout,
                format!(
                    "the command was killed: it did not finish within {} ms",
                    limit.as_millis()
                ),
            )
        },
    }
}

impl CommandTarget {
    /// `TRACEPARENT` and `TRACESTATE`, where tracers in scripts find their parent.
    fn trace(&self, delivery: &Leased) -> Vec<(&'static str, String)> {
        let headers = &delivery.event.headers;
        let text = |name| {
            headers
                .get(name)
                .map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let ours = self.propagation.parent(delivery).map(|parent| parent.to_string());
        let parent = ours.or_else(|| text(context::TRACEPARENT));
        // A tracestate belongs to its traceparent: next to another one it would be wrong.
        let state = Parent::of(headers).and_then(|_| text(context::TRACESTATE));
        let named = [("TRACEPARENT", parent), ("TRACESTATE", state)];
        let set = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        // A variable cannot hold a NUL. Neither can a header, and outbox rows are checked like headers.
        set.filter(|(_, value)| !value.contains('\0')).collect()
    }
}

/// Writes the payload and collects the output until the process exits.
async fn run(child: &mut Child, payload: &[u8], output: &Mutex<Tail>) -> std::io::Result<ExitStatus> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A command may ignore its input: a closed pipe is not a failure; the exit code decides.
            let _ = stdin.write_all(payload).await;
        }
    };
    let streams = async {
        tokio::join!(feed, listen(stdout, output), listen(stderr, output));
    };
    tokio::pin!(streams);
    let status = tokio::select! {
        status = child.wait() => status?,
        () = &mut streams => return child.wait().await,
    };
    // Its last output may still be in the pipe.
    let _ = timeout(OUTPUT_GRACE, streams).await;
    Ok(status)
}

async fn listen(stream: Option<impl AsyncRead + Unpin>, output: &Mutex<Tail>) {
    let Some(mut stream) = stream else { return };
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        tail::push(output, &buffer[..count]);
    }
}

fn judge(status: ExitStatus, excerpt: String) -> AttemptResult {
    let reply = if status.success() {
        Reply::Done
    } else {
        let message = match status.code() {
            Some(EXIT_TEMPORARY) => "the command asks for a retry (exit code 75)".to_owned(),
            Some(code) => format!("the command exited with code {code}"),
            None => format!("the command was killed by a signal ({status})"),
        };
        Reply::Failed {
            class: ErrorClass::Exit,
            message,
            retry_after: None,
        }
    };
    AttemptResult {
        reply,
        status: status.code(),
        excerpt,
    }
}
