//! An update that depends on what the same transaction has read.

use super::Floor;
use crate::Result;
use crate::workload::Doc;

impl Floor {
    /// Reads the object with a key and changes it, in a transaction that begins with write access.
    ///
    /// # Errors
    /// The errors of SQLite; or if there is no such object.
    pub fn update_key<T: Doc>(
        &mut self,
        table: usize,
        title: &str,
        change: impl Fn(&mut T::Data),
    ) -> Result<()> {
        let statement = self.statements(table)?.update;
        self.run(self.begin_immediate)?;
        let (row_id, mut data) = self.get::<T>(table, title)?.ok_or("no such object")?;
        change(&mut data);
        self.write::<T>(statement, row_id, &data)?;
        self.run(self.commit)?;
        self.unbind(statement);
        Ok(())
    }
}
