//! Sorts the bytes of a Rust file into code, comments and literals. It owns the lexing: strings, raw
//! strings, byte and C strings, chars against lifetimes, nested comments. It never parses items.

use std::ops::Range;

/// What a byte of a source file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// A source file and its views. All three texts have the same length and the same line breaks.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path from the workspace root, with `/`.
    pub path: String,
    /// As written.
    pub text: String,
    /// Code alone; comments and the insides of literals are blank.
    pub code: String,
    /// Comments alone.
    pub comments: String,
    line_starts: Vec<usize>,
}

impl Source {
    /// Sorts `text` into its views.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let kinds = Lexer::new(text.as_bytes()).run();
        let code = view(&text, &kinds, Kind::Code);
        let comments = view(&text, &kinds, Kind::Comment);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { path: path.into(), text, code, comments, line_starts }
    }

    /// The line of a byte offset, from 1.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// The byte range of the line that holds `offset`.
    pub fn line_range(&self, offset: usize) -> Range<usize> {
        let line = self.line_of(offset);
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        start..end
    }

    /// How many lines the file has.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Offsets at which `needle` stands in the code, as a whole word where it begins or ends like one.
    pub fn find_in_code<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
        find_words(&self.code, needle)
    }
}

/// Offsets of `needle` in `text`, where a letter at its edge is not the middle of a longer word.
pub fn find_words<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let opens_word = needle.bytes().next().is_some_and(is_word);
    let ends_word = needle.bytes().last().is_some_and(is_word);
    text.match_indices(needle).map(|(at, _)| at).filter(move |at| {
        let before = at.checked_sub(1).is_some_and(|left| is_word(bytes[left]));
        let after = bytes.get(at + needle.len()).copied().is_some_and(is_word);
        let is_inside = (opens_word && before) || (ends_word && after);
        !is_inside
    })
}

/// Whether a byte can be part of an identifier. Bytes over 127 count: identifiers may hold letters.
pub fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 128
}

/// The offset of the bracket that closes the one at `open`, in text without literals and comments.
pub fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn view(text: &str, kinds: &[Kind], wanted: Kind) -> String {
    let keep = |at: usize, c: char| kinds[at] == wanted || c == '\n' || c == '\r';
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if keep(at, c) {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
    }
    out
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    kinds: Vec<Kind>,
}

impl<'a> Lexer<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, kinds: vec![Kind::Code; bytes.len()] }
    }

    fn run(mut self) -> Vec<Kind> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
                b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
                b'"' => self.string(),
                b'\'' => self.char_or_lifetime(),
                _ if is_word(byte) => self.word(),
                _ => self.at += 1,
            }
        }
        self.kinds
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn mark(&mut self, from: usize, to: usize, kind: Kind) {
        let to = to.min(self.bytes.len());
        self.kinds[from.min(to)..to].fill(kind);
        self.at = to;
    }

    fn line_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.mark(self.at, self.at + length, Kind::Comment);
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        let mut end = self.at;
        while end < self.bytes.len() {
            if self.bytes[end..].starts_with(b"/*") {
                depth += 1;
                end += 2;
            } else if self.bytes[end..].starts_with(b"*/") {
                depth -= 1;
                end += 2;
                if depth == 0 {
                    break;
                }
            } else {
                end += 1;
            }
        }
        self.mark(self.at, end, Kind::Comment);
    }

    /// A string from its opening quote; the quotes stay code, so that `("")` keeps its shape.
    fn string(&mut self) {
        let mut end = self.at + 1;
        while end < self.bytes.len() && self.bytes[end] != b'"' {
            end += if self.bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.mark(self.at + 1, end, Kind::Literal);
        self.at += 1;
    }

    fn raw_string(&mut self, hashes: usize) {
        let open = self.at + hashes + 1;
        let mut close = vec![b'"'];
        close.resize(hashes + 1, b'#');
        let rest = self.bytes.get(open..).unwrap_or_default();
        let length = rest.windows(close.len()).position(|window| window == close);
        let end = length.map_or(self.bytes.len(), |length| open + length);
        self.mark(open, end, Kind::Literal);
        self.at = (end + close.len()).min(self.bytes.len());
    }

    /// `'x'` and `'\n'` are chars; `'a` without a closing quote right after one letter is a lifetime.
    fn char_or_lifetime(&mut self) {
        let inside = self.at + 1;
        let end = match self.peek(1) {
            Some(b'\\') => {
                let rest = self.bytes.get(inside + 2..).unwrap_or_default();
                rest.iter().position(|byte| *byte == b'\'').map(|length| inside + 2 + length)
            }
            Some(first) => {
                let width = match first {
                    0..=0x7f => 1,
                    0x80..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xff => 4,
                };
                (self.peek(1 + width) == Some(b'\'')).then_some(inside + width)
            }
            None => None,
        };
        match end {
            Some(end) => {
                self.mark(inside, end, Kind::Literal);
                self.at += 1;
            }
            None => self.at += 1,
        }
    }

    /// An identifier, a number, or the prefix of a literal: `r"`, `r#"`, `b'`, `br"`, `cr#"`.
    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
        if !matches!(&self.bytes[start..self.at], b"r" | b"br" | b"cr") {
            return;
        }
        let rest = &self.bytes[self.at..];
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        if rest.get(hashes) == Some(&b'"') {
            self.raw_string(hashes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new("a.rs", text).code
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(code(r#"f("x\"}", y)"#), r#"f("    ", y)"#);
        assert_eq!(code("f(\"http://x\") + 1"), "f(\"        \") + 1");
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        assert_eq!(code("r#\"a\"b}\"# }"), "r#\"    \"# }");
        assert_eq!(code("br\"\\\" }"), "br\" \" }");
        assert_eq!(code("let r#type = 1; {"), "let r#type = 1; {");
        assert_eq!(code("for\"x\""), "for\" \"");
    }

    #[test]
    fn chars_are_literals_and_lifetimes_are_code() {
        assert_eq!(code("'{' x"), "' ' x");
        assert_eq!(code(r"'\'' x '\u{7b}'"), r"'  ' x '      '");
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("'é' 'x: loop {}"), "'  ' 'x: loop {}");
        assert_eq!(code("b'\"' }"), "b' ' }");
    }

    #[test]
    fn a_comment_view_holds_only_comments() {
        let source = Source::new("a.rs", "a // b\n\"// c\"");
        assert_eq!(source.comments, "  // b\n      ");
    }

    #[test]
    fn an_unfinished_literal_does_not_run_past_the_end() {
        for text in ["\"abc", "r#\"abc", "'", "'\\", "/* abc", "\"abc\\", "r", "b'"] {
            assert_eq!(code(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn lines_count_from_one() {
        let source = Source::new("a.rs", "ab\ncd\n");
        assert_eq!((source.line_of(0), source.line_of(2), source.line_of(3)), (1, 1, 2));
        assert_eq!(source.line_range(4), 3..6);
        assert_eq!(source.lines(), 2);
    }

    #[test]
    fn words_are_found_whole() {
        let found = |text, needle| find_words(text, needle).count();
        assert_eq!(found("HashMap MyHashMap HashMaps", "HashMap"), 1);
        assert_eq!(found("x.unwrap() y.unwrap_or()", ".unwrap()"), 1);
        assert_eq!(found("std::fs::x std::fsx", "std::fs"), 1);
    }

    #[test]
    fn a_bracket_finds_its_partner() {
        assert_eq!(closing("f(a[1], {2}) }", 1), Some(11));
        assert_eq!(closing("f(a", 1), None);
    }
}
