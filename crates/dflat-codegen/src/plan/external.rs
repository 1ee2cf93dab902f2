//! Finds the files whose types another run generates.

use dflat_schema::{Diagnostic, FileId, Schema};

use crate::External;
use crate::diagnostic::{EXTERNAL_FILE, error};

/// By [`FileId`]: the module that has the file's types, or `None` if this run generates them.
///
/// Files that an external file includes were compiled with it, so they are external too.
pub(super) fn origins<'s>(
    schema: &Schema,
    externals: &'s [External],
) -> Result<Vec<Option<&'s str>>, Vec<Diagnostic>> {
    let mut origins: Vec<Option<&str>> = vec![None; schema.files.len()];
    let mut errors = Vec::new();
    for External { file, path } in externals {
        let mut found = false;
        for (position, source) in schema.files.iter().enumerate() {
            if !source.requested && names(&source.path, file) {
                origins[position] = Some(path);
                found = true;
            }
        }
        if !found {
            let message = format!("the external file `{file}` is not included");
            errors.push(error(&EXTERNAL_FILE, message));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut pending: Vec<FileId> = (0..)
        .map(FileId)
        .take(origins.len())
        .filter(|file| origins[file.0 as usize].is_some())
        .collect();
    while let Some(file) = pending.pop() {
        let origin = origins[file.0 as usize];
        for included in &schema.files[file.0 as usize].includes {
            let position = included.0 as usize;
            if origins[position].is_none() && !schema.files[position].requested {
                origins[position] = origin;
                pending.push(*included);
            }
        }
    }
    Ok(origins)
}

/// Whether the path of a loaded file is `name`, or ends with it after a directory separator.
fn names(path: &str, name: &str) -> bool {
    path.strip_suffix(name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
}
