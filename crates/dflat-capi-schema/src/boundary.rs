//! Schema objects, files, and the codes of functions. Plain arguments, such as texts, are in the
//! crate `dflat-capi-boundary`.
//!
//! A schema object is a number in place of a pointer, which is looked up: nothing reads from the
//! pointer of an object, so that one that was released, or was never made, is refused.

use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use dflat_capi_boundary::{Out, Text, caught};

use crate::compiled::Compiled;
use crate::failure::{Failure, Result, invalid};

/// The codes of `dflat.h` that functions return.
const OK: i32 = 0;
const NOT_FOUND: i32 = 3;
const PANICKED: i32 = 18;
const INVALID_ARGUMENT: i32 = 21;

/// Runs the body of a function.
pub(crate) fn guard(body: impl FnOnce() -> Result<()>) -> i32 {
    // The list of schemas recovers from poisoning.
    match caught(body) {
        Some(Ok(())) => OK,
        Some(Err(Failure::NotFound)) => NOT_FOUND,
        Some(Err(Failure::Invalid(_))) => INVALID_ARGUMENT,
        None => PANICKED,
    }
}

/// A file: `dflat_schema_file`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawFile<'a> {
    pub(crate) name: Text<'a>,
    pub(crate) content: Text<'a>,
}

/// The schemas that exist, by number. A number is not used again. All numbers are odd: the library
/// of databases refuses such a pointer, instead of reading from it.
static SCHEMAS: Mutex<Schemas> = Mutex::new(Schemas {
    last: 1,
    by_number: None,
});

struct Schemas {
    last: usize,
    by_number: Option<HashMap<usize, Arc<Compiled>>>,
}

fn with_schemas<R>(use_schemas: impl FnOnce(&mut HashMap<usize, Arc<Compiled>>) -> R) -> R {
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    use_schemas(schemas.by_number.get_or_insert_with(HashMap::new))
}

/// The pointer of a schema.
#[derive(Clone, Copy)]
pub(crate) struct SchemaHandle;

/// A schema that the caller lends for a call.
#[repr(transparent)]
pub(crate) struct In<'a, T>(*const c_void, PhantomData<&'a T>);

impl In<'_, SchemaHandle> {
    /// The schema. Its texts stay where they are until it is released.
    pub(crate) fn get(self) -> Result<Arc<Compiled>> {
        with_schemas(|schemas| schemas.get(&self.0.addr()).cloned())
            .ok_or_else(|| invalid("the pointer is not one of a schema, or it was released"))
    }
}

/// A place of the caller for a new schema.
#[repr(transparent)]
pub(crate) struct OutHandle<'a, T>(Out<'a, *mut c_void>, PhantomData<T>);

impl OutHandle<'_, SchemaHandle> {
    /// Refuses NULL, and writes NULL, which the place keeps if the call makes no schema.
    pub(crate) fn begin(&self) -> Result<()> {
        Ok(self.0.begin("schema", std::ptr::null_mut())?)
    }

    /// Gives a schema to the caller.
    pub(crate) fn set(&self, compiled: Compiled) {
        let number = {
            let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
            schemas.last += 2;
            schemas.last
        };
        with_schemas(|schemas| schemas.insert(number, Arc::new(compiled)));
        self.0.set(std::ptr::without_provenance_mut(number));
    }
}

/// A schema that the caller gives back.
#[repr(transparent)]
pub(crate) struct Owned<T>(*mut c_void, PhantomData<T>);

impl Owned<SchemaHandle> {
    /// Releases the schema, unless the pointer is NULL.
    pub(crate) fn release(self) -> Result<()> {
        let number = self.0.addr();
        let released = with_schemas(|schemas| schemas.remove(&number));
        if number != 0 && released.is_none() {
            return Err(invalid(
                "the pointer is not one of a schema, or it was released",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("a defect")), PANICKED);
    }

    #[test]
    fn a_failure_has_the_code_of_its_name_in_the_header() {
        let header = include_str!("../../dflat-capi/include/dflat.h");
        for (name, code) in [
            ("DFLAT_OK", OK),
            ("DFLAT_NOT_FOUND", NOT_FOUND),
            ("DFLAT_PANICKED", PANICKED),
            ("DFLAT_INVALID_ARGUMENT", INVALID_ARGUMENT),
        ] {
            let line = format!("{name} = {code},");
            assert!(header.lines().any(|other| other.trim() == line), "{line}");
        }
        assert_eq!(guard(|| Ok(())), OK);
        assert_eq!(guard(|| Err(Failure::NotFound)), NOT_FOUND);
        assert_eq!(guard(|| Err(invalid("no"))), INVALID_ARGUMENT);
    }
}
