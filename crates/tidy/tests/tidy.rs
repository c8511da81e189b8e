//! The house rules, held against the workspace as it is. A failure names file and line and what to do.

use homing_tidy::file::RustFile;
use homing_tidy::{
    Finding, arrows, cargo, parity, prose, purity, report, scenarios, shape, wildcards, words,
    workspace,
};
use std::io;

#[test]
fn crates_depend_only_along_the_arrows() {
    let root = workspace::root();
    let packages = cargo::packages(&root).unwrap();
    let mut findings = Vec::new();
    for arrow in arrows::arrows(&root, &packages) {
        if let Some(what) = arrows::check(&arrow) {
            let manifest = format!("crates/{}/Cargo.toml", arrow.from);
            let text = workspace::read(&root, &manifest).unwrap();
            findings.push(arrows::locate(&arrow, &text, what));
        }
    }
    for package in &packages {
        let directory = package.manifest_path.parent().and_then(|path| path.file_name()).unwrap();
        let directory = directory.to_string_lossy();
        let what = arrows::unknown(&directory);
        findings.extend(
            what.map(|what| Finding::new(format!("crates/{directory}/Cargo.toml"), 1, what)),
        );
    }
    assert!(packages.iter().any(|package| package.name == "homing-core"));
    tidy(findings);
}

#[test]
fn the_core_is_pure() {
    let files = rust_files().unwrap();
    let core = |file: &&RustFile| file.path().starts_with("crates/core/src/");
    let mut findings: Vec<_> = files.iter().filter(core).flat_map(purity::check_names).collect();
    findings.extend(purity::check_forbids_unsafe(
        files.iter().find(|file| purity::is_lib(file.path())),
    ));
    let tree = cargo::tree(&workspace::root(), "homing-core").unwrap();
    assert!(tree.starts_with("0homing-core "), "{tree}");
    findings.extend(purity::check_tree(&tree));
    tidy(findings);
}

#[test]
fn files_and_functions_are_short_and_files_say_what_they_own() {
    tidy(rust_files().unwrap().iter().flat_map(shape::check).collect());
}

#[test]
fn every_row_for_those_who_move_over_names_a_test() {
    let table = workspace::read(&workspace::root(), parity::TABLE).unwrap();
    tidy(parity::check(&table, &rust_files().unwrap()));
}

#[test]
fn names_of_files_say_what_is_inside() {
    let files = workspace::files(&workspace::root()).unwrap();
    tidy(files.iter().filter_map(|path| shape::empty_name(path)).collect());
}

#[test]
fn nothing_is_unfinished_silenced_skipped_unwrapped_or_slept_over() {
    tidy(rust_files().unwrap().iter().flat_map(words::check).collect());
}

#[test]
fn the_transition_table_has_no_catch_all() {
    let files = rust_files().unwrap();
    let table: Vec<_> = files.iter().filter(|file| wildcards::is_table(file.path())).collect();
    assert!(!table.is_empty(), "{}.rs: not there, so nothing was checked", wildcards::TABLE);
    tidy(table.into_iter().flat_map(wildcards::check).collect());
}

#[test]
fn every_file_that_the_architecture_names_exists() {
    let root = workspace::root();
    let text = workspace::read(&root, "ARCHITECTURE.md").unwrap();
    tidy(prose::missing_paths("ARCHITECTURE.md", &text, |path| root.join(path).exists()));
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let root = workspace::root();
    let files = workspace::files(&root).unwrap();
    let documents = files
        .iter()
        .filter(|path| path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/")));
    let mut findings = Vec::new();
    for path in documents {
        let text = workspace::read(&root, path).unwrap();
        findings.extend(prose::broken_links(path, &text, |target| root.join(target).exists()));
    }
    tidy(findings);
}

#[test]
fn the_list_of_scenarios_is_whole() {
    let list = workspace::read(&workspace::root(), scenarios::LIST).unwrap();
    let scenarios =
        scenarios::parse(&list).unwrap_or_else(|findings| panic!("\n{}", report(findings)));
    let table = scenarios::table(&scenarios, &[]);
    let counts = table.lines().filter_map(|line| line.split(" (").next());
    let counts: Vec<_> = counts.filter(|line| line.contains(" of ")).collect();
    let expected = [
        "L 0 of 17, 0 of 9 on real processes",
        "T 0 of 25, 0 of 4 on real processes",
        "B 0 of 11, 0 of 6 on real processes",
        "C 0 of 8, 0 of 7 on real processes",
        "A 0 of 4",
        "F 0 of 5, 0 of 3 on real processes",
        "N 0 of 20, 0 of 14 on real processes",
        "U 0 of 7",
        "G 0 of 23, 0 of 1 on real processes",
        "R 0 of 9, 0 of 8 on real processes",
    ];
    assert_eq!(counts, expected);
}

#[test]
fn every_scenario_that_can_be_shown_has_a_test() {
    let list = workspace::read(&workspace::root(), scenarios::LIST).unwrap();
    let scenarios =
        scenarios::parse(&list).unwrap_or_else(|findings| panic!("\n{}", report(findings)));
    let shown = scenarios::shown(&rust_files().unwrap());
    tidy(scenarios::check(&scenarios, &shown));
}

fn rust_files() -> io::Result<Vec<RustFile>> {
    let root = workspace::root();
    let found = workspace::rust_files(&root, &workspace::files(&root)?)?;
    assert!(found.iter().any(|file| file.path() == "crates/core/src/lib.rs"));
    Ok(found)
}

fn tidy(findings: Vec<Finding>) {
    assert!(findings.is_empty(), "\n{}", report(findings));
}
