//! Verifies a payload against its descriptor, so that reading it can't fail.
//!
//! Checked: every offset, length and vtable that the schema reaches lies in the buffer, strings are
//! UTF-8, and required fields are present. Not checked: enum values and union members that the
//! schema does not know; newer code may have written them.
//!
//! Bounded: the depth; the bytes visited, in proportion to the payload's size; and the bytes that a
//! copy takes in which no part is shared. A writer may let many fields refer to one string, so a
//! payload that has spent its visits is verified again, with each string visited once.

use std::collections::BTreeSet;

use dflat_model::{Element, FieldLayout, ROOT_TYPE, Shape, TypeDescriptor, TypeId, UnionLayout};

use super::reader::{follow, text_bytes_at};
use super::text::text;
use super::{Malformed, TableView, UnionView, VectorView};

/// How deep tables may nest.
pub const DEPTH_MAX: usize = 64;

/// The bytes that may be visited for each byte of a payload; for a small payload, at least
/// [`VISITS_MIN`].
const VISITS_PER_BYTE: usize = 16;
const VISITS_MIN: usize = 64 * 1024;

/// The bytes that strings, and vectors of numbers and structs, may take for each byte of a payload,
/// each counted as often as the payload refers to it; for a small payload, at least
/// [`EXPANDED_MIN`].
const EXPANDED_PER_BYTE: usize = 256;
const EXPANDED_MIN: usize = 16 * 1024 * 1024;

/// The largest number of bytes that reading all of a payload may visit.
#[must_use]
pub fn visits_max(payload: &[u8]) -> usize {
    let visits = payload.len().saturating_mul(VISITS_PER_BYTE);
    visits.max(VISITS_MIN)
}

/// Verifies a payload whose root table is the first of `types`.
///
/// # Errors
/// If reading the payload by these types could fail, or it shares parts beyond the limits.
pub fn verify(types: &[TypeDescriptor], payload: &[u8]) -> Result<(), Malformed> {
    verify_as(types, ROOT_TYPE, payload)
}

/// Verifies a payload whose root table has the type with this id.
///
/// # Errors
/// As [`verify`].
pub fn verify_as(types: &[TypeDescriptor], root: TypeId, payload: &[u8]) -> Result<(), Malformed> {
    verify_with(types, root, payload, false)
}

/// Verifies a payload as [`verify`] does, except that required fields may be absent: other programs
/// write such payloads.
///
/// # Errors
/// As [`verify`].
pub fn verify_incomplete(types: &[TypeDescriptor], payload: &[u8]) -> Result<(), Malformed> {
    verify_with(types, ROOT_TYPE, payload, true)
}

fn verify_with(
    types: &[TypeDescriptor],
    root: TypeId,
    payload: &[u8],
    incomplete: bool,
) -> Result<(), Malformed> {
    let mut verifier = Verifier::<false>::new(types, payload, incomplete);
    let verified = verifier.table(root, TableView::root(payload)?);
    if verifier.spent.is_none() {
        return verified;
    }
    verify_shared(types, root, payload, incomplete).map_err(|_| Malformed)
}

/// The limit of shared parts because of which [`verify_as`] refuses a payload, for messages. `None`
/// if the payload is malformed or accepted.
#[must_use]
pub fn exceeded_limit(
    types: &[TypeDescriptor],
    root: TypeId,
    payload: &[u8],
) -> Option<&'static str> {
    Some(match verify_shared(types, root, payload, false).err()?? {
        Limit::Visits => {
            "its parts are shared so often that reading them all visits more than 16 bytes for \
             each byte"
        }
        Limit::Expanded => {
            "its strings and vectors are shared so often that a copy without sharing takes more \
             than 256 bytes for each byte"
        }
    })
}

/// Verifies a payload that may share parts. The error is the exceeded limit, or `None` if the
/// payload is malformed.
#[cold]
fn verify_shared(
    types: &[TypeDescriptor],
    root: TypeId,
    payload: &[u8],
    incomplete: bool,
) -> Result<(), Option<Limit>> {
    let mut verifier = Verifier::<true>::new(types, payload, incomplete);
    let table = TableView::root(payload).map_err(|_| None)?;
    let verified = verifier.table(root, table);
    verified.map_err(|_| verifier.spent)
}

/// Checks that an inline value lies in the buffer.
#[inline]
fn within(buffer: &[u8], position: usize, size: usize) -> Result<(), Malformed> {
    if position + size <= buffer.len() {
        Ok(())
    } else {
        Err(Malformed)
    }
}

/// Checks that a vector of unions has no type codes if it has no values.
fn no_codes(table: TableView<'_>, voffset: u16) -> Result<(), Malformed> {
    match table.vector(voffset - 2, 1)? {
        Some(codes) if !codes.is_empty() => Err(Malformed),
        _ => Ok(()),
    }
}

/// A limit of shared parts.
#[derive(Clone, Copy)]
enum Limit {
    Visits,
    Expanded,
}

/// The parts of a payload, of which some are referred to several times.
struct SharedParts {
    /// The bytes that strings and vectors may still take, each counted as often as the payload
    /// refers to it.
    expanded: usize,
    /// The addresses of the strings so far.
    strings: BTreeSet<usize>,
}

/// If `SHARED`, each string is visited once, which needs the set of the strings so far.
struct Verifier<'t, const SHARED: bool> {
    types: &'t [TypeDescriptor],
    /// The bytes that may still be visited.
    visits: usize,
    /// Only if `SHARED`.
    shared: Option<Box<SharedParts>>,
    /// The limit that was exceeded.
    spent: Option<Limit>,
    depth: usize,
    /// Whether required fields may be absent.
    incomplete: bool,
}

impl<'t, const SHARED: bool> Verifier<'t, SHARED> {
    fn new(types: &'t [TypeDescriptor], payload: &[u8], incomplete: bool) -> Self {
        Self {
            types,
            visits: visits_max(payload),
            shared: SHARED.then(|| {
                let expanded = payload.len().saturating_mul(EXPANDED_PER_BYTE);
                Box::new(SharedParts {
                    expanded: expanded.max(EXPANDED_MIN),
                    strings: BTreeSet::new(),
                })
            }),
            spent: None,
            depth: 0,
            incomplete,
        }
    }

    #[inline]
    fn spend(&mut self, bytes: usize) -> Result<(), Malformed> {
        let Some(left) = self.visits.checked_sub(bytes) else {
            return self.refuse(Limit::Visits);
        };
        self.visits = left;
        Ok(())
    }

    /// Counts the bytes of a string, or of a vector whose elements have a fixed size.
    #[inline]
    fn expand(&mut self, bytes: usize) -> Result<(), Malformed> {
        let Some(shared) = self.shared.as_mut().filter(|_| SHARED) else {
            return self.spend(bytes);
        };
        let Some(left) = shared.expanded.checked_sub(bytes) else {
            return self.refuse(Limit::Expanded);
        };
        shared.expanded = left;
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, limit: Limit) -> Result<(), Malformed> {
        self.spent = Some(limit);
        Err(Malformed)
    }

    #[inline]
    fn text(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.expand(bytes.len())?;
        if SHARED && let Some(shared) = &mut self.shared {
            if !shared.strings.insert(bytes.as_ptr().addr()) {
                return Ok(());
            }
            self.spend(bytes.len())?;
        }
        text(bytes).map(|_| ())
    }

    fn descriptor(&self, id: TypeId) -> Result<&'t TypeDescriptor, Malformed> {
        self.types.get(usize::from(id.0)).ok_or(Malformed)
    }

    fn table(&mut self, id: TypeId, table: TableView<'_>) -> Result<(), Malformed> {
        let TypeDescriptor::Table(layout) = self.descriptor(id)? else {
            return Err(Malformed);
        };
        self.spend(8)?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Malformed);
        }
        for field in layout.fields.as_ref() {
            self.field(field, table)?;
        }
        self.depth -= 1;
        Ok(())
    }

    #[inline]
    fn field(&mut self, field: &FieldLayout, table: TableView<'_>) -> Result<(), Malformed> {
        let Some(position) = table.field(field.voffset) else {
            return match field.shape {
                _ if field.required && !self.incomplete => Err(Malformed),
                Shape::Vector(Element::Union(_)) => no_codes(table, field.voffset),
                _ => Ok(()),
            };
        };
        let buffer = table.buffer();
        match field.shape {
            Shape::Single(Element::Scalar(scalar)) => within(buffer, position, scalar.size_bytes()),
            Shape::Single(element @ (Element::Enum(_) | Element::Struct(_))) => {
                within(buffer, position, self.inline_size(element)?)
            }
            Shape::Single(Element::Text) => {
                self.text(text_bytes_at(buffer, follow(buffer, position)?)?)
            }
            Shape::Single(Element::Table(id)) => {
                self.table(id, TableView::at(buffer, follow(buffer, position)?)?)
            }
            Shape::Single(Element::Union(id)) => match table.union(field.voffset)? {
                Some(union) => self.union(self.union_layout(id)?, union),
                None => Ok(()),
            },
            Shape::Vector(Element::Union(id)) => self.unions(id, table, field.voffset),
            Shape::Vector(element) => {
                let size = self.inline_size(element)?;
                match table.vector(field.voffset, size)? {
                    Some(vector) => self.elements(element, vector, size),
                    None => Ok(()),
                }
            }
        }
    }

    fn union_layout(&self, id: TypeId) -> Result<&'t UnionLayout, Malformed> {
        match self.descriptor(id)? {
            TypeDescriptor::Union(layout) => Ok(layout),
            _ => Err(Malformed),
        }
    }

    fn union(&mut self, layout: &UnionLayout, union: UnionView<'_>) -> Result<(), Malformed> {
        let Some(member) = layout
            .members
            .iter()
            .find(|member| member.code == union.code)
        else {
            return Ok(());
        };
        match member.element {
            Element::Table(id) => self.table(id, union.table()?),
            Element::Text => self.text(union.text_bytes()?),
            element => union.structure(self.inline_size(element)?).map(|_| ()),
        }
    }

    fn unions(&mut self, id: TypeId, table: TableView<'_>, voffset: u16) -> Result<(), Malformed> {
        let layout = self.union_layout(id)?;
        let codes = table.vector(voffset - 2, 1)?;
        let values = table.vector(voffset, 4)?;
        let (Some(codes), Some(values)) = (codes, values) else {
            return Err(Malformed);
        };
        if codes.len() != values.len() {
            return Err(Malformed);
        }
        self.spend(codes.len().saturating_mul(5))?;
        for (index, code) in codes.bytes().iter().enumerate() {
            if *code != 0 {
                self.union(layout, values.union(index, *code)?)?;
            }
        }
        Ok(())
    }

    fn elements(
        &mut self,
        element: Element,
        vector: VectorView<'_>,
        size: usize,
    ) -> Result<(), Malformed> {
        match element {
            Element::Text => {
                self.spend(vector.len().saturating_mul(4))?;
                (0..vector.len()).try_for_each(|index| self.text(vector.text_bytes(index)?))
            }
            Element::Table(id) => {
                self.spend(vector.len().saturating_mul(4))?;
                (0..vector.len()).try_for_each(|index| self.table(id, vector.table(index)?))
            }
            // Elements of fixed size were checked together with the vector's length.
            _ => self.expand(vector.len().saturating_mul(size)),
        }
    }

    /// The size of an element's inline part.
    fn inline_size(&self, element: Element) -> Result<usize, Malformed> {
        Ok(match element {
            Element::Scalar(scalar) => scalar.size_bytes(),
            Element::Enum(id) => match self.descriptor(id)? {
                TypeDescriptor::Enum(layout) => layout.base.size_bytes(),
                _ => return Err(Malformed),
            },
            Element::Struct(id) => match self.descriptor(id)? {
                TypeDescriptor::Struct(layout) => layout.size as usize,
                _ => return Err(Malformed),
            },
            Element::Text | Element::Table(_) | Element::Union(_) => 4,
        })
    }
}
