//! The name of a pack: a digest of its content.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dflat_engine::{Error, ErrorKind};

/// The extension of a pack's file name.
const EXTENSION: &str = "pack";

/// The content name of a pack: 256 bits of BLAKE3 over its types and objects.
///
/// Packs with the same types and the same objects have the same digest, in whichever order the
/// objects were given and however a copy is compressed. It is shown and read as 64 hexadecimal
/// digits in lower case.
///
/// # Examples
/// ```
/// use dflat_pack::Digest;
///
/// let text = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// let digest: Digest = text.parse().expect("it has 64 digits");
/// assert_eq!(digest.to_string(), text);
/// assert_eq!(digest.file_name(), format!("{text}.pack"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The name of the file of a pack with this digest: the digits and `.pack`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{self}.{EXTENSION}")
    }

    /// The path of the file of a pack with this digest in a directory.
    #[must_use]
    pub fn path_in(&self, directory: &Path) -> PathBuf {
        directory.join(self.file_name())
    }

    /// The digest that a file name states, if it has the form of [`file_name`](Self::file_name).
    #[must_use]
    pub fn of_file_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let digits = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
        digits.parse().ok()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs
            .iter()
            .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
            .collect();
        let bytes = bytes.filter(|_| rest.is_empty());
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| {
            let message = format!("`{text}` is no digest: 64 digits of 0-9 and a-f are needed");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_are_shown() {
        let digest = Digest(std::array::from_fn(|at| (at * 37) as u8));
        assert_eq!(digest.to_string().parse::<Digest>().ok(), Some(digest));
        let path = digest.path_in(Path::new("packs"));
        assert_eq!(Digest::of_file_name(&path), Some(digest));
    }

    #[test]
    fn other_file_names_state_no_digest() {
        let digits = Digest([7; 32]).to_string();
        for name in [
            "a.pack".to_owned(),
            digits.clone(),
            format!("{digits}pack"),
            format!("{}.pack", digits.to_uppercase().replace('0', "A")),
            format!("{digits}0.pack"),
            format!("{digits}.packs"),
        ] {
            assert_eq!(Digest::of_file_name(Path::new(&name)), None, "{name}");
        }
    }
}
