//! Where pointers of C become references of Rust, the only module with `unsafe`.
//!
//! A schema object is a number in place of a pointer, which is looked up: nothing reads from the
//! pointer of an object, so that one that was released, or was never made, is refused.
#![expect(unsafe_code, reason = "pointers of the caller are read and written")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

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
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OK,
        Ok(Err(Failure::NotFound)) => NOT_FOUND,
        Ok(Err(Failure::Invalid(_))) => INVALID_ARGUMENT,
        Err(panic) => {
            // The value of the panic may panic again when it is dropped.
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(another);
            }
            PANICKED
        }
    }
}

/// Exports functions that return a code.
macro_rules! export_code {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[allow(unsafe_code, reason = "the name is the one in the header, and no other crate's")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type,)*) -> i32 {
            $crate::boundary::guard(move || -> $crate::failure::Result<()> {
                $body
                Ok(())
            })
        }
    )*};
}

/// Exports functions that return a value and cannot fail.
macro_rules! export_value {
    ($(fn $name:ident() -> $value:ty $body:block)*) => {$(
        #[allow(unsafe_code, reason = "the name is the one in the header, and no other crate's")]
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> $value $body
    )*};
}

pub(crate) use {export_code, export_value};

/// UTF-8 of the caller: `dflat_text`. The pointer may be NULL if the length is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    data: *const u8,
    length: usize,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> Text<'a> {
    /// The text. `name` is the one for errors.
    pub(crate) fn get(self, name: &str) -> Result<&'a str> {
        if self.length == 0 {
            return Ok("");
        }
        if self.data.is_null() || isize::try_from(self.length).is_err() {
            let length = self.length;
            return Err(invalid(format!(
                "{name}: there are no {length} bytes at its pointer"
            )));
        }
        // SAFETY: the pointer is not NULL and the length fits. The header requires that the bytes
        // are valid for the call, and `'a` ends with the call.
        let bytes = unsafe { std::slice::from_raw_parts(self.data, self.length) };
        std::str::from_utf8(bytes).map_err(|_| invalid(format!("{name}: the text is not UTF-8")))
    }
}

/// Bytes or a text for the caller, which belong to a schema. The library does not read them back.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Given {
    data: *const u8,
    length: usize,
}

impl Given {
    /// Bytes of the library.
    pub(crate) const fn bytes(bytes: &[u8]) -> Self {
        let (data, length) = (bytes.as_ptr(), bytes.len());
        Self { data, length }
    }

    /// A text of the library.
    pub(crate) const fn text(text: &str) -> Self {
        Self::bytes(text.as_bytes())
    }
}

/// A file: `dflat_schema_file`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawFile<'a> {
    pub(crate) name: Text<'a>,
    pub(crate) content: Text<'a>,
}

/// The first of several files of the caller; their number is another argument.
#[repr(transparent)]
pub(crate) struct List<'a, T>(*const T, PhantomData<&'a [T]>);

impl<'a> List<'a, RawFile<'a>> {
    /// The files.
    pub(crate) fn get(self, count: usize) -> Result<&'a [RawFile<'a>]> {
        if count == 0 {
            return Ok(&[]);
        }
        let fits = count
            .checked_mul(size_of::<RawFile<'_>>())
            .is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if self.0.is_null() || !self.0.is_aligned() || !fits {
            return Err(invalid(format!(
                "files: there are no {count} files at its pointer"
            )));
        }
        // SAFETY: the pointer is aligned and not NULL, and the size fits. The header requires that
        // so many files are valid for the call, and `'a` ends with the call. A file is two pointers
        // and two numbers, for which all bytes are valid.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

/// A place of the caller for a result.
#[repr(transparent)]
pub(crate) struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T: Copy> Out<'_, T> {
    /// Writes a value.
    pub(crate) fn set(&self, value: T) -> Result<()> {
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(invalid("there is no place for the result"));
        }
        // SAFETY: the pointer is aligned and not NULL. The header requires that the place is valid
        // for the call and used by nothing else meanwhile. The old value is plain.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

/// The schemas that exist, by number. A number is not used again.
static SCHEMAS: Mutex<Schemas> = Mutex::new(Schemas {
    last: 0,
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
        self.0.set(std::ptr::null_mut())
    }

    /// Gives a schema to the caller.
    pub(crate) fn set(&self, compiled: Compiled) -> Result<()> {
        let number = {
            let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
            schemas.last += 1;
            schemas.last
        };
        with_schemas(|schemas| schemas.insert(number, Arc::new(compiled)));
        self.0.set(std::ptr::without_provenance_mut(number))
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
    use std::panic::panic_any;

    use super::*;

    /// A value of a panic that panics with another such value when it is dropped.
    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic_any(Self);
        }
    }

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("a defect")), PANICKED);
        assert_eq!(guard(|| panic_any(PanicsAgain)), PANICKED);
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
