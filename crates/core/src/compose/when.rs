//! Times and durations as people write them. No time zone but UTC, no clock.

const DAY_MS: i64 = 86_400_000;
/// Days of four hundred years: the calendar repeats after them.
const CYCLE_DAYS: i64 = 146_097;

/// `2026-11-20T10:00:00Z`, from milliseconds since the epoch.
pub fn iso(wall_ms: i64) -> String {
    let (year, month, day) = date(wall_ms.div_euclid(DAY_MS));
    let seconds = wall_ms.rem_euclid(DAY_MS) / 1_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day, counted from 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let from_2000 = days - 10_957;
    let mut year = 2000 + from_2000.div_euclid(CYCLE_DAYS) * 400;
    let mut left = from_2000.rem_euclid(CYCLE_DAYS);
    while left >= days_of_year(year) {
        left -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while left >= days_of_month(year, month) {
        left -= days_of_month(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_year(year: i64) -> i64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `820ms`, `3s`, `1m 05s`, `2h 03m`.
pub fn lasting(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600.. => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_at_the_edges_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_799_999, "2000-02-29T23:59:59Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_800_000_000_000, "2027-01-15T08:00:00Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-2_208_988_800_000, "1900-01-01T00:00:00Z"),
        ] {
            assert_eq!(iso(ms), text);
        }
    }

    #[test]
    fn durations_keep_two_places() {
        let all = [0, 820, 3_000, 65_000, 3_599_999, 7_380_000].map(lasting);
        assert_eq!(all, ["0ms", "820ms", "3s", "1m 05s", "59m 59s", "2h 03m"]);
    }
}
