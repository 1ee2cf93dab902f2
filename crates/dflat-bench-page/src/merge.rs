//! Takes the figures of some scenarios, which were measured apart, into the stored ones.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{FOLDER, Result};

/// Replaces or adds the scenarios of a run in the stored figures of a repository. Each keeps the
/// commit and the load of its run.
///
/// # Errors
/// If a file is absent or malformed, or cannot be written.
pub fn merge(root: &Path, run: &Path) -> Result<()> {
    let path = root.join(FOLDER).join("figures.json");
    let read = |path: &Path| -> Result<Value> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| format!("read {}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    };
    let merged = merged(read(&path)?, &read(run)?)?;
    Ok(fs::write(
        path,
        serde_json::to_string_pretty(&merged)? + "\n",
    )?)
}

fn merged(mut stored: Value, run: &Value) -> Result<Value> {
    let apart = json!({
        "commit": run["machine"]["commit"],
        "load_before": run["machine"]["load_before"],
        "rounds": run["options"]["rounds"],
        "seconds": run["options"]["seconds"],
    });
    let list = stored["scenarios"].as_array_mut();
    let list = list.ok_or("the stored figures have no scenarios")?;
    let measured = run["scenarios"].as_array();
    for scenario in measured.ok_or("the run has no scenarios")? {
        let mut scenario = scenario.clone();
        scenario["apart"] = apart.clone();
        let same = |key: &'static str| {
            let wanted = scenario[key].clone();
            move |known: &Value| known[key] == wanted
        };
        let known = list.iter().position(same("scenario"));
        let last = list.iter().rposition(same("group"));
        match (known, last) {
            (Some(position), _) => list[position] = scenario,
            // Behind the others of its group.
            (None, Some(last)) => list.insert(last + 1, scenario),
            (None, None) => list.push(scenario),
        }
    }
    Ok(stored)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use super::*;

    #[test]
    fn scenarios_of_a_run_replace_stored_ones_or_follow_their_group() {
        let scenario = |name, group, value| json!({"scenario": name, "group": group, "v": value});
        let stored = json!({
            "machine": {"commit": "a"},
            "scenarios": [scenario("x", "g", 1), scenario("y", "h", 2)],
        });
        let run = json!({
            "machine": {"commit": "b", "load_before": 0.5},
            "options": {"rounds": "1", "seconds": "2"},
            "scenarios": [scenario("z", "g", 3), scenario("y", "h", 4), scenario("w", "i", 5)],
        });
        let merged = merged(stored, &run).unwrap();
        let found: Vec<_> = merged["scenarios"].as_array().unwrap().iter().collect();
        let short = |found: &Value| {
            let commit = found["apart"]["commit"].as_str().unwrap_or("-").to_owned();
            (found["scenario"].clone(), found["v"].clone(), commit)
        };
        let found: Vec<_> = found.into_iter().map(short).collect();
        let wanted = [("x", 1, "-"), ("z", 3, "b"), ("y", 4, "b"), ("w", 5, "b")];
        let wanted = wanted.map(|(name, v, commit)| (json!(name), json!(v), commit.to_owned()));
        assert_eq!(found, wanted);
        assert_eq!(merged["machine"]["commit"], "a");
        assert!(super::merged(json!({}), &run).is_err());
    }
}
