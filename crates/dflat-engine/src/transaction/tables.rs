//! The tables that a transaction declares.

use std::ops::Deref;

use dflat_model::Table;

use crate::sync::Arc;

/// The tables that a transaction declares, in the order of their declaration. Most transactions
/// declare one table, which takes no allocation. Clones share the allocation of several tables.
#[derive(Clone)]
pub struct Tables(Inner);

#[derive(Clone)]
enum Inner {
    One([Table; 1]),
    Others(Arc<[Table]>),
}

impl FromIterator<Table> for Tables {
    fn from_iter<I: IntoIterator<Item = Table>>(tables: I) -> Self {
        let mut tables = tables.into_iter();
        let inner = match (tables.next(), tables.next()) {
            (Some(first), None) => Inner::One([first]),
            (first, second) => {
                let some = first.into_iter().chain(second).chain(tables);
                Inner::Others(some.collect())
            }
        };
        Self(inner)
    }
}

impl Deref for Tables {
    type Target = [Table];

    #[inline]
    fn deref(&self) -> &[Table] {
        match &self.0 {
            Inner::One(one) => one,
            Inner::Others(tables) => tables,
        }
    }
}
