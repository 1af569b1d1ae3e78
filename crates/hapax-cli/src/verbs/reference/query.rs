//! The query language reference, from the table of keys that the parser itself uses.

use std::fmt::Write as _;

use hapax_engine::BODIES_MAX;

use hapax_api::query::{BODY_TERMS_MAX, KEYS, QUERY_BYTES_MAX};

const INTRODUCTION: &str = "
One text says which events: in the API's `q`, the dashboard's search box, `hapax events list -q`, bulk replays and saved
views.

```text
source:stripe type:invoice.* status:dead duplicates:>1 body:/data/object/id=ord_1 since:2h
```

Terms are separated by white space. Every term must match, in whatever order they stand. A key may be given once, `body:`
several times. A query that makes no sense is refused with the place and with what to write instead; it never finds
everything by mistake.
";

const GRAMMAR: &str = "
## Grammar

```text
query   = { term }                    separated by white space
term    = key \":\" value | word        a word alone means id:word
value   = { letter | quoted }         without white space outside quotes
quoted  = '\"' { letter } '\"'          in quotes, \\\" is a quote and \\\\ a backslash
```

- A word that begins with a quote is an id, whatever it holds: `\"a:b c\"`. So is what follows `id:`.
- A time is RFC 3339 (`2026-01-31T12:00:00Z`), or how long ago (`30s`, `15m`, `2h`, `7d`). A saved search keeps `since:2h` as
  it is, so that it always means the last two hours.
- A value in a body is compared as text: a string without its quotes, a number, `true`, `false` or `null` as it is written.
  `1.0` is not `1`. Objects and lists have no value; `/items/0/id` looks into a list.
- In a JSON pointer (RFC 6901) `~` in a name is written `~0` and `/` is written `~1`.
";

pub(super) fn page() -> String {
    let mut page = super::heading("Query language", "query");
    page.push_str(INTRODUCTION);
    page.push_str("\n## Keys\n\n| key | value | finds | for example |\n|---|---|---|---|\n");
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

A page looks at a bounded number of events, whatever is asked and whatever is stored. Where few events fit many others it
may hold fewer than asked for and still go on: `next` is null only at the end. Every key but `body:` is looked up.

A value in bodies is the one thing that no store finds by itself:

- Where the query names a `source:` that has the field in `indexed`, the index is asked. Found is everything that was
  accepted since the field is indexed; the answer's `coverage` is `indexed` and says since when.
- Otherwise the newest bodies are read one after the other, at most {BODIES_MAX} over all pages of one search; `coverage` is
  `newest`, says how many were read, and whether the limit ended the search before everything was looked at (`is_cut`).
  The other terms are applied first, so that `source:` and `since:` make the same {BODIES_MAX} bodies reach further.

Without `body:`, `coverage` is `everything`. The same limits hold for bulk replays. A query has at most {QUERY_BYTES_MAX}
bytes and {BODY_TERMS_MAX} `body:` terms.

In a live tail only `source:`, `type:`, `id:` and `since:` are known at the moment of arrival; other keys are refused there.
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
