//! Objects of two packs, combined by their keys.

use std::cmp::Ordering;

use dflat_engine::Result;
use dflat_engine::object::Object;

use super::iter::Iter;
use super::objects::Objects;

impl Objects {
    /// The objects of both in the order of their keys. For a key that both have, the object of this
    /// one is taken.
    #[must_use]
    pub fn union(&self, other: &Self) -> SetIter {
        SetIter::new(self, other, Combination::Union)
    }

    /// The objects of this one whose keys the other has too, in the order of their keys.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> SetIter {
        SetIter::new(self, other, Combination::Intersection)
    }

    /// The objects of this one whose keys the other lacks, in the order of their keys.
    #[must_use]
    pub fn difference(&self, other: &Self) -> SetIter {
        SetIter::new(self, other, Combination::Difference)
    }
}

/// The objects to take from two collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combination {
    /// Those of the first, and those of the second whose keys the first lacks.
    Union,
    /// Those of the first whose keys the second has too.
    Intersection,
    /// Those of the first whose keys the second lacks.
    Difference,
}

/// Objects of two collections in the order of their keys, read as the iterator is advanced.
///
/// After an error the iterator has ended.
#[derive(Debug)]
pub struct SetIter {
    combination: Combination,
    left: Side,
    right: Side,
    has_failed: bool,
}

/// One of the collections, with its next object and the encoded key of that object.
#[derive(Debug)]
struct Side {
    rest: Iter,
    next: Option<Object>,
    key: Vec<u8>,
}

impl SetIter {
    pub(super) fn new(left: &Objects, right: &Objects, combination: Combination) -> Self {
        let side = |objects: &Objects| Side {
            rest: objects.iter(),
            next: None,
            key: Vec::new(),
        };
        Self {
            combination,
            left: side(left),
            right: side(right),
            has_failed: false,
        }
    }

    fn advance(&mut self) -> Result<Option<Object>> {
        loop {
            self.left.fill()?;
            self.right.fill()?;
            let order = match (&self.left.next, &self.right.next) {
                (None, None) => return Ok(None),
                // The rest of the other collection has no more objects to take.
                (None, Some(_)) if self.combination != Combination::Union => return Ok(None),
                (Some(_), None) if self.combination == Combination::Intersection => {
                    return Ok(None);
                }
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), Some(_)) => self.left.key.cmp(&self.right.key),
            };
            let left = order.is_le().then(|| self.left.next.take()).flatten();
            let right = order.is_ge().then(|| self.right.next.take()).flatten();
            let taken = match self.combination {
                Combination::Union => left.or(right),
                Combination::Intersection if order.is_eq() => left,
                Combination::Difference if order.is_lt() => left,
                _ => None,
            };
            if taken.is_some() {
                return Ok(taken);
            }
        }
    }
}

impl Side {
    fn fill(&mut self) -> Result<()> {
        if self.next.is_none()
            && let Some(object) = self.rest.next().transpose()?
        {
            self.key.clear();
            let stored = self.rest.objects().stored();
            stored.key_of(object.payload(), &mut self.key)?;
            self.next = Some(object);
        }
        Ok(())
    }
}

impl Iterator for SetIter {
    type Item = Result<Object>;

    fn next(&mut self) -> Option<Result<Object>> {
        if self.has_failed {
            return None;
        }
        let next = self.advance().transpose();
        self.has_failed = matches!(next, Some(Err(_)));
        next
    }
}
