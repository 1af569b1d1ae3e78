//! The reference of every configuration key, from the declarations that the parser itself uses.

use std::fmt::Write as _;

use hapax_config::keys;

const INTRODUCTION: &str = "
The configuration file is `hapax.toml` in the working directory, or the file that `--config` or `HAPAX_CONFIG` names. Unknown
keys are refused.

The first of these sets a value: a command-line flag; for `[server]` and `[store]`, a variable such as
`HAPAX_SERVER__LISTEN` or `HAPAX_STORE__URL`; the file; the default.

| type | format |
|---|---|
| duration | `\"250ms\"`, `\"1.5s\"`, `\"5m\"`, `\"1h\"`, `\"30d\"`, `\"2w\"` |
| size | `\"800B\"`, `\"64KiB\"`, `\"1MB\"`, `\"5MiB\"` |
| rate | `\"500/s\"`, `\"100/m\"`, `\"10/h\"` |
| address | `\"127.0.0.1:8080\"`, `\"[::1]:8080\"` |
| secret | `\"env:NAME\"`, `\"file:PATH\"`, `\"exec:COMMAND\"` (one trailing line break is removed), or the secret itself; see [secrets](../guides/secrets.md) |
| location | `\"header:NAME\"`, `\"body:/json/pointer\"`, `\"body-sha256\"`; `\\|` between locations uses the first one that is present |

Names of sources, scopes and destinations have 1 to 64 lower-case letters, digits, `-` and `_`, and begin with a letter
or digit.
";

pub(super) fn page() -> String {
    let mut page = super::heading("Configuration", "config");
    page.push_str(INTRODUCTION);
    for table in keys::ALL {
        let _ = write!(
            page,
            "\n## `{}`\n\n{}\n\n| key | type | default | |\n|---|---|---|---|\n",
            table.header, table.help
        );
        for key in table.keys {
            let facts = key.facts();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                facts.name,
                key.kind(),
                facts.default_words(),
                facts.help()
            );
        }
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_table_and_key_is_on_the_page() {
        let page = super::page();
        for table in hapax_config::keys::ALL {
            assert!(page.contains(table.header));
            for name in table.names() {
                assert!(page.contains(&format!("| `{name}` |")), "{name}");
            }
        }
    }
}
