//! Text as a part of an address.

/// As a part of a path or a query: whatever has a meaning there is escaped.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_has_a_meaning_in_a_path_is_escaped() {
        assert_eq!(escaped("bg_1-a.b~"), "bg_1-a.b~");
        assert_eq!(escaped("inbox:a/b ü%?"), "inbox%3Aa%2Fb%20%C3%BC%25%3F");
    }
}
