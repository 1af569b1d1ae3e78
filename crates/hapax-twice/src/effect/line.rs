//! Splits a line into its shape and the values in the gaps of the shape.

use super::moment;

/// The maximum number of digits after the decimal point. A longer number is a word, which is compared as it is.
const FRACTION_DIGITS_MAX: usize = 9;
/// The maximum number of digits before the decimal point.
const INTEGER_DIGITS_MAX: usize = 18;

/// The value in a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A number, in billionths, or a date, in nanoseconds.
    Number(i128),
    /// A word with digits, such as a key or a hash.
    Word(String),
}

/// The shape of a line, with `#` for every gap, and the values in the gaps.
pub(super) fn read(line: &str) -> (String, Vec<Token>) {
    let (mut shape, mut tokens) = (String::with_capacity(line.len()), Vec::new());
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let (token, length) = gap(rest, before);
        let length = length.max(first.len_utf8());
        match token {
            Some(_) => shape.push('#'),
            None => shape.push_str(&rest[..length]),
        }
        tokens.extend(token);
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    (shape, tokens)
}

/// The value that begins here, and its length: a date, an identifier, a number or a word. A word without digits is not
/// a gap.
fn gap(rest: &str, before: char) -> (Option<Token>, usize) {
    if before.is_alphanumeric() {
        return (None, 0);
    }
    if let Some((seconds, length)) = moment::read(rest) {
        return (Some(Token::Number(i128::from(seconds) * 1_000_000_000)), length);
    }
    if let Some(length) = uuid(rest) {
        return (Some(Token::Word(rest[..length].to_owned())), length);
    }
    if let Some((number, length)) = number(rest) {
        return (Some(Token::Number(number)), length);
    }
    let length = rest
        .find(|character: char| !character.is_alphanumeric())
        .unwrap_or(rest.len());
    let word = &rest[..length];
    if word.contains(|character: char| character.is_ascii_digit()) {
        return (Some(Token::Word(word.to_owned())), length);
    }
    (None, length)
}

/// Eight, four, four, four and twelve hexadecimal digits.
fn uuid(rest: &str) -> Option<usize> {
    let text = rest.get(..36)?;
    let fits = text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let ends = !rest[36..].starts_with(char::is_alphanumeric);
    (fits && ends).then_some(36)
}

/// A sign, digits, and optionally a decimal point with digits.
fn number(rest: &str) -> Option<(i128, usize)> {
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    let sign = if digits.len() == rest.len() { 1 } else { -1 };
    let integer = leading_digits(digits);
    let fraction = digits[integer.len()..]
        .strip_prefix('.')
        .map_or("", leading_digits);
    let point = usize::from(!fraction.is_empty());
    let length = rest.len() - digits.len() + integer.len() + point + fraction.len();
    let ends = !rest[length..].starts_with(char::is_alphanumeric);
    let fits = (1..=INTEGER_DIGITS_MAX).contains(&integer.len()) && fraction.len() <= FRACTION_DIGITS_MAX;
    if !fits || !ends {
        return None;
    }
    let scaled: i128 = format!("{integer}{fraction:0<FRACTION_DIGITS_MAX$}")
        .parse()
        .ok()?;
    Some((sign * scaled, length))
}

fn leading_digits(text: &str) -> &str {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(value: i128) -> Token {
        Token::Number(value)
    }

    #[test]
    fn numbers_leave_gaps_and_words_stay() {
        let (shape, tokens) = read("balance|-1200.50|paid|7");
        assert_eq!(shape, "balance|#|paid|#");
        assert_eq!(tokens, [number_of(-1_200_500_000_000), number_of(7_000_000_000)]);
    }

    #[test]
    fn keys_hashes_and_uuids_leave_one_gap_each() {
        let (shape, tokens) = read("pi_3Nabc deadbeef-abcd-abcd-abcd-abcdefabcdef 9f86d081 <id>");
        assert_eq!(shape, "pi_# # # <id>");
        assert_eq!(tokens.len(), 3);
    }

    #[test]
    fn a_number_that_is_too_long_to_add_up_is_a_word() {
        let digits = "1".repeat(30);
        assert_eq!(read(&digits), ("#".to_owned(), vec![Token::Word(digits)]));
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for line in ["", "ä1ö|ß", "-", "1.", ".5", "--3", "€12", "1.2.3"] {
            let (shape, _) = read(line);
            assert!(shape.len() <= line.len() + 1, "{line}: {shape}");
        }
    }
}
