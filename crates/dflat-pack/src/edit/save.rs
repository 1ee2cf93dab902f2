//! Files of layers, and one file of all.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use dflat_engine::Result;
use dflat_model::Table;

use crate::build::{BuildOptions, NewFile, PackBuilder};
use crate::failure::write_failed;
use crate::hold::hold;
use crate::layer::Layer;
use crate::read::Pack;

impl Pack {
    /// Writes the layers of this pack that have no file in a directory. Each gets the name of its
    /// digest there. Returns the pack with these files.
    ///
    /// The file below all layers is not copied: [`open`](Self::open) looks for it in the same
    /// directory, and [`open_on`](Self::open_on) asks the program for it. A file appears when it is
    /// whole and its bytes are on the device, the lowest layer first. Only the owner may read it.
    ///
    /// # Errors
    /// [`ReadOnly`](dflat_engine::ErrorKind::ReadOnly),
    /// [`StorageFull`](dflat_engine::ErrorKind::StorageFull) and
    /// [`Io`](dflat_engine::ErrorKind::Io) if the directory cannot be written.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<Self> {
        let directory = directory.as_ref();
        // Order: no file is deleted as garbage while a layer that needs it is written. A collection
        // that has listed the directory before sees by the new time that the file is in use.
        let held: Vec<_> = self
            .bases()
            .filter_map(|base| hold(&base.path_in(directory)))
            .collect();
        for base in &held {
            // The time of a file of another user cannot be set; that file cannot be deleted either.
            let _ = base.set_modified(SystemTime::now());
        }
        let layers = self.layers().iter();
        let layers = layers
            .map(|layer| saved(layer, directory))
            .collect::<Result<_>>()?;
        drop(held);
        Ok(self.with_saved(layers))
    }

    /// Builds one pack without layers of all objects of this one, in a directory. Its file has the
    /// same bytes, and so the same name, as if it were built of these objects.
    ///
    /// # Errors
    /// As [`PackBuilder::add`] and [`PackBuilder::finish`]; [`Io`](dflat_engine::ErrorKind::Io) and
    /// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if this pack cannot be read.
    ///
    /// # Cost
    /// Reads and writes each object once.
    pub fn compact(&self, directory: impl AsRef<Path>) -> Result<Self> {
        self.compact_with(directory, BuildOptions::default())
    }

    /// As [`compact`](Self::compact), with options.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    pub fn compact_with(&self, directory: impl AsRef<Path>, options: BuildOptions) -> Result<Self> {
        let tables: Vec<Table> = self.tables().cloned().collect();
        let mut builder = PackBuilder::new(directory, tables.clone(), options)?;
        let mut payloads = self.payloads();
        while let Some((number, payload)) = payloads.next()? {
            if let Some(table) = tables.get(number) {
                builder.add(table, payload)?;
            }
        }
        builder.finish()
    }
}

/// A layer whose file is in a directory.
fn saved(layer: &Arc<Layer>, directory: &Path) -> Result<Arc<Layer>> {
    let path = layer.digest().path_in(directory);
    if layer.path() == Some(&path) && path.exists() {
        return Ok(Arc::clone(layer));
    }
    let write = || {
        let file = NewFile::create(directory)?;
        layer.write(file.file())?;
        let held = hold(&path);
        let published = file.publish(&path)?;
        drop(held);
        Ok(published)
    };
    let published = write().map_err(|error| write_failed(directory, error))?;
    let saved = Layer::saved(layer, &path).map(Arc::new);
    drop(published);
    saved
}
