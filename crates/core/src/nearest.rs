//! The nearest known word to one that is not known: how a mistyped name is answered.

/// A suggestion is at most this many letters away.
const NEAR: usize = 2;

/// The known word that is nearest, if it is near enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().map(|name| (distance(given, name), name)).min();
    near.filter(|(far, _)| *far <= NEAR).map(|(_, name)| name)
}

/// What to say of a name that is not known: the nearest that is, then all of them.
pub fn unknown<'a>(
    field: &str,
    given: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let near = nearest(given, known.clone());
    let all: Vec<&str> = known.into_iter().collect();
    match near {
        _ if all.is_empty() => format!("{field}: there is no {given:?}; none is set up"),
        Some(name) => format!(
            "{field}: there is no {given:?}; did you mean {name:?}? Known: {}",
            all.join(", ")
        ),
        None => format!("{field}: there is no {given:?}; known: {}", all.join(", ")),
    }
}

/// How many letters must be changed, added or left out to make one word of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_one() {
        let known = ["opencode", "process"];
        let say = |given: &str| unknown("host", given, known.iter().copied());
        assert_eq!(
            say("proces"),
            "host: there is no \"proces\"; did you mean \"process\"? Known: opencode, process"
        );
        assert_eq!(say("emacs"), "host: there is no \"emacs\"; known: opencode, process");
        assert_eq!(unknown("host", "x", []), "host: there is no \"x\"; none is set up");
    }

    #[test]
    fn words_are_as_far_apart_as_letters_differ() {
        for (from, to, far) in
            [("", "ab", 2), ("abc", "abc", 0), ("abc", "acb", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(from, to), far, "{from} {to}");
        }
    }
}
