//! Plain arguments: bytes, texts, lists, and places for results.
#![expect(unsafe_code, reason = "pointers of the caller are read and written")]

use std::ffi::c_void;
use std::marker::PhantomData;

use dflat_engine::Result;

use super::code::invalid;

/// Bytes of the caller: `dflat_bytes`. The pointer may be NULL if the length is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    data: *const u8,
    length: usize,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> Bytes<'a> {
    /// The bytes. `name` is that of the argument, for errors.
    pub(crate) fn get(self, name: &str) -> Result<&'a [u8]> {
        if self.length == 0 {
            return Ok(&[]);
        }
        if self.data.is_null() || self.length > isize::MAX as usize {
            let length = self.length;
            return Err(invalid(format!(
                "{name}: there are no {length} bytes at its pointer"
            )));
        }
        // SAFETY: the pointer is not NULL and the length fits. The header requires that the bytes
        // are valid for the call, and `'a` ends with the call.
        Ok(unsafe { std::slice::from_raw_parts(self.data, self.length) })
    }
}

/// UTF-8 of the caller: `dflat_text`, which is `dflat_bytes` by another name.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(Bytes<'a>);

impl<'a> Text<'a> {
    /// The text. `name` is that of the argument, for errors.
    pub(crate) fn get(self, name: &str) -> Result<&'a str> {
        let bytes = self.0.get(name)?;
        std::str::from_utf8(bytes).map_err(|_| invalid(format!("{name}: the text is not UTF-8")))
    }
}

/// Bytes or a text for the caller, which are valid as long as their owner. The library does not
/// read them back.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Given {
    data: *const u8,
    length: usize,
}

impl Given {
    /// Bytes of the library.
    pub(crate) const fn bytes(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr(),
            length: bytes.len(),
        }
    }

    /// A text of the library.
    pub(crate) const fn text(text: &str) -> Self {
        Self::bytes(text.as_bytes())
    }
}

/// A move of an object in a list: `dflat_move`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawMove {
    from: u64,
    to: u64,
}

impl RawMove {
    /// A move from a position to another one.
    pub(crate) const fn new(from: usize, to: usize) -> Self {
        Self {
            from: from as u64,
            to: to as u64,
        }
    }
}

/// A list for the caller, which is valid as long as its owner. The library does not read it back.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GivenList<T> {
    first: *const T,
    count: usize,
}

impl<T> GivenList<T> {
    /// A list of the library.
    pub(crate) const fn of(list: &[T]) -> Self {
        Self {
            first: list.as_ptr(),
            count: list.len(),
        }
    }
}

/// Positions for the caller: `dflat_positions`.
pub(crate) type Given64 = GivenList<u64>;

/// Moves for the caller: `dflat_moves`.
pub(crate) type GivenMoves = GivenList<RawMove>;

/// The first of several values of the caller; their number is another argument. The value NULL is
/// allowed if there is none.
#[repr(transparent)]
pub(crate) struct List<'a, T>(*const c_void, PhantomData<&'a [T]>);

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<'a, T> List<'a, T> {
    /// Whether the pointer is NULL.
    pub(crate) const fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// The values. `name` is that of the argument, for errors.
    pub(crate) fn get(self, count: usize, name: &str) -> Result<&'a [T]> {
        if count == 0 {
            return Ok(&[]);
        }
        let first = self.0.cast::<T>();
        let fits = count
            .checked_mul(size_of::<T>())
            .is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if first.is_null() || !first.is_aligned() || !fits {
            return Err(invalid(format!(
                "{name}: there are no {count} values at its pointer"
            )));
        }
        // SAFETY: the pointer is aligned and not NULL, and the size fits. The header requires that
        // so many values are valid for the call, and `'a` ends with the call. `T` is plain: an
        // argument type of this module, for which all bytes are valid.
        Ok(unsafe { std::slice::from_raw_parts(first, count) })
    }
}

/// A place of the caller for a result; NULL if the caller does not want it.
#[repr(transparent)]
pub(crate) struct Out<'a, T>(*mut c_void, PhantomData<&'a mut T>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<'a, T: Copy> Out<'a, T> {
    /// A place of the library, which a callback writes to.
    pub(super) const fn of(place: &'a mut T) -> Self {
        Self(std::ptr::from_mut(place).cast(), PhantomData)
    }

    /// No place: the caller does not want the result.
    #[cfg(test)]
    pub(super) const fn none() -> Self {
        Self(std::ptr::null_mut(), PhantomData)
    }

    /// Whether the caller wants the result.
    pub(crate) const fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Refuses NULL, and writes the value that the place keeps if the call fails.
    pub(crate) fn begin(self, name: &str, value: T) -> Result<()> {
        if self.0.is_null() || !self.0.cast::<T>().is_aligned() {
            return Err(invalid(format!("{name}: there is no place for the result")));
        }
        self.set(value);
        Ok(())
    }

    /// Writes a value, unless the pointer is NULL.
    pub(crate) fn set(self, value: T) {
        let place = self.0.cast::<T>();
        if !place.is_null() && place.is_aligned() {
            // SAFETY: the pointer is aligned and not NULL. The header requires that the place is
            // valid for the call and used by nothing else meanwhile. The old value is plain, so
            // that nothing has to be dropped.
            unsafe { place.write(value) };
        }
    }
}
