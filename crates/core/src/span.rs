//! Times as people write them: a number and its unit. A bare number is refused: nobody knows its unit.

use std::time::Duration;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// `300ms`, `30s`, `5m`, `2h`, `1d`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("write a number and its unit: 300ms, 30s, 5m, 2h or 1d".to_owned());
    }
    let Some((_, ms)) = UNITS.iter().find(|(known, _)| *known == unit) else {
        let what = if unit.is_empty() {
            "it has no unit".to_owned()
        } else {
            format!("{unit:?} is no unit")
        };
        return Err(format!("{what}: write 300ms, 30s, 5m, 2h or 1d"));
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(*ms)) {
        Some(0) => Err("it is no time at all".to_owned()),
        Some(ms) => Ok(Duration::from_millis(ms)),
        None => Err("it is longer than can be counted".to_owned()),
    }
}

/// As `parse` reads it: whole in the largest unit that holds it exactly.
pub fn words(span: Duration) -> String {
    let ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let whole = |unit: &&(&str, u64)| ms >= unit.1 && ms.is_multiple_of(unit.1);
    match UNITS.iter().rev().find(whole) {
        Some((unit, each)) => format!("{}{unit}", ms / each),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        let all = ["300ms", "30s", "5m", "2h", "1d"].map(|text| parse(text).unwrap().as_millis());
        assert_eq!(all, [300, 30_000, 300_000, 7_200_000, 86_400_000]);
    }

    #[test]
    fn what_has_no_unit_or_makes_no_sense_is_refused() {
        for (text, says) in [
            ("30", "no unit"),
            ("30x", "\"x\" is no unit"),
            ("30 s", "\" s\" is no unit"),
            ("", "a number and its unit"),
            ("s", "a number and its unit"),
            ("-1s", "a number and its unit"),
            ("0s", "no time at all"),
            ("99999999999999999999s", "longer than"),
            ("18446744073709551615d", "longer than"),
        ] {
            assert!(parse(text).unwrap_err().contains(says), "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["300ms", "30s", "5m", "2h", "1d", "90s", "1500ms"] {
            assert_eq!(words(parse(text).unwrap()), text);
        }
        assert_eq!(words(Duration::ZERO), "0ms");
    }
}
