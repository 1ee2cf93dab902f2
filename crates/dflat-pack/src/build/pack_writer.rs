//! Writes a pack from objects that come by type and key.

use std::sync::Arc;

use dflat_engine::Result;

use super::new_file::NewFile;
use super::output::Output;
use super::scratch::Scratch;
use super::source::SourceType;
use super::type_writer::{NewObject, TypeWriter};
use crate::codec::Compression;
use crate::content::PackContent;
use crate::digest::Digest;
use crate::layout::{ALIGN, Directory, Footer, Kind, header_of};

/// Takes the objects of all types in order.
pub(super) struct PackWriter {
    out: Output,
    types: Arc<[SourceType]>,
    scratch: Scratch,
    /// The bytes that a type keeps in memory.
    memory: usize,
    compression: Compression,
    /// The open type. Its number is that of the types that are done.
    open: Option<TypeWriter>,
    done: Directory,
    content: PackContent,
}

impl PackWriter {
    pub(super) fn create(
        scratch: &Scratch,
        types: Arc<[SourceType]>,
        memory: usize,
        compression: Compression,
    ) -> Result<Self> {
        let mut out = Output::create(scratch.directory())?;
        out.write(&header_of(Kind::Whole))?;
        Ok(Self {
            out,
            content: PackContent::new(types.len()),
            types,
            scratch: scratch.clone(),
            memory,
            compression,
            open: None,
            done: Directory::default(),
        })
    }

    /// Writes an object of a type. The types come in order, and so do the keys of each.
    pub(super) fn push(&mut self, ty: usize, object: &NewObject<'_>) -> Result<()> {
        while self.done.types.len() < ty {
            self.close()?;
        }
        let indexes = self.types.get(ty).map_or(0, |ty| ty.table.indexes.len());
        let open = || TypeWriter::new(&self.scratch, indexes, self.memory, self.compression);
        self.open
            .get_or_insert_with(open)
            .push(&mut self.out, object)
    }

    fn close(&mut self) -> Result<()> {
        let Some(ty) = self.types.get(self.done.types.len()) else {
            return Ok(());
        };
        let indexes = ty.table.indexes.len();
        let open = || TypeWriter::new(&self.scratch, indexes, self.memory, self.compression);
        let open = self.open.take().unwrap_or_else(open);
        let (layout, content) = open.finish(&mut self.out, &ty.descriptor)?;
        self.content
            .add(&ty.descriptor, layout.objects.count, content);
        self.done.types.push(layout);
        Ok(())
    }

    /// Writes all that follows the objects. The file has its bytes, but no name.
    pub(super) fn finish(mut self) -> Result<(NewFile, Digest)> {
        while self.done.types.len() < self.types.len() {
            self.close()?;
        }
        let directory = self.done.to_bytes();
        let section = self.out.section(|write| write(&directory))?;
        // The footer is aligned, too.
        self.out.align(ALIGN)?;
        let digest = self.content.finish();
        let footer = Footer {
            kind: Kind::Whole,
            directory: section.extent,
            directory_checksum: section.checksum,
            digest,
        };
        self.out.write(&footer.to_bytes())?;
        Ok((self.out.finish()?, digest))
    }
}
