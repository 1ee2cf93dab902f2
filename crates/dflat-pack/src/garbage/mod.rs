//! Deleting packs that no root needs.

mod directory;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dflat_engine::{Error, ErrorKind, Result};

use crate::digest::Digest;
use crate::layer::LAYERS_MAX;
use directory::{Deletion, Found, found_in};

/// The age from which on [`collect_garbage`] deletes a file: one hour.
pub const GRACE: Duration = Duration::from_secs(60 * 60);

/// The files that a collection has deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The digests of the packs whose files were deleted, a layer before its base.
    pub deleted: Vec<Digest>,
    /// The sizes of the files together.
    pub bytes: u64,
}

/// Deletes the packs of a directory that are not needed: those that are neither roots nor bases of
/// roots. [`GRACE`] is the age from which on a file is deleted; otherwise this is
/// [`collect_garbage_older_than`].
///
/// # Examples
/// ```
/// use dflat_pack::{Pack, collect_garbage};
///
/// /// Deletes all packs that the current one does not need.
/// fn clean(current: &Pack, directory: &std::path::Path) -> dflat_engine::Result<u64> {
///     let collected = collect_garbage(directory, [current.digest()])?;
///     Ok(collected.bytes)
/// }
/// ```
///
/// # Errors
/// As [`collect_garbage_older_than`].
pub fn collect_garbage(
    directory: impl AsRef<Path>,
    roots: impl IntoIterator<Item = Digest>,
) -> Result<Collected> {
    collect_garbage_older_than(directory, roots, GRACE)
}

/// Deletes the packs of a directory that are not needed, from an age on.
///
/// A file is deleted only if all of this holds:
/// - Its name is a digest and `.pack`, and it begins with the header of a pack or of a layer.
/// - It was changed last at least `age` ago. A program that has built a pack has so much time to
///   make it a root.
/// - No process has it open as a pack: an open pack holds a lock of its files.
/// - It is neither a root, nor a base of a root, of a file that is younger, or of an open pack.
///
/// A layer is deleted before its base, so a collection that is interrupted leaves no layer without
/// its base. Several processes may collect, build and save at the same time. On a file system
/// without locks nothing is deleted.
///
/// # Errors
/// - [`Corrupt`](ErrorKind::Corrupt) if a file that is needed is damaged, so that its base is not
///   known. Nothing is deleted then, unless the file is a layer of an open pack.
/// - [`NotFound`](ErrorKind::NotFound) if there is no such directory, or a root is not in it, so
///   that the bases of the root are not known. Nothing is deleted then.
/// - [`ReadOnly`](ErrorKind::ReadOnly) and [`Io`](ErrorKind::Io) if the directory or a file that is
///   needed cannot be read, or a file cannot be deleted. Files that were deleted before are gone.
pub fn collect_garbage_older_than(
    directory: impl AsRef<Path>,
    roots: impl IntoIterator<Item = Digest>,
    age: Duration,
) -> Result<Collected> {
    let files = found_in(directory.as_ref(), age)?;
    let mut needed = BTreeSet::new();
    for root in roots {
        if !files.contains_key(&root) {
            return Err(missing(directory.as_ref(), root));
        }
        mark(&files, root, &mut needed)?;
    }
    for (digest, file) in &files {
        if file.is_young {
            mark(&files, *digest, &mut needed)?;
        }
    }
    let garbage = files
        .iter()
        .filter(|(digest, file)| file.is_pack && !needed.contains(*digest));
    let mut garbage: Vec<_> = garbage
        .map(|(digest, file)| (layers_below(&files, file), *digest, file))
        .collect();
    garbage.sort_by_key(|(layers, digest, _)| (usize::MAX - layers, *digest));
    let mut collected = Collected::default();
    for (_, digest, file) in garbage {
        if needed.contains(&digest) {
            continue;
        }
        match file.delete()? {
            Deletion::Done => {
                collected.deleted.push(digest);
                collected.bytes += file.size_bytes;
            }
            Deletion::InUse => mark(&files, digest, &mut needed)?,
            Deletion::Gone => {}
        }
    }
    Ok(collected)
}

fn missing(directory: &Path, root: Digest) -> Error {
    let directory = directory.display();
    let message = format!(
        "cannot collect the packs of {directory}: the root {root} is not there, so its bases are \
         not known"
    );
    Error::new(ErrorKind::NotFound, message)
}

/// Notes that a pack is needed, and so are its bases.
fn mark(
    files: &BTreeMap<Digest, Found>,
    digest: Digest,
    needed: &mut BTreeSet<Digest>,
) -> Result<()> {
    let mut next = Some(digest);
    while let Some(digest) = next.take() {
        if needed.insert(digest)
            && let Some(file) = files.get(&digest)
        {
            next = file.checked_base()?;
        }
    }
    Ok(())
}

/// The number of layers below a file that are in the directory, as far as it can be read.
fn layers_below(files: &BTreeMap<Digest, Found>, file: &Found) -> usize {
    let below = |file: &&Found| file.stated_base().and_then(|base| files.get(&base));
    std::iter::successors(Some(file), below)
        .take(LAYERS_MAX + 1)
        .count()
}
