//! Finds the steps to undo or to redo.
//!
//! An undo is a step too, and names the steps that it has undone; so does a redo. The latest of
//! these steps that names a step decides whether the step is undone.

use std::collections::HashMap;

use dflat_engine::storage::StepId;
use dflat_engine::{Error, ErrorKind, Result};

use super::{Backwards, Note, Scope, Step, StepSource, StoredStep};

/// The steps to undo or to redo.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The steps that are undone or redone, the latest one first.
    pub(super) steps: Vec<StepId>,
    /// The steps whose changes are to be reversed: the steps to undo, or the undo to redo.
    pub(super) reversed: Vec<StepId>,
    /// The label of the latest step.
    pub(super) label: Option<String>,
}

/// The steps of which it is known whether they are undone.
pub(super) type Decided = HashMap<StepId, bool>;

/// Notes the steps that a step has undone or redone.
fn decide(note: &Note, decided: &mut Decided) {
    let is_undone = matches!(note, Note::Undo(_));
    for id in note.steps() {
        decided.entry(*id).or_insert(is_undone);
    }
}

/// The latest change in the scope that is not undone, with the changes of its undo group.
/// `decided` are steps to take for undone.
///
/// # Errors
/// The errors of reading steps.
pub(super) fn to_undo(
    source: &mut (impl StepSource + ?Sized),
    scope: &Scope,
    mut decided: Decided,
) -> Result<Option<Found>> {
    let mut steps = Backwards::below(None);
    let mut found: Option<(Found, Step)> = None;
    while let Some(stored) = steps.next(source)? {
        // Before a checkout or a merge, the objects were those of another commit.
        if stored.note.commit().is_some() {
            break;
        }
        decide(&stored.note, &mut decided);
        let is_undone = decided.get(&stored.id).copied().unwrap_or_default();
        if stored.note != Note::Change || is_undone {
            continue;
        }
        let step = stored.step()?;
        if !scope.takes(&step) {
            continue;
        }
        match &mut found {
            None => {
                let is_alone = step.undo_group.is_none();
                found = Some((Found::of(&step), step));
                if is_alone {
                    break;
                }
            }
            Some((found, last)) if is_of_group(last, &step) => {
                found.steps.push(step.id);
                found.reversed.push(step.id);
            }
            Some(_) => break,
        }
    }
    Ok(found.map(|(found, _)| found))
}

fn is_of_group(one: &Step, other: &Step) -> bool {
    let group = |step: &Step| (step.undo_group, step.workspace);
    // Groups are numbered by the workspace.
    group(one) == group(other) && (one.workspace.is_some() || one.engine == other.engine)
}

impl Found {
    fn of(step: &Step) -> Self {
        Self {
            steps: vec![step.id],
            reversed: vec![step.id],
            label: step.label.clone(),
        }
    }
}

/// The latest undo in the scope that is not redone; `None` after a later change in the scope.
/// `decided` are steps to take for redone.
///
/// # Errors
/// The errors of reading steps.
pub(super) fn to_redo(
    source: &mut (impl StepSource + ?Sized),
    scope: &Scope,
    mut decided: Decided,
) -> Result<Option<Found>> {
    let mut steps = Backwards::below(None);
    while let Some(stored) = steps.next(source)? {
        let is_decided = stored
            .note
            .steps()
            .iter()
            .any(|id| decided.contains_key(id));
        decide(&stored.note, &mut decided);
        match &stored.note {
            Note::Undo(undone) if !is_decided => {
                if let Some(label) = label_in_scope(source, scope, undone)? {
                    return Ok(Some(Found {
                        steps: undone.clone(),
                        reversed: vec![stored.id],
                        label,
                    }));
                }
            }
            Note::Change if scope.takes(&stored.step()?) => return Ok(None),
            Note::Checkout(_) | Note::Merge(_) => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

/// The label of the latest of the undone steps, if one of them is in the scope.
#[expect(
    clippy::option_option,
    reason = "a step in the scope may have no label"
)]
fn label_in_scope(
    source: &mut (impl StepSource + ?Sized),
    scope: &Scope,
    undone: &[StepId],
) -> Result<Option<Option<String>>> {
    let (mut label, mut is_in_scope) = (None, false);
    for id in undone {
        let Some(step) = load(source, *id)? else {
            continue;
        };
        let step = step.step()?;
        is_in_scope = is_in_scope || scope.takes(&step);
        label = label.or(step.label);
    }
    Ok(is_in_scope.then_some(label))
}

/// A step to undo that the caller has chosen.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no such step.
/// - [`ErrorKind::InvalidArgument`] if it is an undo or a redo, or is undone.
pub(super) fn chosen(source: &mut (impl StepSource + ?Sized), id: StepId) -> Result<Found> {
    let mut decided = Decided::new();
    let mut steps = Backwards::below(None);
    let mut found = None;
    while let Some(stored) = steps.next(source)?
        && stored.id >= id
    {
        decide(&stored.note, &mut decided);
        found = Some(stored).filter(|stored| stored.id == id);
    }
    let refuse = |kind, why: &str| {
        let message = format!("cannot undo step {}: {why}", id.0);
        Err(Error::new(kind, message))
    };
    let Some(found) = found else {
        return refuse(ErrorKind::NotFound, "there is no such step");
    };
    if matches!(found.note, Note::Undo(_) | Note::Redo(_)) {
        let why = "it is an undo or a redo; choose the step that it names";
        return refuse(ErrorKind::InvalidArgument, why);
    }
    if decided.get(&id) == Some(&true) {
        return refuse(ErrorKind::InvalidArgument, "it is undone already");
    }
    Ok(Found::of(&found.step()?))
}

/// The step with a number, if there is one.
///
/// # Errors
/// The errors of reading steps.
pub(super) fn load(
    source: &mut (impl StepSource + ?Sized),
    id: StepId,
) -> Result<Option<StoredStep>> {
    let step = Backwards::below(Some(StepId(id.0 + 1))).next(source)?;
    Ok(step.filter(|step| step.id == id))
}
