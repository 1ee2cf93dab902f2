//! Long lists of values in a condition, such as `id in (..)`.
//!
//! Looking up each value of a list takes as long as reading several rows, whether a row has the
//! value or not. A list with too many values for the table is left out of the plan, and each row is
//! checked against it. If the list is a side of an `or`, the whole `or` is left out.

use dflat_model::{Field, Predicate, Query, Table};

use super::{AccessPath, Plan, mentions};

/// Lists with at most this many values are always planned: looking them up takes microseconds.
pub(in super::super) const VALUES_MIN: usize = 32;

/// To read a row takes as long as to check it against this many lists.
const LISTS_PER_ROW: usize = 8;

/// The lists of values in a condition.
#[derive(Clone, Copy, Default)]
struct Lists {
    values: usize,
    count: usize,
}

impl Lists {
    fn of(part: &Predicate) -> Self {
        match part {
            Predicate::In { values, .. } => Self {
                values: values.len(),
                count: 1,
            },
            Predicate::And(parts) | Predicate::Or(parts) => Self::of_all(parts),
            Predicate::Not(inner) => Self::of(inner),
            _ => Self::default(),
        }
    }

    fn of_all(parts: &[Predicate]) -> Self {
        let lists = parts.iter().map(Self::of);
        lists.fold(Self::default(), |all, lists| Self {
            values: all.values + lists.values,
            count: all.count + lists.count,
        })
    }

    /// Whether it takes less time to read all rows and to check them against these lists than to
    /// look up the values, if that holds for a single list of more than `max` values.
    fn are_long(self, max: usize) -> bool {
        let checks = (LISTS_PER_ROW - 1).saturating_add(self.count);
        self.values.saturating_mul(LISTS_PER_ROW) > max.saturating_mul(checks)
    }
}

/// A condition without its long lists.
enum Shorter {
    /// No list is long.
    Same,
    /// A condition that holds wherever the whole condition holds.
    Weaker(Predicate),
    /// Nothing is left.
    Nothing,
}

impl Shorter {
    fn new(part: &Predicate, max: usize) -> Self {
        if !Lists::of(part).are_long(max) && !matches!(part, Predicate::And(_) | Predicate::Or(_)) {
            return Self::Same;
        }
        match part {
            Predicate::And(parts) => {
                let shorter = parts.iter().map(|part| Self::new(part, max)).collect();
                Self::all(parts, shorter)
            }
            Predicate::Or(parts) => {
                let shorter = parts.iter().map(|part| Self::new(part, max)).collect();
                Self::any(parts, shorter, max)
            }
            _ => Self::Nothing,
        }
    }

    fn all(parts: &[Predicate], shorter: Vec<Self>) -> Self {
        if shorter.iter().all(|part| matches!(part, Self::Same)) {
            return Self::Same;
        }
        let rest = parts.iter().zip(shorter);
        let rest: Vec<Predicate> = rest
            .filter_map(|(part, shorter)| shorter.of(part))
            .collect();
        match rest.is_empty() {
            true => Self::Nothing,
            false => Self::Weaker(Predicate::And(rest)),
        }
    }

    fn any(parts: &[Predicate], shorter: Vec<Self>, max: usize) -> Self {
        let is_same = shorter.iter().all(|part| matches!(part, Self::Same));
        if is_same {
            return match Lists::of_all(parts).are_long(max) {
                true => Self::Nothing,
                false => Self::Same,
            };
        }
        let rest = parts.iter().zip(shorter);
        let rest: Option<Vec<Predicate>> = rest.map(|(part, shorter)| shorter.of(part)).collect();
        match rest {
            Some(rest) if !Lists::of_all(&rest).are_long(max) => Self::Weaker(Predicate::Or(rest)),
            _ => Self::Nothing,
        }
    }

    /// The condition that is left of `part`.
    fn of(self, part: &Predicate) -> Option<Predicate> {
        match self {
            Self::Same => Some(part.clone()),
            Self::Weaker(weaker) => Some(weaker),
            Self::Nothing => None,
        }
    }
}

fn parts(query: &Query) -> &[Predicate] {
    match &query.predicate {
        None => &[],
        Some(Predicate::And(parts)) => parts,
        Some(predicate) => std::slice::from_ref(predicate),
    }
}

/// The largest number of values in the lists of one conjunct that a key may serve.
pub(in super::super) fn longest_list(table: &Table, query: &Query) -> usize {
    let is_in_key = |field: &Field| {
        let indexed = table.indexes.iter().flat_map(|index| index.fields.iter());
        let mut fields = table.primary_key.iter().chain(indexed);
        fields.any(|other| other.steps == field.steps)
    };
    let served = parts(query)
        .iter()
        .filter(|part| mentions(part, &is_in_key));
    let values = served.map(|part| Lists::of(part).values);
    values.max().unwrap_or_default()
}

/// The query without the lists that are too long to look up, if lists of more than `max` values
/// are, and the conjuncts that have such lists.
pub(in super::super) fn without_lists(query: &Query, max: usize) -> (Query, Vec<Predicate>) {
    let (mut shorter, mut lists) = (Vec::new(), Vec::new());
    for part in parts(query) {
        let rest = Shorter::new(part, max);
        if !matches!(rest, Shorter::Same) {
            lists.push(part.clone());
        }
        shorter.extend(rest.of(part));
    }
    let shorter = Query {
        predicate: (!shorter.is_empty()).then_some(Predicate::And(shorter)),
        order: query.order.clone(),
        after: query.after.clone(),
        ..*query
    };
    (shorter, lists)
}

impl Plan {
    /// Has each row checked against these conjuncts as well.
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
