//! Plain arguments: bytes, texts, lists, and places for results.
#![expect(unsafe_code, reason = "pointers of the caller are read and written")]

use std::ffi::c_void;
use std::marker::PhantomData;

use crate::misuse::Misuse;

#[cold]
fn absent(name: &str, count: usize, what: &str) -> Misuse {
    Misuse::new(format!(
        "{name}: the pointer is NULL or not aligned, or {count} {what} are too many"
    ))
}

#[cold]
fn not_text(name: &str) -> Misuse {
    Misuse::new(format!("{name}: the text is not UTF-8"))
}

/// Bytes of the caller: `dflat_bytes`. The pointer may be NULL if the length is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    data: *const u8,
    length: usize,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> Bytes<'a> {
    /// The bytes. `name` is that of the argument, for errors.
    ///
    /// # Errors
    /// An error if there cannot be so many bytes at the pointer.
    #[inline]
    pub fn get(self, name: &str) -> Result<&'a [u8], Misuse> {
        if self.length == 0 {
            return Ok(&[]);
        }
        if self.data.is_null() || isize::try_from(self.length).is_err() {
            return Err(absent(name, self.length, "bytes"));
        }
        // SAFETY: the pointer is not NULL and the length fits. The header requires that the bytes
        // are valid for the call, and `'a` ends with the call.
        Ok(unsafe { std::slice::from_raw_parts(self.data, self.length) })
    }
}

/// UTF-8 of the caller: `dflat_text`, which is `dflat_bytes` by another name.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(Bytes<'a>);

impl<'a> Text<'a> {
    /// The text. `name` is that of the argument, for errors.
    ///
    /// # Errors
    /// As [`Bytes::get`], and an error if the bytes are not UTF-8.
    #[inline]
    pub fn get(self, name: &str) -> Result<&'a str, Misuse> {
        std::str::from_utf8(self.0.get(name)?).map_err(|_| not_text(name))
    }
}

/// Bytes or a text for the caller, which are valid as long as their owner. The library does not
/// read them back.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Given {
    data: *const u8,
    length: usize,
}

impl Given {
    /// Bytes of the library.
    #[must_use]
    pub const fn bytes(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr(),
            length: bytes.len(),
        }
    }

    /// A text of the library.
    #[must_use]
    pub const fn text(text: &str) -> Self {
        Self::bytes(text.as_bytes())
    }
}

/// The first of several values of the caller; their number is another argument. The value NULL is
/// allowed if there is none.
///
/// `T` is plain: an argument of the header, for which all bytes are valid.
#[repr(transparent)]
#[derive(Debug)]
pub struct List<'a, T>(*const c_void, PhantomData<&'a [T]>);

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<'a, T> List<'a, T> {
    /// Whether the pointer is NULL.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// The values. `name` is that of the argument, for errors.
    ///
    /// # Errors
    /// An error if there cannot be so many values at the pointer.
    pub fn get(self, count: usize, name: &str) -> Result<&'a [T], Misuse> {
        if count == 0 {
            return Ok(&[]);
        }
        let first = self.0.cast::<T>();
        let fits = count
            .checked_mul(size_of::<T>())
            .is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if first.is_null() || !first.is_aligned() || !fits {
            return Err(absent(name, count, "values"));
        }
        // SAFETY: the pointer is aligned and not NULL, and the size fits. The header requires that
        // so many values are valid for the call, and `'a` ends with the call. `T` is plain.
        Ok(unsafe { std::slice::from_raw_parts(first, count) })
    }
}

/// A place of the caller for a result; NULL if the caller does not want it.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<'a, T>(*mut c_void, PhantomData<&'a mut T>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<'a, T: Copy> Out<'a, T> {
    /// A place of the library, which a callback writes to.
    pub const fn of(place: &'a mut T) -> Self {
        Self(std::ptr::from_mut(place).cast(), PhantomData)
    }

    /// No place: the caller does not want the result.
    #[must_use]
    pub const fn none() -> Self {
        Self(std::ptr::null_mut(), PhantomData)
    }

    /// Whether the caller wants the result.
    #[must_use]
    pub const fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Writes the value that the place keeps if the call fails. `name` is that of the argument, for
    /// errors.
    ///
    /// # Errors
    /// An error if the pointer is NULL, or not aligned.
    pub fn begin(self, name: &str, value: T) -> Result<(), Misuse> {
        if self.0.is_null() || !self.0.cast::<T>().is_aligned() {
            return Err(Misuse::new(format!(
                "{name}: there is no place for the result"
            )));
        }
        self.set(value);
        Ok(())
    }

    /// Writes a value, unless the pointer is NULL or not aligned.
    pub fn set(self, value: T) {
        let place = self.0.cast::<T>();
        if !place.is_null() && place.is_aligned() {
            // SAFETY: the pointer is aligned and not NULL. The header requires that the place is
            // valid for the call and used by nothing else meanwhile. The old value is plain, so
            // that nothing has to be dropped.
            unsafe { place.write(value) };
        }
    }
}
