//! Rates as people write them: `500/s`, `100/m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A count per period. Rate limits apply per replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub count: u32,
    /// A second, a minute or an hour.
    pub per: Duration,
}

impl Rate {
    /// The highest count that may be configured; a higher one would not be a limit.
    pub const COUNT_MAX: u32 = 1_000_000;

    /// The average per second.
    pub fn per_second(self) -> f64 {
        f64::from(self.count) / self.per.as_secs_f64()
    }
}

/// The string is not a rate.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a rate: write how many (1 to 1000000) per s, m or h, such as \"500/s\" or \"100/m\"")]
pub struct NotARate(String);

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NotARate(text.to_owned());
        let (count, unit) = text.split_once('/').ok_or_else(refused)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err(refused()),
        };
        let count = count
            .parse()
            .ok()
            .filter(|count| (1..=Self::COUNT_MAX).contains(count) && !text.starts_with('+'));
        Ok(Self {
            count: count.ok_or_else(refused)?,
            per: Duration::from_secs(seconds),
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per.as_secs() {
            60 => "m",
            3600 => "h",
            _ => "s",
        };
        write!(formatter, "{}/{unit}", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_back_as_they_were_written() {
        for (text, per_second) in [("500/s", 500.0), ("120/m", 2.0), ("3600/h", 1.0)] {
            let rate: Rate = text.parse().unwrap();
            assert!((rate.per_second() - per_second).abs() < f64::EPSILON);
            assert_eq!(rate.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_rate_is_refused_with_what_to_write() {
        for text in [
            "",
            "500",
            "/s",
            "0/s",
            "-1/s",
            "+1/s",
            "5/d",
            "1.5/s",
            "1000001/s",
            "5/ s",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert!(
            "500"
                .parse::<Rate>()
                .unwrap_err()
                .to_string()
                .contains("\"500/s\"")
        );
    }
}
