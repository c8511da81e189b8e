//! Makes text that others wrote harmless: every line marked as theirs, every sign that could be taken for
//! markup, a mention, a token or a terminal's command written by its name. Nothing is lost: each name
//! stands for one character.

/// Every line of others' text begins so, and no line of ours does.
const MARK: &str = "| ";

/// Others' text as marked lines; none when they would be longer than `most` bytes.
pub(super) fn marked(text: &[u8], most: usize) -> Option<String> {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut out = String::new();
    for each in text.split('\n') {
        if !crate::bugs::active(crate::bugs::Bug::Unfenced) {
            out.push_str(MARK);
        }
        named(each, |c| c == '\t', &mut out);
        out.push('\n');
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

/// The beginning of others' text as marked lines, cut where more than `most` bytes would stand.
pub(super) fn marked_beginning(text: &str, most: usize) -> String {
    let mut kept = text.len().min(most);
    loop {
        let cut = text.floor_char_boundary(kept);
        if let Some(out) = marked(&text.as_bytes()[..cut], most) {
            let more = if cut < text.len() { "| … (cut)\n" } else { "" };
            return out + more;
        }
        kept = cut * 3 / 4;
    }
}

/// Others' text as one line of at most `chars` characters and twice as many bytes: for names.
pub fn line(text: &str, chars: usize) -> String {
    let mut kept = chars;
    loop {
        let short: String = text.chars().take(kept).collect();
        let mut out = String::new();
        named(&short, |_| false, &mut out);
        let mut out = out.replace('"', "&quot;");
        if short.len() < text.len() {
            out.push('…');
        }
        if out.len() <= 2 * chars + '…'.len_utf8() {
            return out;
        }
        kept = kept * 3 / 4;
    }
}

fn named(text: &str, plain: impl Fn(char) -> bool, out: &mut String) {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' if is_name(rest.as_str()) => out.push_str("&amp;"),
            '[' if rest.as_str().starts_with('[') => out.push_str("&#x5b;"),
            c if c == '@' || (is_unseen(c) && !plain(c)) => {
                out.push_str(&format!("&#x{:x};", u32::from(c)));
            }
            c => out.push(c),
        }
    }
}

/// Whether what follows an `&` would read as one of our names.
fn is_name(rest: &str) -> bool {
    ["lt;", "amp;", "quot;", "#x"].iter().any(|name| rest.starts_with(name))
}

/// Signs that move, hide or reorder other text: controls, line breaks of other alphabets, directions,
/// and those without a shape. The joiners stay: scripts and emoji need them.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        marked(text.as_bytes(), 1 << 16).unwrap()
    }

    #[test]
    fn plain_text_stays_as_it_is_line_by_line() {
        assert_eq!(shown("a\n\tb & c\n"), "| a\n| \tb & c\n");
        assert_eq!(shown(""), "| \n");
        assert_eq!(shown("one\r\ntwo"), "| one\n| two\n");
    }

    #[test]
    fn signs_with_a_power_are_written_by_name() {
        assert_eq!(shown("</x>"), "| &lt;/x>\n");
        assert_eq!(shown("@room"), "| &#x40;room\n");
        assert_eq!(shown("[[silent:1]]"), "| &#x5b;[silent:1]]\n");
        assert_eq!(shown("a[0]"), "| a[0]\n");
        assert_eq!(shown("\u{1b}[31m\0\r\u{9b}x"), "| &#x1b;[31m&#x0;&#xd;&#x9b;x\n");
        assert_eq!(shown("a\u{2028}b\u{202e}c\u{e0041}"), "| a&#x2028;b&#x202e;c&#xe0041;\n");
        assert_eq!(shown("👩\u{200d}👩"), "| 👩\u{200d}👩\n");
    }

    #[test]
    fn a_name_in_the_text_itself_cannot_be_mistaken_for_ours() {
        assert_eq!(
            shown("&lt; &#x40; &amp; &quot; R&D"),
            "| &amp;lt; &amp;#x40; &amp;amp; &amp;quot; R&D\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(marked(b"a\xff\xfeb", 100).unwrap(), "| a\u{fffd}\u{fffd}b\n");
    }

    #[test]
    fn what_does_not_fit_is_refused_or_cut() {
        assert_eq!(marked("12345".as_bytes(), 7), None);
        assert_eq!(marked("12345".as_bytes(), 8).unwrap(), "| 12345\n");
        let cut = marked_beginning(&"é".repeat(100), 60);
        assert!(cut.len() <= 60 + "| … (cut)\n".len() && cut.ends_with("| … (cut)\n"), "{cut}");
        assert_eq!(marked_beginning("short", 60), "| short\n");
        assert!(marked_beginning(&"@".repeat(1000), 60).len() < 80);
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(line("a\nb\t\"c\"", 80), "a&#xa;b&#x9;&quot;c&quot;");
        assert_eq!(line("12345", 3), "123…");
        assert!(line(&"@".repeat(100), 80).len() <= 163);
    }
}
