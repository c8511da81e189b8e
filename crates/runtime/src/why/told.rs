//! Why a task stands where it does, as a person reads it. Only puts lines together.

use homing_core::compose::lasting;
use homing_core::wire::Why;

/// The whole answer. `plain` makes others' text harmless for whoever reads it.
pub fn told(why: &Why, plain: impl Fn(&str) -> String) -> String {
    let cause = why.cause.map_or_else(String::new, |cause| format!(" ({cause})"));
    let name = why.name.as_deref().map_or_else(String::new, |name| format!(" {}", plain(name)));
    let mut text = format!("{}{name}: {}{cause}\n", why.id, why.state);
    let chain = why.chain.iter().map(|line| {
        let after = format!("+{}", lasting(line.after_ms));
        format!("{after:>8}  {}", plain(&line.words))
    });
    part(&mut text, "what happened", chain);
    part(&mut text, "what is known", why.known.iter().map(|known| plain(known)));
    part(&mut text, "what is missing", why.missing.iter().map(|missing| plain(missing)));
    part(&mut text, "what comes next", why.next.words.lines().map(plain));
    text
}

fn part(text: &mut String, head: &str, lines: impl Iterator<Item = String>) {
    for (number, line) in lines.enumerate() {
        if number == 0 {
            text.push_str(&format!("\n{head}\n"));
        }
        text.push_str(&format!("  {line}\n"));
    }
}
