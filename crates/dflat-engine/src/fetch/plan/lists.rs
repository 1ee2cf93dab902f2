//! Long lists of values in a condition, such as `id in (..)`.
//!
//! Looking up each value of a list takes as long as reading several rows, whether a row has the
//! value or not. A list with too many values for the table is left out of the plan, and each row is
//! checked against it.

use dflat_model::{Predicate, Query};

use super::{AccessPath, Plan};

/// Lists with at most this many values are always planned: looking them up takes milliseconds.
pub(in super::super) const VALUES_MIN: usize = 1024;

fn parts(query: &Query) -> &[Predicate] {
    match &query.predicate {
        None => &[],
        Some(Predicate::And(parts)) => parts,
        Some(predicate) => std::slice::from_ref(predicate),
    }
}

fn len(part: &Predicate) -> usize {
    match part {
        Predicate::In { values, .. } => values.len(),
        _ => 0,
    }
}

/// The number of values of the longest list that the condition requires a value to be in.
pub(in super::super) fn longest_list(query: &Query) -> usize {
    parts(query).iter().map(len).max().unwrap_or_default()
}

/// The query without the lists that have more than `max` values, and these lists.
pub(in super::super) fn without_lists(query: &Query, max: usize) -> (Query, Vec<Predicate>) {
    let is_long = |part: &&Predicate| len(part) > max;
    let (lists, others): (Vec<_>, Vec<_>) = parts(query).iter().partition(is_long);
    let others: Vec<Predicate> = others.into_iter().cloned().collect();
    let shorter = Query {
        predicate: (!others.is_empty()).then_some(Predicate::And(others)),
        order: query.order.clone(),
        after: query.after.clone(),
        ..*query
    };
    (shorter, lists.into_iter().cloned().collect())
}

impl Plan {
    /// Has each row checked against these lists as well.
    pub(in super::super) fn check_lists(&mut self, lists: Vec<Predicate>) {
        if self.access == AccessPath::Nothing {
            return;
        }
        let mut parts = match self.residual.take() {
            None => Vec::new(),
            Some(Predicate::And(parts)) => parts,
            Some(part) => vec![part],
        };
        // Behind the other conditions, which take less time.
        parts.extend(lists);
        self.residual = match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(Predicate::And(parts)),
        };
    }
}
