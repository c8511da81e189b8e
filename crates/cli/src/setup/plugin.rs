//! The plugin for OpenCode: one file of ours beside its settings, filled in with where the home is and which tools there are.

use std::path::Path;

use serde_json::json;

use super::splice::Spliced;

const FILE: &str = include_str!("../../../../plugins/opencode/homing.js");
/// How it begins, whatever the release.
const OURS: &str = "// homing in OpenCode.";
/// What is filled in.
const BLANK: &str = "/*HOMING*/";

/// Whether a file is the plugin, of this release or another.
pub fn is_ours(text: &str) -> bool {
    text.starts_with(OURS)
}

/// In the place of what was there before.
pub fn put(text: &str, program: &Path, home: &Path, replace: bool) -> Result<Spliced, String> {
    let plugin = filled(program, home, replace)?;
    if text == plugin {
        return Ok(Spliced::There);
    }
    if !text.trim().is_empty() && !is_ours(text) {
        let was = text.lines().next().unwrap_or_default().chars().take(80).collect();
        return Ok(Spliced::Other { was });
    }
    let piece = 0..plugin.len();
    Ok(Spliced::New { text: plugin, piece })
}

fn filled(program: &Path, home: &Path, replace: bool) -> Result<String, String> {
    let home = home.to_str().ok_or("the path of the home is not plain text")?;
    let program = program.to_str().ok_or("the path of homing is not plain text")?;
    let start = format!("{program} --home {home} daemon start");
    let tools = homing_mcp::for_plugins();
    let ours = json!({"home": home, "start": start, "replace": replace, "tools": tools});
    let line = FILE.lines().find(|line| line.contains(BLANK)).unwrap_or_default();
    let (before, _) = line.split_once(BLANK).unwrap_or_default();
    Ok(FILE.replacen(line, &format!("{before}{ours}"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_filled_in_and_what_is_not_ours_stays() {
        let (program, home) = (Path::new("/bin/homing"), Path::new("/a home"));
        let Ok(Spliced::New { text, piece }) = put("", program, home, false) else {
            panic!("it is put in");
        };
        assert!(is_ours(&text) && piece == (0..text.len()));
        assert!(!text.contains(BLANK) && text.contains(r#""home":"/a home""#), "{text}");
        assert!(text.contains("background_task") && !text.contains("45 seconds"), "{text}");
        assert_eq!(put(&text, program, home, false), Ok(Spliced::There));
        assert!(matches!(put(&text, program, home, true), Ok(Spliced::New { .. })));
        assert!(matches!(put("// mine", program, home, true), Ok(Spliced::Other { .. })));
    }
}
