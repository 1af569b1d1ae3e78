//! The admin API reference, from the OpenAPI document that the service itself serves.

use std::fmt::Write as _;

use hapax_admin::openapi::documents::{Document, documents};
use hapax_admin::openapi::outline::{Chapter, Operation, chapters};
use hapax_admin::openapi::schema::{Field, Need};
use hapax_admin::openapi::{ANYWHERE, document};

const INTRODUCTION: &str = "
The service listens on `server.admin_listen` (`127.0.0.1:8081` by default). The command line and the dashboard use only this API.

```sh
curl -s -H \"Authorization: Bearer $HAPAX_ADMIN_TOKEN\" 'http://127.0.0.1:8081/api/v1/events?q=status:dead' | jq
```

[openapi.json](openapi.json) is the same as an OpenAPI 3.1 document, served at `/api/v1/openapi.json` and printed by
`hapax print openapi`. `/api` shows it as a page.

## Access

- With `server.admin_token`, every path under `/api/v1` needs `Authorization: Bearer TOKEN`: that token, or one of
  `[[server.tokens]]`. After several wrong tokens, an address must wait (`too_many_attempts`).
- Each path requires a role: `read`, `operate` or `admin`. A token with a lower role gets `role_too_low`.
- A token with `sources` can read and change only data of these sources: its lists are limited to them, events of other
  sources are not found, and requests that cannot be limited get `sources_limited`. A destination, with its figures and
  groups of dead letters, is included if no other source delivers to it. See [the guide](../guides/access.md).
- Without a token, the address must be loopback. Then the `Host` must be a loopback name or the admin address itself, and a
  request that changes something must not come from a web page of another origin.
- A session of the dashboard also allows reads: its script uses the live tail and the completion of queries.
- The audit trail names the token: `admin` for `server.admin_token`, `local` if there is none. `Hapax-Note: TEXT` adds a
  note of up to 128 bytes; it is shown as a note and proves nothing.
- `/healthz`, `/readyz` and `/metrics` need no token. They show names and numbers, never the content of an event.

## Conventions

- Lists are paginated: `limit` (50 by default, at most 200) and `cursor`, the `next` of the previous page; `next` is null at
  the end. New arrivals never make a page skip or repeat an event.
- `q` is a string in the [query language](query.md).
- Times are RFC 3339 in UTC. Ids are UUIDs that Hapax assigns, except `event_id`, which is the provider's.
- Unknown parameters and fields are refused, so that a misspelt filter never selects everything.
- Errors are `application/problem+json` with a stable `code`; [errors.md](errors.md) lists them. In addition to
  those below, any path under `/api/v1` may answer CODES.
- A request may take 60 seconds, a body may have 1 MiB, and 64 live tails may be open.
";

pub(super) fn page() -> String {
    let mut page = super::heading("Admin API", "api");
    let anywhere = ANYWHERE.map(|code| format!("`{code}`"));
    page.push_str(&INTRODUCTION.replace("CODES", &anywhere.join(", ")));
    let described = document();
    let chapters = chapters(&described);
    page.push_str("\n## Paths\n\n| path | role | |\n|---|---|---|\n");
    for operation in chapters.iter().flat_map(|chapter| &chapter.operations) {
        let _ = writeln!(
            page,
            "| [`{} {}`](#{}) | {} | {} |",
            operation.method,
            operation.path,
            operation.id.to_ascii_lowercase(),
            operation.role,
            operation.summary
        );
    }
    for chapter in &chapters {
        push_chapter(&mut page, chapter);
    }
    page.push_str("\n## Documents\n");
    for one in documents(&described) {
        push_document(&mut page, &one);
    }
    page
}

// Writing to a String cannot fail, here and below.
fn push_chapter(page: &mut String, chapter: &Chapter) {
    let _ = write!(page, "\n## {}\n\n{}\n", chapter.name, chapter.about);
    for operation in &chapter.operations {
        push_operation(page, operation);
    }
}

fn push_operation(page: &mut String, operation: &Operation) {
    let _ = write!(
        page,
        "\n### {}\n\n`{} {}`\n\n{}\n",
        operation.id, operation.method, operation.path, operation.summary
    );
    if !operation.description.is_empty() {
        let _ = write!(page, "\n{}\n", operation.description);
    }
    let fields: Vec<&Field> = operation.parameters.iter().chain(&operation.body).collect();
    if !fields.is_empty() {
        page.push_str("\n| name | where | type | |\n|---|---|---|---|\n");
    }
    for field in fields {
        let need = match field.need {
            Need::Required => ", required",
            Need::Optional => "",
        };
        let _ = writeln!(
            page,
            "| `{}` | {}{need} | {} | {} |",
            field.name, field.place, field.kind, field.help
        );
    }
    page.push('\n');
    for answer in &operation.answers {
        push_answer(page, &answer.status, &answer.help, answer.schema.as_deref());
    }
}

fn push_document(page: &mut String, document: &Document) {
    let _ = write!(page, "\n### {}\n\n", document.name);
    if !document.about.is_empty() {
        let _ = write!(page, "{}\n\n", document.about);
    }
    page.push_str("| field | type | |\n|---|---|---|\n");
    for field in &document.fields {
        let _ = writeln!(page, "| `{}` | {} | {} |", field.name, field.kind, field.help);
    }
}

/// Lists problems by code only: the error reference explains each, and those that any path can return are listed above.
fn push_answer(page: &mut String, status: &str, help: &str, schema: Option<&str>) {
    let codes: Vec<&str> = help
        .split("\n\n")
        .filter_map(|line| line.strip_prefix('`')?.split_once('`'))
        .map(|(code, _)| code)
        .collect();
    if let Some(schema) = schema {
        let _ = writeln!(
            page,
            "- {status}: {help} [`{schema}`](#{})",
            schema.to_ascii_lowercase()
        );
    } else if codes.is_empty() {
        let _ = writeln!(page, "- {status}: {help}");
    }
    let own = codes
        .into_iter()
        .filter(|code| ANYWHERE.iter().all(|other| other.as_str() != *code));
    let links: Vec<String> = own
        .map(|code| format!("[`{code}`](../errors/{code}.md)"))
        .collect();
    if !links.is_empty() {
        let _ = writeln!(page, "- {status}: {}", links.join(", "));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_path_is_on_the_page_with_its_codes() {
        let page = super::page();
        for line in [
            "### listEvents",
            "`GET /api/v1/ledger/{source}/{event_id}`",
            "[`replay_finished`](../errors/replay_finished.md)",
            "| `cursor` | query |",
        ] {
            assert!(page.contains(line), "{line}");
        }
    }
}
