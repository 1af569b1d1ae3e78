//! What a provider requires of the responses to its deliveries, as data.

use serde::Deserialize;

/// The form of response that a provider requires, if it does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerRule {
    /// The only status that it accepts as success.
    pub status: Option<u16>,
    /// The body that it expects.
    pub body: AnswerBody,
    /// The status that it expects for a delivery that cannot be verified; 401 by default.
    pub refused_status: Option<u16>,
}

/// The body of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerBody {
    /// Any body: Hapax describes what happened to the delivery.
    #[default]
    Json,
    /// No body.
    Empty,
    /// This text.
    Text(String),
}

impl AnswerRule {
    /// The status of a refusal that would otherwise have this status.
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
