//! Merges an update by older code into a payload that newer code wrote, so that nothing is lost.
//!
//! Older code does not see the fields, enum values and union members that its schema lacks. It
//! changes some of the values that it sees and writes the others back. The merge goes through the
//! stored payload table by table and field by field: a value that older code left unchanged stays
//! as stored, hidden parts included; a changed value is taken from the update. Members of a vector
//! are matched by the values that older code saw. If some members changed and their number changed
//! too, members with hidden parts cannot be matched with certainty, and the merge is refused.

use dflat_model::{Element, FieldLayout, ROOT_TYPE, Shape, TypeDescriptor, TypeId};

use super::super::compare::{Comparer, Elements};
use super::super::{Malformed, Slot, TableView, UnionView, Writer};
use super::copy::{Child, Copier};
use super::knowledge::{Knowledge, Types};

/// Why payloads were not merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmergeable {
    /// The bytes, or the types, do not fit together.
    Malformed,
    /// Members of a vector were changed, and others added or removed, so that it is unclear to
    /// which member hidden values belong.
    Ambiguous,
}

impl From<Malformed> for Unmergeable {
    fn from(Malformed: Malformed) -> Self {
        Self::Malformed
    }
}

pub(super) type Merged<T = ()> = Result<T, Unmergeable>;

/// The payload `after`, which code with the types `older` wrote, with all values of `before` that
/// these types do not know. The types `newest` know all values of both payloads.
///
/// # Errors
/// If the hidden values of `before` can't be kept.
pub fn merge(
    (older, knowledge): (&[TypeDescriptor], &Knowledge),
    newest: &[TypeDescriptor],
    before: &[u8],
    after: &[u8],
) -> Merged<Vec<u8>> {
    let copier = |types, as_seen| Copier {
        types: Types(types),
        as_seen,
        canonical: None,
    };
    let mut writer = Writer::new();
    let mut seen_in = |payload| -> Result<Vec<u8>, Malformed> {
        let slot = writer.begin();
        copier(older, true).table(&mut writer, slot, ROOT_TYPE, TableView::root(payload)?)?;
        Ok(writer.finish().map_err(|_| Malformed)?.to_vec())
    };
    let seen = seen_in(before)?;
    // An update that wrote numbers over a copy of the stored bytes still has their hidden parts.
    let after = seen_in(after)?;
    let merger = Merger {
        older: copier(older, false),
        newest: copier(newest, false),
        comparer: Comparer::new(older),
        knowledge,
    };
    let versions = Versions {
        before: TableView::root(before)?,
        seen: TableView::root(&seen)?,
        after: TableView::root(&after)?,
    };
    let slot = writer.begin();
    merger.table(&mut writer, slot, (ROOT_TYPE, ROOT_TYPE), versions)?;
    Ok(writer.finish().map_err(|_| Malformed)?.to_vec())
}

/// One part of the payload in three versions: as stored, as older code saw it, and as older code
/// wrote it.
#[derive(Clone, Copy)]
pub(super) struct Versions<T> {
    pub(super) before: T,
    pub(super) seen: T,
    pub(super) after: T,
}

pub(super) struct Merger<'t> {
    pub(super) older: Copier<'t>,
    pub(super) newest: Copier<'t>,
    pub(super) comparer: Comparer<'t>,
    pub(super) knowledge: &'t Knowledge,
}

/// The source of a field's value in the merged payload.
enum FieldOutcome<'t> {
    /// The stored payload, hidden parts included.
    Kept(&'t FieldLayout),
    /// The update.
    Taken(&'t FieldLayout),
    /// Parts of both. Has the field of our types and that of the newest types.
    Mixed(&'t FieldLayout, &'t FieldLayout),
}

impl<'t> Merger<'t> {
    pub(super) fn table(
        &self,
        writer: &mut Writer,
        slot: Slot,
        (older, newest): (TypeId, TypeId),
        versions: Versions<TableView<'_>>,
    ) -> Merged {
        let outcomes = self.outcomes(older, newest, versions)?;
        if !writer.begin_table(slot) {
            return Err(Unmergeable::Malformed);
        }
        let Versions { before, after, .. } = versions;
        let mut children = Vec::new();
        for outcome in &outcomes {
            let child = match outcome {
                FieldOutcome::Kept(field) => self.newest.inline_part(writer, field, before)?,
                FieldOutcome::Taken(field) => self.older.inline_part(writer, field, after)?,
                FieldOutcome::Mixed(field, _) => self.mixed_inline(writer, field, versions)?,
            };
            if let Some(child) = child {
                children.push((outcome, child));
            }
        }
        writer.end_table();
        for (outcome, child) in children {
            match outcome {
                FieldOutcome::Kept(field) => self.newest.child(writer, field, child, before)?,
                FieldOutcome::Taken(field) => self.older.child(writer, field, child, after)?,
                FieldOutcome::Mixed(older, newest) => {
                    self.mixed_child(writer, (older, newest), child, versions)?;
                }
            }
        }
        writer.leave();
        Ok(())
    }

    /// The source of each field, by ascending vtable offset.
    fn outcomes(
        &self,
        older: TypeId,
        newest: TypeId,
        versions: Versions<TableView<'_>>,
    ) -> Merged<Vec<FieldOutcome<'t>>> {
        let (TypeDescriptor::Table(older), TypeDescriptor::Table(newest)) =
            (self.older.types.get(older)?, self.newest.types.get(newest)?)
        else {
            return Err(Unmergeable::Malformed);
        };
        let mut outcomes = Vec::with_capacity(newest.fields.len());
        let mut theirs = newest.fields.iter().peekable();
        for field in older.fields.as_ref() {
            // Fields that our types do not have or have deprecated.
            while let Some(unknown) = theirs.next_if(|other| other.voffset < field.voffset) {
                outcomes.push(FieldOutcome::Kept(unknown));
            }
            outcomes.push(
                match theirs.next_if(|other| other.voffset == field.voffset) {
                    // The newest types have deprecated it.
                    None => FieldOutcome::Taken(field),
                    Some(other) => self.outcome(field, other, versions)?,
                },
            );
        }
        outcomes.extend(theirs.map(FieldOutcome::Kept));
        Ok(outcomes)
    }

    fn outcome(
        &self,
        older: &'t FieldLayout,
        newest: &'t FieldLayout,
        versions: Versions<TableView<'_>>,
    ) -> Merged<FieldOutcome<'t>> {
        let Versions {
            before,
            seen,
            after,
        } = versions;
        if self.comparer.field(older, seen, after)? {
            return Ok(FieldOutcome::Kept(newest));
        }
        let voffset = older.voffset;
        let both = before.has(voffset) && after.has(voffset);
        let mixes = both
            && match older.shape {
                Shape::Single(Element::Struct(_) | Element::Table(_)) => true,
                Shape::Single(Element::Union(id)) => {
                    let (Some(was), Some(is)) = (before.union(voffset)?, after.union(voffset)?)
                    else {
                        return Ok(FieldOutcome::Taken(older));
                    };
                    was.code == is.code && self.older.types.member(id, is.code)?.is_some()
                }
                Shape::Vector(element) => !matches!(element, Element::Scalar(_) | Element::Text),
                Shape::Single(_) => false,
            };
        Ok(if mixes {
            FieldOutcome::Mixed(older, newest)
        } else {
            FieldOutcome::Taken(older)
        })
    }

    fn mixed_inline(
        &self,
        writer: &mut Writer,
        field: &FieldLayout,
        versions: Versions<TableView<'_>>,
    ) -> Merged<Option<Child>> {
        let Shape::Single(element @ Element::Struct(_)) = field.shape else {
            return Ok(self.older.inline_part(writer, field, versions.after)?);
        };
        let (size, align) = self.older.types.inline(element)?;
        let bytes =
            versions.each(|table| table.structure(field.voffset, size)?.ok_or(Malformed))?;
        let place = writer.structure(field.voffset, size, align);
        self.inline(element, bytes, place)?;
        Ok(None)
    }

    /// Merges an enum's value or a struct: values that older code did not change stay as stored.
    pub(super) fn inline(
        &self,
        element: Element,
        versions: Versions<&[u8]>,
        place: &mut [u8],
    ) -> Merged {
        let Versions {
            before,
            seen,
            after,
        } = versions;
        let Element::Struct(id) = element else {
            place.copy_from_slice(if seen == after { before } else { after });
            return Ok(());
        };
        let types = self.older.types;
        for field in types.structure(id)?.fields.as_ref() {
            let (size, _) = types.inline(field.element)?;
            for index in 0..usize::from(field.array.unwrap_or(1)) {
                let start = field.offset as usize + index * size;
                let part = |bytes: &'_ [u8]| -> Result<_, Malformed> {
                    bytes
                        .get(start..start + size)
                        .map(<[u8]>::to_vec)
                        .ok_or(Malformed)
                };
                let (before, seen, after) = (part(before)?, part(seen)?, part(after)?);
                let versions = Versions {
                    before: before.as_slice(),
                    seen: seen.as_slice(),
                    after: after.as_slice(),
                };
                let place = place.get_mut(start..start + size).ok_or(Malformed)?;
                self.inline(field.element, versions, place)?;
            }
        }
        Ok(())
    }

    fn mixed_child(
        &self,
        writer: &mut Writer,
        (older, newest): (&FieldLayout, &FieldLayout),
        child: Child,
        versions: Versions<TableView<'_>>,
    ) -> Merged {
        let voffset = older.voffset;
        match (child, older.shape, newest.shape) {
            (
                Child::Value(slot),
                Shape::Single(Element::Table(older)),
                Shape::Single(Element::Table(newest)),
            ) => {
                let tables = versions.each(|table| table.table(voffset)?.ok_or(Malformed))?;
                self.table(writer, slot, (older, newest), tables)
            }
            (
                Child::Value(slot),
                Shape::Single(Element::Union(older)),
                Shape::Single(Element::Union(newest)),
            ) => {
                let unions = versions.each(|table| table.union(voffset)?.ok_or(Malformed))?;
                self.union(writer, slot, (older, newest), unions)
            }
            (child, Shape::Vector(older), Shape::Vector(newest)) => {
                let (size, _) = self.older.types.inline(older)?;
                let is_unions = matches!(older, Element::Union(_));
                let vectors = versions.each(|table| {
                    let codes = match is_unions {
                        true => table.vector(voffset - 2, 1)?,
                        false => None,
                    };
                    let values = table.vector(voffset, size)?.ok_or(Malformed)?;
                    Ok(Elements { values, codes })
                })?;
                self.vector(writer, child, (older, newest), vectors)
            }
            _ => Err(Unmergeable::Malformed),
        }
    }

    pub(super) fn union(
        &self,
        writer: &mut Writer,
        slot: Slot,
        (older, newest): (TypeId, TypeId),
        versions: Versions<UnionView<'_>>,
    ) -> Merged {
        let code = versions.after.code;
        let members = (
            self.older.types.member(older, code)?,
            self.newest.types.member(newest, code)?,
        );
        match members {
            (Some(Element::Table(older)), Some(Element::Table(newest))) => {
                let tables = versions.each(|union| union.table())?;
                self.table(writer, slot, (older, newest), tables)
            }
            (Some(element @ Element::Struct(_)), Some(_)) => {
                let (size, align) = self.older.types.inline(element)?;
                let versions = versions.each(|union| union.structure(size))?;
                let place = writer.boxed_structure(slot, size, align);
                self.inline(element, versions, place)
            }
            _ => Ok(self.older.union(writer, slot, older, versions.after)?),
        }
    }
}

impl<T: Copy> Versions<T> {
    fn each<U>(self, read: impl Fn(T) -> Result<U, Malformed>) -> Result<Versions<U>, Malformed> {
        Ok(Versions {
            before: read(self.before)?,
            seen: read(self.seen)?,
            after: read(self.after)?,
        })
    }

    /// A member of a vector: at `from` in the stored versions, at `to` in the written one.
    pub(super) fn member<U>(
        self,
        from: usize,
        to: usize,
        read: impl Fn(T, usize) -> Result<U, Malformed>,
    ) -> Result<Versions<U>, Malformed> {
        Ok(Versions {
            before: read(self.before, from)?,
            seen: read(self.seen, from)?,
            after: read(self.after, to)?,
        })
    }
}
