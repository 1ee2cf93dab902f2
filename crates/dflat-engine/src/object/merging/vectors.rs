//! Merges vectors: members are matched by the values that older code saw.

use dflat_model::{Element, TypeId};

use super::super::compare::Elements;
use super::super::{Malformed, Slot, Writer};
use super::align::{Match, align};
use super::copy::Child;
use super::merge::{Merged, Merger, Unmergeable, Versions};

impl Merger<'_> {
    pub(super) fn vector(
        &self,
        writer: &mut Writer,
        child: Child,
        (older, newest): (Element, Element),
        versions: Versions<Elements<'_>>,
    ) -> Merged {
        let matches = self.matches(older, versions)?;
        match (child, older, newest) {
            (Child::Value(slot), Element::Table(older), Element::Table(newest)) => {
                let first = writer.slots(slot, matches.len());
                for (to, found) in matches.iter().enumerate() {
                    let slot = first.nth(to);
                    match *found {
                        Match::Same(from) => {
                            let table = versions.before.values.table(from)?;
                            self.newest.table(writer, slot, newest, table)?;
                        }
                        Match::New => {
                            let table = versions.after.values.table(to)?;
                            self.older.table(writer, slot, older, table)?;
                        }
                        Match::Changed(from) => {
                            let tables = versions.member(from, to, |v, i| v.values.table(i))?;
                            self.table(writer, slot, (older, newest), tables)?;
                        }
                    }
                }
                Ok(())
            }
            (Child::Unions(codes, values), Element::Union(older), Element::Union(newest)) => {
                let members = with_codes(&matches, versions)?;
                let bytes: Vec<u8> = members.iter().map(|(_, code)| *code).collect();
                writer.byte_vector(codes, &bytes);
                self.unions(writer, values, (older, newest), &members, versions)
            }
            (Child::Value(slot), element, _) => {
                let (size, align) = self.older.types.inline(element)?;
                let places = writer.structures(slot, matches.len(), size, align);
                let places = places.chunks_exact_mut(size);
                for ((to, found), place) in matches.iter().enumerate().zip(places) {
                    match *found {
                        Match::Same(from) => {
                            place.copy_from_slice(versions.before.values.structure(from, size)?);
                        }
                        Match::New => {
                            place.copy_from_slice(versions.after.values.structure(to, size)?);
                        }
                        Match::Changed(from) => {
                            let bytes =
                                versions.member(from, to, |v, i| v.values.structure(i, size))?;
                            self.inline(element, bytes, place)?;
                        }
                    }
                }
                Ok(())
            }
            _ => Err(Unmergeable::Malformed),
        }
    }

    fn unions(
        &self,
        writer: &mut Writer,
        values: Slot,
        (older, newest): (TypeId, TypeId),
        members: &[(Match, u8)],
        versions: Versions<Elements<'_>>,
    ) -> Merged {
        let first = writer.slots(values, members.len());
        for (to, (found, code)) in members.iter().enumerate() {
            let slot = first.nth(to);
            let (before, after) = (versions.before.values, versions.after.values);
            match *found {
                _ if *code == 0 => {}
                Match::Same(from) => {
                    self.newest
                        .union(writer, slot, newest, before.union(from, *code)?)?;
                }
                Match::Changed(from) if versions.before.code(from)? == *code => {
                    let unions = versions.member(from, to, |v, i| v.values.union(i, *code))?;
                    self.union(writer, slot, (older, newest), unions)?;
                }
                Match::New | Match::Changed(_) => {
                    self.older
                        .union(writer, slot, older, after.union(to, *code)?)?;
                }
            }
        }
        Ok(())
    }

    /// Matches the members of the written vector with those of the stored one.
    fn matches(&self, older: Element, versions: Versions<Elements<'_>>) -> Merged<Vec<Match>> {
        let Versions {
            before,
            seen,
            after,
        } = versions;
        let same =
            |from: usize, to: usize| self.comparer.element(older, seen.at(from), after.at(to));
        let aligned = align(seen.values.len(), after.values.len(), same)?;
        for from in aligned.unclear {
            let checker = self.knowledge.checker(self.older.types);
            if !checker.element(older, before.values, before.codes, from)? {
                return Err(Unmergeable::Ambiguous);
            }
        }
        Ok(aligned.matches)
    }
}

impl<'a> Elements<'a> {
    fn code(self, index: usize) -> Result<u8, Malformed> {
        self.codes.ok_or(Malformed)?.scalar(index)
    }

    /// The member at an index.
    fn at(self, index: usize) -> (Self, usize) {
        (self, index)
    }
}

/// The members of a written vector of unions, each with its type code.
fn with_codes(
    matches: &[Match],
    versions: Versions<Elements<'_>>,
) -> Result<Vec<(Match, u8)>, Malformed> {
    let members = matches.iter().enumerate();
    let members = members.map(|(to, found)| {
        let code = match *found {
            Match::Same(from) => versions.before.code(from)?,
            Match::New | Match::Changed(_) => versions.after.code(to)?,
        };
        Ok((*found, code))
    });
    members.collect()
}
