//! The steps that an undo or a log is about.

use dflat_engine::engine::Engine;

use super::Step;

/// Whose steps are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// Those of all programs.
    Everyone,
    /// Those of one workspace: of its id, if it has one, and otherwise of this opening of the file.
    Workspace {
        /// The id of the workspace, if the program named it.
        id: Option<u128>,
        /// The number of the engine in change records.
        engine: u64,
    },
}

impl Author {
    /// The workspace of an engine.
    #[must_use]
    pub fn of(engine: &Engine) -> Self {
        let (id, engine) = engine.record_names();
        Self::Workspace { id, engine }
    }
}

/// The steps that are meant: all conditions hold for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whose steps.
    pub author: Author,
    /// Only steps that have changed rows of this table.
    pub table: Option<String>,
    /// Only steps with this label.
    pub label: Option<String>,
}

impl Scope {
    /// Whether a step is meant.
    #[must_use]
    pub fn takes(&self, step: &Step) -> bool {
        let is_of = match self.author {
            Author::Everyone => true,
            Author::Workspace { id: Some(id), .. } => step.workspace == Some(id),
            Author::Workspace { id: None, engine } => step.engine == engine,
        };
        let mut tables = step.tables.iter();
        let changes = |name: &String| tables.any(|table| table.is_kept() && table.name == *name);
        is_of
            && self.table.as_ref().is_none_or(changes)
            && (self.label.is_none() || self.label == step.label)
    }
}
