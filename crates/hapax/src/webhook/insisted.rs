//! Responses in the form that a provider requires, such as a specific status or an empty body.

use hapax_verify::{AnswerBody, AnswerRule};

use crate::answer::{Answer, CONTENT_TYPE};

/// The response to a handled request. A failure is not changed: the provider retries.
pub(super) fn accepted(mut answer: Answer, rule: &AnswerRule) -> Answer {
    if !(200..300).contains(&answer.status) {
        return answer;
    }
    answer.status = rule.status.unwrap_or(answer.status);
    match &rule.body {
        AnswerBody::Json => answer,
        AnswerBody::Empty => emptied(answer),
        AnswerBody::Text(text) => {
            let mut answer = emptied(answer);
            answer
                .headers
                .push((CONTENT_TYPE.to_owned(), "text/plain".to_owned()));
            answer.body = text.clone().into_bytes();
            answer
        }
    }
}

/// The response to a refused request.
pub(super) fn refused(mut answer: Answer, rule: &AnswerRule) -> Answer {
    answer.status = rule.refused(answer.status);
    match rule.body {
        AnswerBody::Empty => emptied(answer),
        AnswerBody::Json | AnswerBody::Text(_) => answer,
    }
}

fn emptied(mut answer: Answer) -> Answer {
    answer.body.clear();
    answer.headers.retain(|(name, _)| name != CONTENT_TYPE);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Code;

    #[test]
    fn a_provider_that_insists_on_empty_answers_and_its_own_status_gets_them() {
        let rule = AnswerRule {
            status: Some(200),
            body: AnswerBody::Empty,
            refused_status: Some(498),
        };
        let wrong = refused(Answer::problem(Code::SignatureInvalid, "why"), &rule);
        assert_eq!((wrong.status, wrong.headers.len(), wrong.body.len()), (498, 0, 0));
        let done = Answer {
            status: 202,
            headers: Vec::new(),
            body: b"done".to_vec(),
        };
        assert_eq!(accepted(done.clone(), &rule).status, 200);
        assert!(accepted(done.clone(), &rule).body.is_empty());
        let failed = Answer::handler_failed();
        assert_eq!(accepted(failed.clone(), &rule), failed);
        let text = AnswerRule {
            body: AnswerBody::Text("[accepted]".to_owned()),
            ..AnswerRule::default()
        };
        let done = accepted(done, &text);
        assert_eq!((done.status, done.body), (202, b"[accepted]".to_vec()));
        assert_eq!(
            done.headers,
            [("content-type".to_owned(), "text/plain".to_owned())]
        );
    }
}
