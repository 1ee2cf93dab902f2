//! States that a user names.

use dflat_history::branches::tip_of;
use dflat_history::commits::find;
use dflat_history::compare::Version;
use dflat_history::steps::{CommitId, StepId};

use crate::failure::Failure;
use crate::file::OpenFile;

/// The state of a text: the number of a step, `@` and the first digits of a commit, or the name of
/// a branch.
pub(super) fn version(file: &OpenFile, text: &str) -> Result<Version, Failure> {
    let engine = file.workspace.engine();
    Ok(match text.strip_prefix('@') {
        Some(digits) => Version::Commit(find(engine, digits)?),
        None => match text.parse() {
            Ok(step) => Version::Step(StepId(step)),
            Err(_) => Version::Commit(tip_of(engine, text)?),
        },
    })
}

/// Whether a text is the name of a branch, and not of a step or a commit.
pub(super) fn names_branch(text: &str) -> bool {
    !text.starts_with('@') && text.parse::<i64>().is_err()
}

/// A commit as users name it.
pub(super) fn shown(id: &CommitId) -> String {
    let digits: String = id.to_string().chars().take(12).collect();
    format!("@{digits}")
}
