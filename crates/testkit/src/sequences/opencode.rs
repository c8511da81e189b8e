//! OpenCode: events wake the driver, the stored messages decide. A look's record of our turn has ended
//! when the last assistant message answers our prompt, is completed, has no tool parts, and its finish is
//! neither `tool-calls` nor `unknown`.

mod lies;
mod losses;
mod turns;

use super::Sequence;

pub fn sequences() -> Vec<Sequence> {
    let groups = [
        turns::truths(),
        turns::quiet_truths(),
        lies::idle_lies(),
        lies::absence_lies(),
        lies::record_lies(),
        lies::busy_lies(),
        turns::turns(),
        turns::second_prompts(),
        turns::errors(),
        turns::odd_errors(),
        turns::waits(),
        turns::people(),
        losses::losses(),
        losses::prompt_losses(),
        losses::session_losses(),
        losses::stops(),
    ];
    groups.into_iter().flatten().collect()
}
