//! Which scenario has a test, and which has one on real processes. The list is `docs/scenarios.txt`; a test shows
//! a scenario by beginning its name with the id, `fn l1_…`, or with several, `fn n8_g20_…`.

use crate::Finding;
use crate::file::RustFile;
use crate::items::functions;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where the list is.
pub const LIST: &str = "docs/scenarios.txt";

/// A scenario's id: a letter and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    letter: char,
    number: u32,
}

impl Id {
    fn parse(text: &str) -> Option<Self> {
        let mut chars = text.chars();
        let letter = chars.next().filter(char::is_ascii_alphabetic)?.to_ascii_uppercase();
        let digits = chars.as_str();
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let number = digits.parse().ok().filter(|_| plain)?;
        Some(Self { letter, number })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.number)
    }
}

/// Where a scenario is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// By the pure core.
    Core,
    /// By the loop with scripted parts around it.
    Runtime,
    /// Only with a real part, which it names.
    Later(String),
}

impl Where {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "core" => Some(Self::Core),
            "runtime" => Some(Self::Runtime),
            _ => {
                let part = text.strip_prefix("later:")?.trim();
                (!part.is_empty()).then(|| Self::Later(part.to_owned()))
            }
        }
    }
}

/// Whether a scenario is to be shown on something real, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Real {
    /// Nobody asks for it.
    No,
    Yes,
    /// It cannot show it, and why.
    Cannot(String),
}

/// Folders whose tests run real commands under real shims, mostly below a real daemon.
const REAL: [&str; 2] = ["crates/cli/tests/", "crates/hosts/tests/"];
/// The folder whose tests run children and parents on the real OpenCode.
const OPENCODE: &str = "crates/cli/tests/agents/opencode/";

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Its id.
    pub id: Id,
    /// Where it is to be shown.
    pub place: Where,
    /// Whether on real processes besides.
    pub process: Real,
    /// Whether on the real OpenCode besides.
    pub opencode: Real,
    /// The line of the list, from 1.
    pub line: usize,
}

/// Reads the list: `ID | where | phrase`, a `#` begins a remark. Numbers of a letter go up by one.
pub fn parse(list: &str) -> Result<Vec<Scenario>, Vec<Finding>> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut findings = Vec::new();
    let lines = list.lines().enumerate().map(|(index, text)| (index + 1, text.trim()));
    for (line, text) in lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
        match parse_line(text, scenarios.last().map(|scenario| scenario.id)) {
            Ok(scenario) => scenarios.push(Scenario { line, ..scenario }),
            Err(what) => findings.push(Finding::new(LIST, line, what)),
        }
    }
    if findings.is_empty() { Ok(scenarios) } else { Err(findings) }
}

fn parse_line(text: &str, previous: Option<Id>) -> Result<Scenario, &'static str> {
    let columns: Vec<&str> = text.splitn(3, '|').map(str::trim).collect();
    let [id, place, phrase] = columns.as_slice() else {
        return Err("write `ID | where | phrase`");
    };
    let id = Id::parse(id).ok_or("an id is a letter and a number, as `L1`")?;
    let mut parts = place.split('+').map(str::trim);
    let place = parts.next().and_then(Where::parse);
    let place = place.ok_or("where is `core`, `runtime` or `later: <what it needs>`")?;
    let (mut process, mut opencode) = (Real::No, Real::No);
    for part in parts {
        if let Some(real) = on("process", part) {
            process = real;
        } else if let Some(real) = on("opencode", part) {
            opencode = real;
        } else {
            return Err(
                "after a + comes `process`, `opencode`, or one of them as `no process: <why>`",
            );
        }
    }
    let next =
        previous.filter(|previous| previous.letter == id.letter).map_or(1, |id| id.number + 1);
    if id.number != next {
        return Err("the numbers of a letter begin at 1 and go up by one");
    }
    if phrase.is_empty() {
        return Err("say the scenario in a few words");
    }
    Ok(Scenario { id, place, process, opencode, line: 0 })
}

/// `process`, or `no process: <why>`.
fn on(what: &str, part: &str) -> Option<Real> {
    if part == what {
        return Some(Real::Yes);
    }
    let why = part.strip_prefix("no ")?.strip_prefix(what)?.strip_prefix(':')?.trim();
    (!why.is_empty()).then(|| Real::Cannot(why.to_owned()))
}

/// A test that shows scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The scenario.
    pub id: Id,
    /// The file of the test.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

/// All scenarios that tests of these files name.
pub fn shown(files: &[RustFile]) -> Vec<Shown> {
    let mut found = Vec::new();
    for file in files {
        for function in functions(&file.source).into_iter().filter(|function| function.is_test) {
            let line = file.source.line_of(function.range.start);
            let ids = ids_of(&function.name);
            found.extend(ids.map(|id| Shown { id, file: file.path().to_owned(), line }));
        }
    }
    found
}

/// The ids at the start of a test's name. The last part of a name is never one.
fn ids_of(name: &str) -> impl Iterator<Item = Id> {
    let parts = name.split('_').collect::<Vec<_>>();
    let count = parts.len().saturating_sub(1);
    parts.into_iter().take(count).map_while(Id::parse)
}

/// Scenarios that could be shown and are not, and tests that name a scenario nobody wrote down.
pub fn check(scenarios: &[Scenario], shown: &[Shown]) -> Vec<Finding> {
    let known: BTreeSet<Id> = scenarios.iter().map(|scenario| scenario.id).collect();
    let tested: BTreeSet<Id> = shown.iter().map(|test| test.id).collect();
    let mut missing: BTreeMap<char, Vec<&Scenario>> = BTreeMap::new();
    for scenario in scenarios.iter().filter(|scenario| is_missing(scenario, &tested)) {
        missing.entry(scenario.id.letter).or_default().push(scenario);
    }
    let missing = missing.into_values().map(|of_letter| {
        let ids: Vec<_> = of_letter.iter().map(|scenario| scenario.id.to_string()).collect();
        let name = ids[0].to_lowercase();
        let what = format!("no test for {}: write test fns `{name}_…`", ids.join(", "));
        Finding::new(LIST, of_letter[0].line, what)
    });
    let unknown = shown.iter().filter(|test| !known.contains(&test.id)).map(|test| {
        let what = format!("the test names {}, which is not in {LIST}: rename it", test.id);
        Finding::new(&test.file, test.line, what)
    });
    missing.chain(unreal(scenarios, shown)).chain(unknown).collect()
}

/// Scenarios that are to be shown on something real and are not, and those that are said to be impossible and are.
fn unreal(scenarios: &[Scenario], shown: &[Shown]) -> Vec<Finding> {
    let (real, opencode) = (really(shown), on_opencode(shown));
    let wrong = scenarios.iter().flat_map(|scenario| {
        let id = scenario.id;
        let on = |asked: &Real, shown: bool, name: &str, word: &str| match (asked, shown) {
            (Real::Yes, false) => Some(format!("no test shows {id} on {name}")),
            (Real::Cannot(_), true) => Some(format!("{id} is shown on {name}: say `+ {word}`")),
            (Real::No | Real::Yes | Real::Cannot(_), _) => None,
        };
        let process = on(&scenario.process, real.contains(&id), "real processes", "process");
        let opencode = on(&scenario.opencode, opencode.contains(&id), OPENCODE, "opencode");
        let found = process.into_iter().chain(opencode);
        found.map(|what| Finding::new(LIST, scenario.line, what)).collect::<Vec<_>>()
    });
    wrong.collect()
}

fn on_opencode(shown: &[Shown]) -> BTreeSet<Id> {
    shown.iter().filter(|test| is_on_opencode(test)).map(|test| test.id).collect()
}

/// What tests in the folders of real commands show.
fn really(shown: &[Shown]) -> BTreeSet<Id> {
    let real = |test: &&Shown| {
        REAL.iter().any(|folder| test.file.starts_with(folder)) && !is_on_opencode(test)
    };
    shown.iter().filter(real).map(|test| test.id).collect()
}

fn is_on_opencode(test: &Shown) -> bool {
    test.file.starts_with(OPENCODE)
}

fn is_missing(scenario: &Scenario, tested: &BTreeSet<Id>) -> bool {
    let later = matches!(scenario.place, Where::Later(_));
    !later && !tested.contains(&scenario.id)
}

/// One line per letter: `L 15 of 17, 8 of 9 on real processes (missing: L3; later: L14)`; then what a process or OpenCode
/// cannot show, with the reason.
pub fn table(scenarios: &[Scenario], shown: &[Shown]) -> String {
    let real = really(shown);
    let tested: BTreeSet<Id> = shown.iter().map(|test| test.id).collect();
    let mut letters: BTreeMap<usize, Vec<&Scenario>> = BTreeMap::new();
    for scenario in scenarios {
        let first = scenarios.iter().position(|other| other.id.letter == scenario.id.letter);
        letters.entry(first.unwrap_or_default()).or_default().push(scenario);
    }
    let opencode = on_opencode(shown);
    let rows = letters.values().map(|of_letter| {
        let on_opencode = of_letter.iter().filter(|one| opencode.contains(&one.id)).count();
        row(of_letter, &tested, &real, on_opencode)
    });
    let cannot = scenarios.iter().flat_map(|scenario| {
        let on = [("a process", &scenario.process), ("OpenCode", &scenario.opencode)];
        on.into_iter().filter_map(|(who, real)| match real {
            Real::Cannot(why) => Some(format!("{}: {who} cannot show it: {why}\n", scenario.id)),
            Real::No | Real::Yes => None,
        })
    });
    rows.chain(cannot).collect()
}

fn row(
    of_letter: &[&Scenario],
    tested: &BTreeSet<Id>,
    real: &BTreeSet<Id>,
    on_opencode: usize,
) -> String {
    let letter = of_letter.first().map_or(' ', |scenario| scenario.id.letter);
    let scenarios = of_letter.iter().copied();
    let (done, open): (Vec<&Scenario>, Vec<&Scenario>) =
        scenarios.partition(|scenario| tested.contains(&scenario.id));
    let (missing, later): (Vec<&Scenario>, Vec<&Scenario>) =
        open.into_iter().partition(|scenario| is_missing(scenario, tested));
    let name = |label: &str, list: Vec<&Scenario>| {
        let ids: Vec<_> = list.iter().map(|scenario| scenario.id.to_string()).collect();
        (!ids.is_empty()).then(|| format!("{label}: {}", ids.join(", ")))
    };
    let asked: Vec<&Scenario> =
        of_letter.iter().copied().filter(|one| one.process == Real::Yes).collect();
    let (shown, unreal): (Vec<&Scenario>, Vec<&Scenario>) =
        asked.iter().partition(|scenario| real.contains(&scenario.id));
    let notes: Vec<_> =
        [name("missing", missing), name("later", later), name("not on real processes", unreal)]
            .into_iter()
            .flatten()
            .collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    let really = match asked.len() {
        0 => String::new(),
        all => format!(", {} of {all} on real processes", shown.len()),
    };
    let opencode = match on_opencode {
        0 => String::new(),
        some => format!(", {some} on OpenCode"),
    };
    format!("{letter} {} of {}{really}{opencode}{notes}\n", done.len(), of_letter.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "# remark\nL1 | core | one\nL2 | runtime | two\nL3 | later: a host | three\n\nA1 | core | one\n";

    fn tests_named(names: &[&str]) -> Vec<Shown> {
        let text: String =
            names.iter().map(|name| format!("#[test]\nfn {name}() {{}}\n")).collect();
        shown(&[RustFile::new("crates/x/tests/a.rs", text)])
    }

    fn found(names: &[&str]) -> Vec<String> {
        check(&parse(SMALL).unwrap(), &tests_named(names)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_scenario_without_a_test_is_found() {
        let expected = "docs/scenarios.txt:3: no test for L2: write test fns `l2_…`";
        assert_eq!(found(&["l1_a", "a1_b"]), [expected]);
        let expected = "docs/scenarios.txt:2: no test for L1, L2: write test fns `l1_…`";
        assert_eq!(found(&["a1_b"]), [expected]);
        assert_eq!(found(&["l1_l2_both", "a1_b"]), [""; 0]);
    }

    #[test]
    fn a_test_of_an_unknown_scenario_is_found() {
        let found = found(&["l1_a", "l2_b", "a1_c", "l4_d"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/x/tests/a.rs:8: the test names L4"), "{found:?}");
    }

    #[test]
    fn only_tests_show_a_scenario_and_only_by_the_start_of_their_name() {
        let files = [RustFile::new("a.rs", "fn l1_a() {}\n#[tokio::test]\nasync fn t19_b() {}")];
        let ids: Vec<_> = shown(&files).iter().map(|test| test.id.to_string()).collect();
        assert_eq!(ids, ["T19"]);
        assert_eq!(tests_named(&["the_l1_case", "level1_x", "l01_x", "l1", "l_1"]), []);
    }

    #[test]
    fn a_list_that_is_not_well_formed_is_found() {
        for (list, line) in [
            ("L1 | core | a\nL3 | core | b", 2),
            ("L2 | core | a", 1),
            ("L1 | core | a\nL1 | core | b", 2),
            ("L1 | somewhere | a", 1),
            ("L1 | later: | a", 1),
            ("L1 | core |", 1),
            ("L1 core a", 1),
            ("L1 | core + real | a", 1),
            ("L1 | core + no process: | a", 1),
            ("one | core | a", 1),
        ] {
            let findings = parse(list).unwrap_err();
            assert_eq!((findings.len(), findings[0].line), (1, line), "{list}");
        }
    }

    #[test]
    fn what_is_to_be_shown_on_opencode_is_missed_and_what_cannot_be_is_said() {
        let list = "L1 | core + process + opencode | one\n\
                    L2 | core + no opencode: it cannot | two\n";
        let scenarios = parse(list).unwrap();
        let text = "#[test]\nfn l1_l2_a() {}\n";
        let on = |folder: &str| shown(&[RustFile::new(format!("{folder}a.rs"), text)]);
        let found = |folder: &str| -> Vec<String> {
            check(&scenarios, &on(folder)).iter().map(ToString::to_string).collect()
        };
        let process = "docs/scenarios.txt:1: no test shows L1 on real processes";
        assert_eq!(
            found(OPENCODE),
            [
                process,
                "docs/scenarios.txt:2: L2 is shown on crates/cli/tests/agents/opencode/: say `+ opencode`"
            ]
        );
        let opencode =
            "docs/scenarios.txt:1: no test shows L1 on crates/cli/tests/agents/opencode/";
        assert_eq!(found("crates/cli/tests/cli/"), [opencode]);
        assert!(
            table(&scenarios, &on(OPENCODE)).contains("L2: OpenCode cannot show it: it cannot")
        );
    }

    #[test]
    fn what_is_to_be_shown_on_real_processes_is_counted_and_missed() {
        let list = "L1 | core + process | one\nL2 | core + process | two\n\
                    L3 | core + no process: it calls no tools | three\nA1 | core | one\n";
        let scenarios = parse(list).unwrap();
        let text = |names: &[&str]| -> String {
            names.iter().map(|name| format!("#[test]\nfn {name}() {{}}\n")).collect()
        };
        let pure = text(&["l1_a", "l2_b", "l3_c", "a1_d"]);
        let files = |real: &[&str]| {
            let files = [
                RustFile::new("crates/core/tests/a.rs", pure.clone()),
                RustFile::new("crates/cli/tests/cli/real/a.rs", text(real)),
            ];
            shown(&files)
        };
        assert_eq!(check(&scenarios, &files(&["l1_a", "l2_b"])), []);
        let found = check(&scenarios, &files(&["l1_a", "l3_c"]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(":2: no test shows L2 on real processes"), "{found:?}");
        assert!(found[1].contains(":3: L3 is shown on real processes"), "{found:?}");
        let elsewhere = [RustFile::new("crates/cli/tests/agents/opencode/a.rs", text(&["l3_c"]))];
        let found: Vec<Shown> =
            files(&["l1_a", "l2_b"]).into_iter().chain(shown(&elsewhere)).collect();
        assert_eq!(check(&scenarios, &found), []);
        assert!(
            table(&scenarios, &found)
                .starts_with("L 3 of 3, 2 of 2 on real processes, 1 on OpenCode\n")
        );
        assert_eq!(
            table(&scenarios, &files(&["l1_a"])),
            "L 3 of 3, 1 of 2 on real processes (not on real processes: L2)\nA 1 of 1\n\
             L3: a process cannot show it: it calls no tools\n"
        );
    }

    #[test]
    fn the_table_says_what_is_shown_missing_and_later() {
        let table = table(&parse(SMALL).unwrap(), &tests_named(&["l1_a", "a1_b"]));
        assert_eq!(table, "L 1 of 3 (missing: L2; later: L3)\nA 1 of 1\n");
    }
}
