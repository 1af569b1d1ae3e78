//! A receiver that is a program: the message is on stdin, the metadata in the environment.

use std::time::Duration;

use hapax_core::ErrorClass;
use hapax_engine::Reply;

use super::super::message::Message;
use super::super::row::Tried;
use hapax_config::CommandEnv;
use hapax_delivery::destination::command;

pub(super) async fn run(argv: &[String], env: &CommandEnv, message: &Message, limit: Duration) -> Tried {
    let mut program = match command::program(argv, env) {
        Ok(program) => program,
        Err(why) => return Tried::Refused(why),
    };
    program
        .env("HAPAX_ALERT_ID", message.id())
        .env("HAPAX_ALERT_TYPE", message.said.as_type())
        .env("HAPAX_ALERT_RULE", message.rule.as_str())
        .env("HAPAX_ALERT_SUBJECT", &message.subject)
        .env("HAPAX_ALERT_SUMMARY", message.sentence())
        .env("HAPAX_ALERT_VALUE", message.value.to_string())
        .env("HAPAX_ALERT_LIMIT", message.limit.to_string())
        .env("HAPAX_ALERT_SINCE", message.since.to_string());
    let document = message.document().to_string();
    match command::call(program, document.as_bytes(), limit).await.reply {
        Reply::Done => Tried::Delivered,
        // A killed program may have passed the message on before.
        Reply::Failed {
            class: ErrorClass::Timeout,
            message,
            ..
        } => Tried::Unclear(message),
        Reply::Failed { message, .. } | Reply::Refused { message, .. } => Tried::Refused(message),
    }
}
