//! A number with a unit, the way durations and sizes are written: `1.5s`, `5MiB`.

/// Maximum number of digits after the decimal point: enough for nanoseconds.
const FRACTION_DIGITS_MAX: usize = 9;

/// Maximum number of digits before the decimal point. Multiplied by the largest unit, this stays far below 2^128.
const WHOLE_DIGITS_MAX: usize = 15;

/// `text` as a whole number of the smallest unit. `unit` returns how many smallest units one of the given unit has.
/// `None` if the text is not a number with a known unit, or not a whole number of smallest units.
pub(crate) fn scaled(text: &str, unit: impl Fn(&str) -> Option<u128>) -> Option<u128> {
    let unit_at = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, suffix) = text.split_at(unit_at);
    let scale = unit(suffix.trim_start_matches(' '))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str, max: usize| {
        let fits = !text.is_empty() && text.len() <= max && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse::<u128>().ok()).flatten()
    };
    let whole = digits(whole, WHOLE_DIGITS_MAX)?;
    let numerator = digits(fraction, FRACTION_DIGITS_MAX)? * scale;
    let denominator = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    (numerator % denominator == 0).then(|| whole * scale + numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_refused() {
        let thousand = |unit: &str| (unit == "k").then_some(1000);
        for (text, expected) in [
            ("1k", Some(1000)),
            ("1.5k", Some(1500)),
            ("1 k", Some(1000)),
            ("0.001k", Some(1)),
            ("0.0001k", None),
            ("1", None),
            ("k", None),
            (".5k", None),
            ("1.k", None),
            ("1.2.3k", None),
            ("-1k", None),
            ("1m", None),
            ("9999999999999999k", None),
        ] {
            assert_eq!(scaled(text, thousand), expected, "{text}");
        }
    }
}
