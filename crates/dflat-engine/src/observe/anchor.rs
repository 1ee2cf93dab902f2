//! What of a condition an index of live queries can use: values that a field must have.

use std::ops::Bound;

use dflat_model::{Field, Predicate, Value};

use crate::query::{Interval, ValueSet, tested_field};

/// A field whose value must be in an interval.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub(super) field: Field,
    pub(super) interval: Interval<'static>,
}

/// An object that meets a condition is in one of these intervals at least.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) atoms: Vec<Atom>,
    /// Whether every object that is in one meets the condition.
    pub(super) exact: bool,
}

/// Conditions with more alternatives are not taken apart.
const ATOMS_MAX: usize = 65_536;

/// The anchor of a condition, if it has one.
pub(super) fn anchor(predicate: &Predicate) -> Option<Anchor> {
    match predicate {
        Predicate::Constant(false) => Some(Anchor {
            atoms: Vec::new(),
            exact: true,
        }),
        Predicate::And(parts) => all_of(parts),
        Predicate::Or(parts) => {
            let mut union = Anchor {
                atoms: Vec::new(),
                exact: true,
            };
            for part in parts {
                let part = anchor(part)?;
                union.exact &= part.exact;
                union.atoms.extend(part.atoms);
            }
            (union.atoms.len() <= ATOMS_MAX).then_some(union)
        }
        Predicate::In { values, .. } if values.len() > ATOMS_MAX => None,
        test => {
            let field = tested_field(test)?;
            let set = ValueSet::of_test(test).filter(|set| !set.is_wide())?;
            let atom = |interval: &Interval<'_>| Atom {
                field: field.clone(),
                interval: interval.to_owned(),
            };
            Some(Anchor {
                atoms: set.0.iter().map(atom).collect(),
                exact: true,
            })
        }
    }
}

/// The anchor of a conjunction: that of the part that says most, with all that others say of its
/// field.
fn all_of(parts: &[Predicate]) -> Option<Anchor> {
    let anchors: Vec<Option<Anchor>> = parts.iter().map(anchor).collect();
    let known = anchors.iter().enumerate();
    let best = known.filter_map(|(at, anchor)| Some((at, anchor.as_ref()?)));
    let (at, best) = best.min_by_key(|(_, anchor)| width(anchor))?;
    let mut best = best.clone();
    for other in anchors
        .iter()
        .enumerate()
        .filter_map(|(i, a)| (i != at).then_some(a))
    {
        let single = other
            .as_ref()
            .filter(|other| other.exact)
            .map(|other| other.atoms.as_slice());
        match (best.atoms.as_mut_slice(), single) {
            ([mine], Some([other])) if mine.field == other.field => {
                match mine.interval.intersection(&other.interval) {
                    Some(both) => mine.interval = both,
                    None => best.atoms.clear(),
                }
            }
            _ => best.exact = false,
        }
    }
    Some(best)
}

/// How much an anchor lets through, as far as can be told from it.
fn width(anchor: &Anchor) -> (u8, usize) {
    let of = |interval: &Interval<'_>| match (&interval.lower, &interval.upper) {
        _ if interval.only().is_some_and(|only| **only == Value::Null) => 2,
        _ if interval.only().is_some() => 0,
        (Bound::Excluded(lower), _) if **lower == Value::Null => 3,
        (_, Bound::Unbounded) => 3,
        _ => 1,
    };
    let widest = anchor.atoms.iter().map(|atom| of(&atom.interval)).max();
    (widest.unwrap_or_default(), anchor.atoms.len())
}
