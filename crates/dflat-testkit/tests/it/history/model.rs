//! A naive model of a history: a whole copy of all rows before and after each step.

use std::collections::{BTreeMap, BTreeSet};

use super::files::Rows;

/// The payloads of all rows, by table and row id.
pub(crate) type Copy = BTreeMap<(&'static str, i64), Vec<u8>>;

/// How a step came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Mine,
    OfAnother,
    Undo,
    Redo,
}

/// The steps that an operation is about.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Scope {
    pub(crate) table: Option<&'static str>,
    pub(crate) label: Option<usize>,
}

struct Step {
    kind: Kind,
    label: usize,
    group: Option<u64>,
    /// The steps that an undo or a redo names.
    named: Vec<usize>,
    before: Copy,
    after: Copy,
}

impl Step {
    fn rows(&self) -> BTreeSet<(&'static str, i64)> {
        let keys = self.before.keys().chain(self.after.keys());
        let differ = |key: &&_| self.before.get(*key) != self.after.get(*key);
        keys.filter(differ).copied().collect()
    }

    fn is_in(&self, scope: Scope) -> bool {
        let has = |table| self.rows().iter().any(|(of, _)| *of == table);
        scope.table.is_none_or(has) && scope.label.is_none_or(|label| label == self.label)
    }
}

/// The steps and the present state.
#[derive(Default)]
pub(crate) struct Model {
    steps: Vec<Step>,
    pub(crate) state: Copy,
}

/// The effect that an undo or a redo has to have.
pub(crate) struct Expected {
    pub(crate) kind: Kind,
    pub(crate) named: Vec<usize>,
    pub(crate) label: usize,
    /// The rows in conflict.
    pub(crate) conflicts: BTreeSet<(&'static str, i64)>,
    /// The state if the other rows are set back.
    pub(crate) state: Copy,
}

impl Model {
    /// Notes a step after which the rows are these. Without a change there is no step.
    pub(crate) fn note(&mut self, kind: Kind, label: usize, group: Option<u64>, after: Copy) {
        self.note_named(kind, label, group, Vec::new(), after);
    }

    pub(crate) fn note_named(
        &mut self,
        kind: Kind,
        label: usize,
        group: Option<u64>,
        named: Vec<usize>,
        after: Copy,
    ) {
        if after != self.state {
            let before = std::mem::replace(&mut self.state, after.clone());
            self.steps.push(Step {
                kind,
                label,
                group,
                named,
                before,
                after,
            });
        }
    }

    /// Deletes objects from all states. Steps stay, also those without changes.
    pub(crate) fn forget(&mut self, is_object: impl Fn(&(&'static str, i64), &[u8]) -> bool) {
        for step in &mut self.steps {
            for copy in [&mut step.before, &mut step.after] {
                copy.retain(|row, payload| !is_object(row, payload));
            }
        }
    }

    /// The states after the steps, the first one first.
    pub(crate) fn states(&self) -> impl Iterator<Item = &Copy> {
        self.steps.iter().map(|step| &step.after)
    }

    /// Whether each step is undone.
    fn undone(&self) -> Vec<bool> {
        let mut undone = vec![false; self.steps.len()];
        for step in &self.steps {
            for named in &step.named {
                undone[*named] = step.kind == Kind::Undo;
            }
        }
        undone
    }

    pub(crate) fn undo(&self, scope: Scope) -> Option<Expected> {
        let undone = self.undone();
        let mut candidates = (0..self.steps.len())
            .rev()
            .filter(|at| self.steps[*at].kind == Kind::Mine && !undone[*at])
            .filter(|at| self.steps[*at].is_in(scope))
            .peekable();
        let mut named: Vec<usize> = Vec::new();
        loop {
            let first = candidates.next()?;
            let mut group = vec![first];
            if let Some(number) = self.steps[first].group {
                let next = |at: &usize| self.steps[*at].group == Some(number);
                while let Some(at) = candidates.next_if(next) {
                    group.push(at);
                }
            }
            named.extend(&group);
            let expected = self.reverse(Kind::Undo, &named, &group, self.steps[first].label);
            if expected.state != self.state || !expected.conflicts.is_empty() {
                return Some(expected);
            }
        }
    }

    pub(crate) fn redo(&self, scope: Scope) -> Option<Expected> {
        let mut decided: BTreeSet<usize> = BTreeSet::new();
        let mut all: Vec<usize> = Vec::new();
        for (at, step) in self.steps.iter().enumerate().rev() {
            if step.kind == Kind::Mine && step.is_in(scope) {
                return None;
            }
            let is_decided = step.named.iter().any(|named| decided.contains(named));
            decided.extend(&step.named);
            let mut named = step.named.iter();
            if step.kind != Kind::Undo
                || is_decided
                || !named.any(|named| self.steps[*named].is_in(scope))
            {
                continue;
            }
            all.extend(&step.named);
            let expected = self.reverse(Kind::Redo, &all, &[at], step.label);
            if expected.state != self.state || !expected.conflicts.is_empty() {
                return Some(expected);
            }
        }
        None
    }

    /// Sets the rows of steps back, the latest step first.
    fn reverse(&self, kind: Kind, named: &[usize], reversed: &[usize], label: usize) -> Expected {
        let mut expected = Expected {
            kind,
            named: named.to_vec(),
            label,
            conflicts: BTreeSet::new(),
            state: self.state.clone(),
        };
        let rows: BTreeSet<_> = reversed
            .iter()
            .flat_map(|at| self.steps[*at].rows())
            .collect();
        for row in rows {
            let changing: Vec<usize> = (0..self.steps.len())
                .filter(|at| self.steps[*at].rows().contains(&row))
                .collect();
            let of: Vec<usize> = changing
                .iter()
                .copied()
                .filter(|at| reversed.contains(at))
                .collect();
            let (first, last) = (of[0], of[of.len() - 1]);
            let between = changing
                .iter()
                .any(|at| (first..last).contains(at) && !of.contains(at));
            if between || self.state.get(&row) != self.steps[last].after.get(&row) {
                expected.conflicts.insert(row);
                continue;
            }
            match self.steps[first].before.get(&row) {
                Some(before) => expected.state.insert(row, before.clone()),
                None => expected.state.remove(&row),
            };
        }
        expected
    }
}

/// A copy of these tables.
pub(crate) fn copy(tables: &[(&'static str, Rows)]) -> Copy {
    let all = tables.iter().flat_map(|(name, rows)| {
        rows.iter()
            .map(|(row_id, payload)| ((*name, *row_id), payload.clone()))
    });
    all.collect()
}
