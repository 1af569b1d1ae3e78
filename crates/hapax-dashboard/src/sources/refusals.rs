//! The most recent refused requests, each with the likely mistake.

use hapax_core::Timestamp;
use maud::{Markup, html};

use super::super::moment::moment;
use super::super::prose::prose;
use hapax_api::views::RefusalView;

pub(super) fn table(refusals: &[RefusalView], now: Timestamp) -> Markup {
    if refusals.is_empty() {
        return html! { p class="muted" { "This process has refused no request of this source." } };
    }
    html! {
        details open {
            summary { "The last " (refusals.len()) " refused requests" }
            div class="table" {
                table {
                    thead {
                        tr { th scope="col" { "When" } th scope="col" { "Code" } th scope="col" { "What was wrong" } th scope="col" { "Likely mistake" } }
                    }
                    tbody {
                        @for refusal in refusals {
                            tr {
                                td class="when" { (moment(refusal.at, now)) }
                                td { code { (refusal.code) } " " span class="muted" { (refusal.status) } }
                                td class="wrap" { (prose(&refusal.detail)) }
                                td class="wrap" { @match &refusal.likely { Some(likely) => (prose(likely)), None => "–" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
