//! The query language reference, from the table of keys that the parser itself uses.

use std::fmt::Write as _;

use hapax_engine::BODIES_MAX;

use hapax_api::query::{BODY_TERMS_MAX, KEYS, QUERY_BYTES_MAX};

const INTRODUCTION: &str = "
A query selects events: in the API's `q`, the dashboard's search box, `hapax events list -q`, bulk replays and saved
searches.

```text
source:stripe type:invoice.* status:dead duplicates:>1 body:/data/object/id=ord_1 since:2h
```

Terms are separated by white space. Every term must match; their order does not matter. A key may occur once, `body:`
several times. An invalid query is refused with the position of the error and a correction; it never matches everything by
mistake.
";

const GRAMMAR: &str = "
## Grammar

```text
query   = { term }                    separated by white space
term    = key \":\" value | word        a word alone means id:word
value   = { letter | quoted }         without white space outside quotes
quoted  = '\"' { letter } '\"'          in quotes, \\\" is a quote and \\\\ a backslash
```

- A word that begins with a quote is an id, whatever it contains: `\"a:b c\"`. So is the text after `id:`.
- A time is RFC 3339 (`2026-01-31T12:00:00Z`), or an age (`30s`, `15m`, `2h`, `7d`). A saved search keeps `since:2h` as it is,
  so that it always means the last two hours.
- A value in a body is compared as text: a string without its quotes, a number, `true`, `false` or `null` as it is written.
  `1.0` is not `1`. Objects and lists have no value; `/items/0/id` looks into a list.
- In a JSON pointer (RFC 6901), `~` in a name is written `~0` and `/` is written `~1`.
";

pub(super) fn page() -> String {
    let mut page = super::heading("Query language", "query");
    page.push_str(INTRODUCTION);
    page.push_str("\n## Keys\n\n| key | value | matches | for example |\n|---|---|---|---|\n");
    for key in KEYS {
        let examples: Vec<String> = key.examples.iter().map(|one| format!("`{one}`")).collect();
        let _ = writeln!(
            page,
            "| `{}:` | {} | {} | {} |",
            key.name,
            key.value,
            key.help,
            examples.join(", ")
        );
    }
    page.push_str(GRAMMAR);
    page.push_str(&cost());
    page
}

fn cost() -> String {
    format!(
        "
## What a search costs

Each page examines a bounded number of events, whatever the query and the size of the store. If few events match, a page
may contain fewer than requested although more follow: `next` is null only at the end. Every key except `body:` uses an
index.

Values in bodies are not indexed by default:

- If the query names a `source:` that has the field in `indexed`, the search uses the index. It finds every event that was
  accepted since the field was indexed; `coverage` in the response is `indexed` and contains that time.
- Otherwise the newest bodies are read one by one, at most {BODIES_MAX} over all pages of one search; `coverage` is `newest`
  and says how many were read, and whether the limit ended the search early (`is_cut`). The other terms are applied first,
  so that with `source:` and `since:` the same {BODIES_MAX} bodies reach further back.

Without `body:`, `coverage` is `everything`. The same limits apply to bulk replays. A query has at most {QUERY_BYTES_MAX}
bytes and {BODY_TERMS_MAX} `body:` terms.

A live tail supports only `source:`, `type:`, `id:` and `since:`, which are known on arrival; other keys are refused.
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_every_example_is_on_the_page_and_the_parser_takes_it() {
        let page = page();
        let now = hapax_core::Timestamp::from_seconds(1_767_225_600);
        for key in KEYS {
            assert!(page.contains(&format!("| `{}:` |", key.name)));
            for example in key.examples {
                assert!(page.contains(example), "{example}");
                assert!(hapax_api::query::parse(example, now).is_ok(), "{example}");
            }
        }
        for line in page.lines().filter(|line| line.starts_with("source:")) {
            assert!(hapax_api::query::parse(line, now).is_ok(), "{line}");
        }
    }
}
