//! The token by which a parent says that it has nothing to say: one per debrief, matched exactly.

/// What the parent of a debrief with this nonce answers to stay silent.
pub fn token(nonce: &str) -> String {
    format!("[[silent:{nonce}]]")
}

/// Whether an answer is that token and nothing else.
pub fn is_chosen(answer: &[u8], nonce: &str) -> bool {
    answer.trim_ascii() == token(nonce).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_of_this_debrief_is_silence() {
        assert!(is_chosen(b" [[silent:n1]]\n", "n1"));
        for other in ["", "[[silent:n2]]", "[[silent:]]", "well: [[silent:n1]]", "[[SILENT:n1]]"] {
            assert!(!is_chosen(other.as_bytes(), "n1"), "{other}");
        }
    }
}
