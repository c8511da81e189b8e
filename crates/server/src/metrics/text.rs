//! The text format that Prometheus reads, version 0.0.4: each family once with its help and its type, then its values.

use std::fmt::Write;

use homing_runtime::figures::Spread;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Values of one name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// A page in the making.
#[derive(Default)]
pub(crate) struct Page(String);

impl Page {
    /// Begins a family; its values follow before the next one begins.
    pub(crate) fn family(&mut self, family: &Family) -> Values<'_> {
        let Family { name, kind, labels, help } = *family;
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {}", kind.word()));
        Values { page: self, name, labels }
    }

    pub(crate) fn done(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // A text takes whatever is written to it.
        let _ = writeln!(self.0, "{line}");
    }
}

/// The values of one family.
pub(crate) struct Values<'a> {
    page: &'a mut Page,
    name: &'static str,
    labels: &'static [&'static str],
}

impl Values<'_> {
    /// One value; its labels in the order that the family names them.
    pub(crate) fn value(&mut self, labels: &[&str], value: u64) {
        let labels = braced(&self.pairs(labels));
        self.page.line(format_args!("{}{labels} {value}", self.name));
    }

    pub(crate) fn number(&mut self, value: f64) {
        self.page.line(format_args!("{} {value}", self.name));
    }

    /// `each`: how many of what was counted are one.
    pub(crate) fn spread(&mut self, labels: &[&str], spread: &Spread, each: f64) {
        let name = self.name;
        let pairs = self.pairs(labels);
        let mut all = 0;
        for (bound, count) in spread.at_most() {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| in_units(bound, each));
            let mut pairs = pairs.clone();
            pairs.push(format!("le=\"{bound}\""));
            self.page.line(format_args!("{name}_bucket{} {count}", braced(&pairs)));
            all = count;
        }
        let labels = braced(&pairs);
        self.page.line(format_args!("{name}_sum{labels} {}", in_units(spread.sum(), each)));
        self.page.line(format_args!("{name}_count{labels} {all}"));
    }

    fn pairs(&self, values: &[&str]) -> Vec<String> {
        debug_assert_eq!(self.labels.len(), values.len(), "{}", self.name);
        let pair = |(label, value): (&&str, &&str)| format!("{label}=\"{}\"", escaped(value));
        self.labels.iter().zip(values).map(pair).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people and graphs")]
fn in_units(count: u64, each: f64) -> String {
    (count as f64 / each).to_string()
}

fn braced(pairs: &[String]) -> String {
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_itself() {
        const ODD: Family =
            Family { name: "odd", kind: Kind::Gauge, labels: &["key"], help: "Odd." };
        let mut page = Page::default();
        page.family(&ODD).value(&["a\"} 1\nb\\"], 2);
        let expected = "# HELP odd Odd.\n# TYPE odd gauge\nodd{key=\"a\\\"} 1\\nb\\\\\"} 2\n";
        assert_eq!(page.done(), expected);
    }
}
