//! The names of enums and bit flags.

use crate::{Error, ErrorKind, Result};

/// The error of a text that is no name of an enum.
#[must_use]
pub fn unknown_name(type_name: &str, text: &str, names: &[&str]) -> Error {
    let names = names.join(", ");
    let message = format!("cannot read {text:?} as {type_name}: the names are {names}");
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The bits of a set of flags, each at its place also in a signed number.
pub trait FlagBits: Sized {
    /// The bits as a number.
    fn to_number(self) -> u64;

    /// The set with the bits of a number; `None` if they do not fit.
    fn from_number(number: u64) -> Option<Self>;
}

macro_rules! flag_bits {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl FlagBits for $unsigned {
            fn to_number(self) -> u64 {
                self.into()
            }

            fn from_number(number: u64) -> Option<Self> {
                number.try_into().ok()
            }
        }

        impl FlagBits for $signed {
            fn to_number(self) -> u64 {
                self.cast_unsigned().into()
            }

            fn from_number(number: u64) -> Option<Self> {
                Some(<$unsigned>::from_number(number)?.cast_signed())
            }
        }
    )*};
}

flag_bits! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}

/// The names of the flags that are set, and the unknown bits.
#[must_use]
pub fn write_flags(named: &[(&str, u64)], bits: u64) -> String {
    let set = named.iter().filter(|(_, flag)| bits & flag != 0);
    let mut parts: Vec<String> = set.map(|(name, _)| (*name).to_owned()).collect();
    let unknown = named.iter().fold(bits, |rest, (_, flag)| rest & !flag);
    if unknown != 0 {
        parts.push(format!("{unknown:#x}"));
    }
    parts.join(" | ")
}

/// Reads the text of [`write_flags`].
///
/// # Errors
/// [`InvalidArgument`](ErrorKind::InvalidArgument) if a part is neither a name nor a hexadecimal
/// number that fits.
pub fn read_flags<B: FlagBits>(type_name: &str, named: &[(&str, u64)], text: &str) -> Result<B> {
    let parts = text.split('|').map(str::trim);
    let read = parts
        .filter(|_| !text.trim().is_empty())
        .try_fold(0, |bits, part| {
            let flag = named.iter().find(|(name, _)| *name == part);
            let number = || u64::from_str_radix(part.strip_prefix("0x")?, 16).ok();
            Some(bits | flag.map(|(_, flag)| *flag).or_else(number)?)
        });
    let bits = read.and_then(B::from_number);
    bits.ok_or_else(|| {
        let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        unknown_name(type_name, text, &names)
    })
}
