//! `hapax explain`: what a problem code means, from the pages that are compiled in.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use serde_json::{Value, json};

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_api::problem::Code;
use hapax_api::renamed::{self, Kind};
use hapax_config::nearest;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// Explain a problem code: what it means, why it happens and what to do.
///
/// Without a code: the table of all. Needs no configuration and no running service.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax explain
  hapax explain signature_invalid")]
pub struct Args {
    /// The `code` of a problem document
    #[arg(value_name = "CODE", value_parser = AnyCode, hide_possible_values = true)]
    pub code: Option<String>,
}

/// Runs the verb.
pub fn run(args: &Args, globals: &Globals) -> Result<(), CliError> {
    let Some(code) = &args.code else {
        return list(globals);
    };
    let code: Code = code.parse().map_err(|_| unknown(code))?;
    let page = hapax_docs::error_page(code);
    if globals.json {
        let mut facts = facts(code);
        facts["page"] = page.into();
        output::json(&facts)?;
    } else {
        output::line(page.trim_end())?;
    }
    Ok(())
}

fn list(globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        let codes: Vec<Value> = Code::ALL.iter().map(|code| facts(*code)).collect();
        return Ok(output::json(&json!({ "codes": codes }))?);
    }
    let mut table = Table::new(["code", "status", "meaning"]);
    for code in Code::ALL {
        table.row([
            code.to_string(),
            code.status().to_string(),
            code.meaning().to_owned(),
        ]);
    }
    Ok(output::line(table.render(Reader::of_stdout()))?)
}

fn facts(code: Code) -> Value {
    json!({ "code": code, "status": code.status(), "title": code.title(), "meaning": code.meaning() })
}

fn unknown(code: &str) -> CliError {
    let meant = match renamed::renamed(Kind::Code, code) {
        Some(_) => renamed::hint(Kind::Code, code),
        None => nearest(code, Code::ALL.iter().map(|code| code.as_str()))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
    };
    CliError::not_found(format!(
        "there is no problem code `{code}`{meant} (`hapax explain` lists them)"
    ))
}

/// Takes any text, and tells the shell's completion which codes there are.
#[derive(Clone)]
struct AnyCode;

impl TypedValueParser for AnyCode {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            Code::ALL.iter().map(|code| PossibleValue::new(code.as_str())),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn refusal(code: &str) -> String {
        let refused = unknown(code);
        assert_eq!(refused.exit, Exit::NotFound);
        refused.error.unwrap().to_string()
    }

    #[test]
    fn an_unknown_code_is_refused_with_the_nearest() {
        assert_eq!(
            refusal("signature_invalids"),
            "there is no problem code `signature_invalids`; did you mean `signature_invalid`? (`hapax explain` lists them)"
        );
        assert!(refusal("zebra").starts_with("there is no problem code `zebra` ("));
    }

    #[test]
    fn an_old_code_is_refused_with_its_new_name() {
        assert!(refusal("replay_over").contains("; `replay_over` is now `replay_finished`"));
    }
}
