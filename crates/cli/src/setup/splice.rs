//! Puts one entry into a JSON file of somebody else's without touching anything around it: comments, order, indentation
//! and trailing commas stay as they are. What is not understood is left alone, and said.

use std::ops::Range;

/// Where members of an object lie in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    /// From its brace to its brace.
    span: Range<usize>,
    members: Vec<Member>,
    /// A comma stands after the last member.
    trailing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    key: String,
    start: usize,
    value: Range<usize>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spliced {
    /// The whole text, and the piece that was put in.
    New { text: String, piece: Range<usize> },
    /// It was there, the same.
    There,
    /// Something else was there under this name.
    Other { was: String },
}

/// Puts `"key": value` into the object `section` of the text's object; makes the section where there is none. `value` is
/// JSON of one line.
pub fn splice(text: &str, section: &str, key: &str, value: &str) -> Result<Spliced, String> {
    if text.trim().is_empty() {
        let text = format!("{{\n  \"{section}\": {{\n    \"{key}\": {value}\n  }}\n}}\n");
        let piece = 0..text.len();
        return Ok(Spliced::New { text, piece });
    }
    let root = Scan { text, at: 0 }.whole()?;
    let indent = indent_of(text, &root);
    let Some(member) = root.members.iter().find(|member| member.key == section) else {
        let entry = format!("\"{section}\": {{\n{indent}{indent}\"{key}\": {value}\n{indent}}}");
        return Ok(put(text, &root, (&indent, ""), &entry));
    };
    let mut scan = Scan { text, at: member.value.start };
    let Some(inside) = scan.object()? else {
        return Err(format!("{section:?} is not an object"));
    };
    if let Some(known) = inside.members.iter().find(|member| member.key == key) {
        let was = &text[known.value.clone()];
        return Ok(match plain(was) == plain(value) {
            true => Spliced::There,
            false => Spliced::Other { was: was.to_owned() },
        });
    }
    let entry = format!("\"{key}\": {value}");
    Ok(put(text, &inside, (&format!("{indent}{indent}"), &indent), &entry))
}

/// Without what does not matter to a reader: blanks outside of strings.
fn plain(text: &str) -> String {
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for each in text.chars() {
        if !quoted && each.is_whitespace() {
            continue;
        }
        quoted ^= each == '"' && !escaped;
        escaped = each == '\\' && !escaped;
        out.push(each);
    }
    out
}

/// As the last member of an object; how far its members stand from the left, and its end.
fn put(text: &str, into: &Object, (indent, outer): (&str, &str), entry: &str) -> Spliced {
    let (at, before, after) = match into.members.last() {
        Some(_) if into.trailing => (last_comma(text, into) + 1, format!("\n{indent}"), ","),
        Some(last) => (last.value.end, format!(",\n{indent}"), ""),
        None => {
            let piece = format!("\n{indent}{entry}\n{outer}");
            return new(text, into.span.start + 1, &piece);
        }
    };
    new(text, at, &format!("{before}{entry}{after}"))
}

fn new(text: &str, at: usize, piece: &str) -> Spliced {
    let text = format!("{}{piece}{}", &text[..at], &text[at..]);
    Spliced::New { text, piece: at..at + piece.len() }
}

fn last_comma(text: &str, into: &Object) -> usize {
    let from = into.members.last().map_or(into.span.start, |last| last.value.end);
    let mut scan = Scan { text, at: from };
    scan.blank();
    scan.at
}

/// How far the members of the outermost object stand from the left.
fn indent_of(text: &str, root: &Object) -> String {
    let first = root.members.first().map(|first| first.start);
    let line = first.and_then(|start| text[..start].rsplit_once('\n')).map(|(_, line)| line);
    let blank = line.filter(|line| !line.is_empty() && line.chars().all(char::is_whitespace));
    blank.unwrap_or("  ").to_owned()
}

/// Reads JSON with comments and trailing commas, as editors write it.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn wrong(&self, what: &str) -> String {
        let line = self.text[..self.at].lines().count().max(1);
        format!("line {line}: {what}")
    }

    /// Skips blanks and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let after =
                rest.trim_start_matches(|each: char| each.is_whitespace() || each == '\u{feff}');
            let mut skipped = rest.len() - after.len();
            if after.starts_with("//") {
                skipped += after.find('\n').unwrap_or(after.len());
            } else if after.starts_with("/*") {
                skipped += after.find("*/").map_or(after.len(), |end| end + 2);
            }
            if skipped == 0 {
                return;
            }
            self.at += skipped;
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.blank();
        let there = self.next() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    fn whole(mut self) -> Result<Object, String> {
        self.blank();
        let Some(root) = self.object()? else {
            return Err(self.wrong("it does not begin with {"));
        };
        self.blank();
        if self.rest().is_empty() { Ok(root) } else { Err(self.wrong("something follows its end")) }
    }

    /// None when something else stands here.
    fn object(&mut self) -> Result<Option<Object>, String> {
        self.blank();
        let start = self.at;
        if !self.eat('{') {
            return Ok(None);
        }
        let (mut members, mut trailing) = (Vec::new(), false);
        loop {
            if self.eat('}') {
                return Ok(Some(Object { span: start..self.at, members, trailing }));
            }
            if !members.is_empty() && !trailing {
                return Err(self.wrong("a comma is missing"));
            }
            self.blank();
            let begin = self.at;
            let key = self.string()?;
            if !self.eat(':') {
                return Err(self.wrong("a colon is missing"));
            }
            self.blank();
            let value = self.at;
            self.value()?;
            members.push(Member { key, start: begin, value: value..self.at });
            trailing = self.eat(',');
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        if self.next() != Some('"') {
            return Err(self.wrong("a name in quotes is missing"));
        }
        let mut escaped = false;
        for (place, each) in self.rest().char_indices().skip(1) {
            if each == '"' && !escaped {
                self.at += place + 1;
                let raw = &self.text[start..self.at];
                return serde_json::from_str(raw).map_err(|why| self.wrong(&why.to_string()));
            }
            escaped = each == '\\' && !escaped;
        }
        Err(self.wrong("a quote is not closed"))
    }

    fn value(&mut self) -> Result<(), String> {
        if self.object()?.is_some() {
            return Ok(());
        }
        if self.eat('[') {
            let mut more = true;
            while !self.eat(']') {
                if !more {
                    return Err(self.wrong("a comma is missing"));
                }
                self.blank();
                self.value()?;
                more = self.eat(',');
            }
            return Ok(());
        }
        if self.next() == Some('"') {
            return self.string().map(drop);
        }
        let word = self.rest().find([',', '}', ']', '/', ' ', '\t', '\r', '\n']);
        let word = word.unwrap_or(self.rest().len());
        let known = serde_json::from_str::<serde_json::Value>(&self.rest()[..word]).is_ok();
        if !known {
            return Err(self.wrong("this is no value"));
        }
        self.at += word;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = r#"{"command":"homing"}"#;

    fn spliced(text: &str) -> String {
        match splice(text, "mcp", "homing", VALUE).unwrap() {
            Spliced::New { text: new, piece } => {
                let mut without = new.clone();
                without.replace_range(piece, "");
                if !text.trim().is_empty() {
                    assert_eq!(without, text, "without the piece it is as before");
                }
                new
            }
            other @ (Spliced::There | Spliced::Other { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_entry_is_put_in_and_nothing_else_is_touched() {
        for (text, expected) in [
            ("", "{\n  \"mcp\": {\n    \"homing\": {\"command\":\"homing\"}\n  }\n}\n"),
            ("{}", "{\n  \"mcp\": {\n    \"homing\": {\"command\":\"homing\"}\n  }\n}"),
            (
                "{\n\t\"a\": [1, {\"b\": \"}\\\"\"}]\n}\n",
                "{\n\t\"a\": [1, {\"b\": \"}\\\"\"}],\n\t\"mcp\": {\n\t\t\"homing\": {\"command\":\"homing\"}\n\t}\n}\n",
            ),
            (
                "{\n  // mine\n  \"mcp\": {\n    \"x\": {}, /* last */\n  },\n  \"z\": null,\n}",
                "{\n  // mine\n  \"mcp\": {\n    \"x\": {},\n    \"homing\": {\"command\":\"homing\"}, /* last */\n  },\n  \"z\": null,\n}",
            ),
            (
                "{\"mcp\":{\"x\":1}}",
                "{\"mcp\":{\"x\":1,\n    \"homing\": {\"command\":\"homing\"}}}",
            ),
            (
                "{\n  \"mcp\": {}\n}",
                "{\n  \"mcp\": {\n    \"homing\": {\"command\":\"homing\"}\n  }\n}",
            ),
        ] {
            assert_eq!(spliced(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_there_stays() {
        let there = "{\"mcp\": {\"homing\": { \"command\" : \"homing\" }}}";
        assert_eq!(splice(there, "mcp", "homing", VALUE), Ok(Spliced::There));
        let other = "{\"mcp\": {\"homing\": {\"command\": \"mine\"}}}";
        assert!(matches!(splice(other, "mcp", "homing", VALUE), Ok(Spliced::Other { .. })));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "[]",
            "{",
            "{\"a\": }",
            "{\"a\": 1 \"b\": 2}",
            "{a: 1}",
            "{\"mcp\": []}",
            "{} {}",
            "{\"a\": \"x}",
            "nonsense",
            "{\"a\": tru}",
            "{\"a\": [1 2]}",
            "\u{0}",
        ] {
            assert!(splice(text, "mcp", "homing", VALUE).is_err(), "{text}");
        }
    }
}
