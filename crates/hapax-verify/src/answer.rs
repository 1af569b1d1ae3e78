//! What a sender insists on in the answers to its deliveries, as data.

use serde::Deserialize;

/// How a sender's deliveries are answered, where it cares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerRule {
    /// The only status that it takes for success.
    pub status: Option<u16>,
    /// What it wants to read.
    pub body: AnswerBody,
    /// The status that it wants where nothing proves who sent a delivery; 401 unless it says otherwise.
    pub refused_status: Option<u16>,
}

/// The body of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerBody {
    /// Anything: ours says what became of the delivery.
    #[default]
    Json,
    /// Nothing at all.
    Empty,
    /// This text.
    Text(String),
}

impl AnswerRule {
    /// The status for a refusal that would otherwise have this one.
    pub fn refused(&self, status: u16) -> u16 {
        match self.refused_status {
            Some(wanted) if status == 401 => wanted,
            Some(_) | None => status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_from_a_preset_and_asks_for_nothing_by_default() {
        let rule: AnswerRule =
            toml::from_str("status = 200\nbody = \"empty\"\nrefused_status = 498").unwrap();
        assert_eq!(rule.body, AnswerBody::Empty);
        assert_eq!((rule.refused(401), rule.refused(400)), (498, 400));
        let rule: AnswerRule = toml::from_str("body = { text = \"[accepted]\" }").unwrap();
        assert_eq!(rule.body, AnswerBody::Text("[accepted]".to_owned()));
        assert_eq!(AnswerRule::default().refused(401), 401);
    }
}
