//! A commit, and its bytes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::storage::StepId;
use dflat_engine::{Error, ErrorKind, Result};

use crate::bytes::{Input, put_bytes, put_count};
use crate::chunk::Address;
use crate::steps::CommitId;
use crate::tree::Root;

const VERSION: u8 = 1;
const ORDINARY: u8 = 0;
const MERGE: u8 = 1;

/// A state of all versioned types, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// The name of the commit.
    pub id: CommitId,
    /// The commits before it: none for the first, two or more for a merge.
    pub parents: Vec<CommitId>,
    /// The types, in order of their tables' names.
    pub tables: Vec<CommitTable>,
    /// The number of steps since the first parent.
    pub steps: u64,
    /// When it was made, by the clock of the process that made it.
    pub time: SystemTime,
    /// The id of the workspace that made it, if the program named it.
    pub workspace: Option<u128>,
    /// The author, as the program named it.
    pub author: Option<String>,
    /// The label.
    pub label: Option<String>,
    /// The last step that it closes, if it was made in this file, or the last step before the
    /// tables were set to its objects. The objects of other commits never were those of the tables.
    pub last_step: Option<StepId>,
    /// The hash of the steps.
    pub(crate) steps_hash: Address,
}

/// A type of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitTable {
    /// The name of the table in the file, such as `post`.
    pub name: String,
    /// The tree of the objects.
    pub root: Root,
    /// The hash of the type's descriptor.
    pub descriptor: Address,
    /// The number of objects.
    pub objects: u64,
    /// Whether the history of the type was forgotten since in this file: the objects of the commit
    /// are lost.
    pub is_forgotten: bool,
    /// Whether objects of the commit were forgotten since in this file, one by one. The root and
    /// the number of objects are those with them, so they can no longer be checked.
    pub has_forgotten_objects: bool,
    /// The tree of the other objects, if some were forgotten and it was built since.
    pub(crate) rest: Option<Root>,
}

impl Commit {
    /// The root of a type; that of no objects if the commit does not have the type. If objects of
    /// the commit [were forgotten](CommitTable::has_forgotten_objects), it is that of the others,
    /// as soon as their tree is built.
    #[must_use]
    pub fn root(&self, table: &str) -> Root {
        let found = self.tables.iter().find(|of| of.name == table);
        found.map_or(Root::EMPTY, |of| of.kept().unwrap_or(of.root))
    }

    /// As [`root`](Self::root), but none if the tree is not built yet.
    pub(crate) fn kept_root(&self, table: &str) -> Option<Root> {
        let found = self.tables.iter().find(|of| of.name == table);
        found.map_or(Some(Root::EMPTY), CommitTable::kept)
    }

    /// Whether it is a merge.
    #[must_use]
    pub const fn is_merge(&self) -> bool {
        self.parents.len() > 1
    }

    /// Sets the id to that of the other parts.
    pub(crate) fn name(&mut self) {
        self.id = id_of(self);
    }

    /// The bytes of the commit: equal in every file.
    #[must_use]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION, if self.is_merge() { MERGE } else { ORDINARY }];
        put_parents(&self.parents, &mut out);
        put_count(self.tables.len(), &mut out);
        for table in &self.tables {
            put_bytes(table.name.as_bytes(), &mut out);
            out.extend(table.root.address().as_bytes());
            out.extend(table.descriptor.as_bytes());
            out.extend(table.objects.to_le_bytes());
        }
        out.extend(self.steps.to_le_bytes());
        out.extend(self.steps_hash.as_bytes());
        out.extend(milliseconds(self.time).to_le_bytes());
        out.push(self.workspace.is_some().into());
        out.extend(self.workspace.iter().flat_map(|id| id.to_le_bytes()));
        for text in [&self.author, &self.label] {
            out.push(text.is_some().into());
            text.iter()
                .for_each(|text| put_bytes(text.as_bytes(), &mut out));
        }
        out
    }

    /// The commit of bytes that another file gave.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if they are malformed.
    pub(crate) fn from_wire(bytes: &[u8]) -> Result<Self> {
        let mut input = Input(bytes);
        let commit = decode(&mut input).filter(|_| input.0.is_empty());
        commit.ok_or_else(|| {
            let message = "cannot read a commit of another file: its bytes are malformed";
            Error::new(ErrorKind::Corrupt, message)
        })
    }

    /// The row of the commit in the file: the last step and the types whose history was forgotten,
    /// the bytes, and the types some of whose objects were forgotten. Only this file has these,
    /// apart from the bytes.
    #[must_use]
    pub(crate) fn to_row(&self) -> Vec<u8> {
        let last_step = self.last_step.map_or(-1, |step| step.0);
        let mut row = last_step.to_le_bytes().to_vec();
        let forgotten = self.tables.iter().filter(|table| table.is_forgotten);
        put_count(forgotten.clone().count(), &mut row);
        forgotten.for_each(|table| put_bytes(table.name.as_bytes(), &mut row));
        row.extend(self.to_bytes());
        let lacking = self.tables.iter().filter(|of| of.has_forgotten_objects);
        if lacking.clone().count() > 0 {
            put_count(lacking.clone().count(), &mut row);
        }
        for table in lacking {
            put_bytes(table.name.as_bytes(), &mut row);
            row.push(table.rest.is_some().into());
            row.extend(
                table
                    .rest
                    .iter()
                    .flat_map(|rest| *rest.address().as_bytes()),
            );
        }
        row
    }

    /// The commit of a row.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the row is malformed, or has another id.
    pub(crate) fn from_row(id: &[u8], row: &[u8]) -> Result<Self> {
        let mut input = Input(row);
        let read = input.array().map(i64::from_le_bytes).and_then(|last| {
            let forgotten = input.list(Input::text)?;
            let mut commit = decode(&mut input)?;
            commit.last_step = (last >= 0).then_some(StepId(last));
            lacking(&mut commit, &mut input)?;
            for name in forgotten {
                let mut tables = commit.tables.iter_mut();
                tables.find(|table| table.name == name)?.is_forgotten = true;
            }
            Some(commit)
        });
        match read {
            Some(commit) if commit.id.as_bytes() == id => Ok(commit),
            _ => {
                let message = "cannot read a commit of the history: its bytes are damaged";
                Err(Error::new(ErrorKind::Corrupt, message))
            }
        }
    }
}

/// Reads the end of a row: the tables some of whose objects were forgotten, if there are any.
fn lacking(commit: &mut Commit, input: &mut Input<'_>) -> Option<()> {
    if input.0.is_empty() {
        return Some(());
    }
    let lacking = input.list(|input| {
        let name = input.text()?;
        let rest = input.optional(|input| input.array().map(Address::from_bytes))?;
        Some((name, rest.map(Root::from_address)))
    })?;
    for (name, rest) in lacking {
        let of = commit.tables.iter_mut().find(|of| of.name == name)?;
        (of.has_forgotten_objects, of.rest) = (true, rest);
    }
    input.0.is_empty().then_some(())
}

/// The commit of bytes that another file gave.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if they are malformed.
pub fn from_wire(bytes: &[u8]) -> Result<Commit> {
    Commit::from_wire(bytes)
}

fn decode(input: &mut Input<'_>) -> Option<Commit> {
    let (version, kind) = (input.byte()?, input.byte()?);
    let parents = input.list(|input| input.array().map(CommitId::from_bytes))?;
    let tables = input.list(|input| {
        Some(CommitTable {
            name: input.text()?,
            root: Root::from_address(Address::from_bytes(input.array()?)),
            descriptor: Address::from_bytes(input.array()?),
            objects: input.number()?,
            is_forgotten: false,
            has_forgotten_objects: false,
            rest: None,
        })
    })?;
    let mut commit = Commit {
        id: CommitId::from_bytes([0; CommitId::BYTES]),
        parents,
        tables,
        steps: input.number()?,
        steps_hash: Address::from_bytes(input.array()?),
        time: UNIX_EPOCH.checked_add(Duration::from_millis(input.number()?))?,
        workspace: input.optional(|input| input.array().map(u128::from_le_bytes))?,
        author: input.optional(Input::text)?,
        label: input.optional(Input::text)?,
        last_step: None,
    };
    let is_sorted = commit
        .tables
        .is_sorted_by(|one, other| one.name < other.name);
    let is_kind = kind == if commit.is_merge() { MERGE } else { ORDINARY };
    if version != VERSION || !is_kind || !is_sorted {
        return None;
    }
    commit.name();
    Some(commit)
}

fn put_parents(parents: &[CommitId], out: &mut Vec<u8>) {
    put_count(parents.len(), out);
    out.extend(parents.iter().flat_map(|parent| parent.as_bytes()));
}

/// The id of a commit: the hash of its bytes; of a merge, only that of its parents in order and of
/// its content, so that both sides give it one id.
fn id_of(commit: &Commit) -> CommitId {
    let address = match commit.is_merge() {
        false => Address::of(&commit.to_bytes()),
        true => {
            let mut parents = commit.parents.clone();
            parents.sort_unstable();
            let mut core = vec![VERSION, MERGE];
            put_parents(&parents, &mut core);
            put_count(commit.tables.len(), &mut core);
            for table in &commit.tables {
                put_bytes(table.name.as_bytes(), &mut core);
                core.extend(table.root.address().as_bytes());
            }
            Address::of(&core)
        }
    };
    CommitId::from_bytes(*address.as_bytes())
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(parents: &[u8]) -> Commit {
        let table = |name: &str| CommitTable {
            name: name.to_owned(),
            root: Root::EMPTY,
            descriptor: Address::of(name.as_bytes()),
            objects: 3,
            is_forgotten: name == "other",
            has_forgotten_objects: false,
            rest: None,
        };
        let mut commit = Commit {
            id: CommitId::from_bytes([0; 32]),
            parents: parents
                .iter()
                .map(|byte| CommitId::from_bytes([*byte; 32]))
                .collect(),
            tables: vec![table("item"), table("other")],
            steps: 4,
            time: UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
            workspace: Some(7),
            author: None,
            label: Some("first".to_owned()),
            last_step: Some(StepId(9)),
            steps_hash: Address::of(b"steps"),
        };
        commit.name();
        commit
    }

    #[test]
    fn commits_are_read_as_they_were_written_and_damage_is_found() {
        for parents in [&[][..], &[1], &[2, 1]] {
            let commit = commit(parents);
            let row = commit.to_row();
            let id = commit.id.as_bytes();
            assert_eq!(Commit::from_row(id, &row).unwrap(), commit);
            for length in 0..row.len() {
                assert!(Commit::from_row(id, &row[..length]).is_err(), "{length}");
            }
            if !commit.is_merge() {
                for at in 8..row.len() {
                    let mut damaged = row.clone();
                    damaged[at] ^= 1;
                    assert!(Commit::from_row(id, &damaged).is_err(), "{at}");
                }
            }
        }
    }

    #[test]
    fn row_has_the_tables_some_of_whose_objects_were_forgotten() {
        for rest in [None, Some(Root::from_address(Address::of(b"rest")))] {
            let mut commit = commit(&[1]);
            let (id, plain) = (commit.id, commit.to_row());
            commit.tables[1].has_forgotten_objects = true;
            commit.tables[1].rest = rest;
            commit.name();
            assert_eq!(commit.id, id);
            let row = commit.to_row();
            assert_eq!(Commit::from_row(id.as_bytes(), &row).unwrap(), commit);
            let of_other = commit.kept_root("other");
            assert_eq!(
                (of_other, commit.kept_root("item")),
                (rest, Some(Root::EMPTY))
            );
            // The bytes that other files have end where those of a row without such tables end.
            for length in plain.len() + 1..row.len() {
                assert!(
                    Commit::from_row(id.as_bytes(), &row[..length]).is_err(),
                    "{length}"
                );
            }
            let longer = [&row[..], &[0]].concat();
            assert!(Commit::from_row(id.as_bytes(), &longer).is_err());
        }
    }

    #[test]
    fn id_of_a_merge_depends_on_its_parents_and_content_alone() {
        let (one, mut other) = (commit(&[1, 2]), commit(&[2, 1]));
        (other.label, other.steps) = (None, 0);
        other.name();
        assert_eq!(one.id, other.id);
        other.tables.pop();
        other.name();
        assert_ne!(one.id, other.id);
        assert_ne!(commit(&[1]).id, commit(&[2]).id);
    }
}
