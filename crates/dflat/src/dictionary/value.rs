//! Values of the dictionary, by type.

use std::sync::Arc;

use dflat_engine::dictionary::Value;

use crate::{Error, ErrorKind, Payload, Result};

/// The first bytes of values that this library writes. Another program wrote bytes without this
/// prefix, such as a property list of Dflat for Swift, which begins with `bplist`.
const MAGIC: &[u8] = b"\x00dflat";

/// Follows [`MAGIC`]: the rest is the bytes themselves.
const PLAIN: u8 = b'b';

/// Follows [`MAGIC`]: the rest is `MessagePack`.
#[cfg(feature = "serde")]
const MESSAGE_PACK: u8 = b'm';

/// A type that the dictionary stores, a reference to such a type, or an `Option`, of which `None`
/// stands for no value.
///
/// Integers of all types are stored as `i64` if they are signed, else as `u64`, and can be read as
/// any integer type that the number fits in. A number of 128 bits that does not fit in 64 is
/// refused with [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
pub trait IntoDictionary {
    /// The stored form of the value; `None` stands for no value.
    #[doc(hidden)]
    fn into_value(self) -> Result<Option<Value>>;
}

/// A type that the dictionary returns.
pub trait FromDictionary: Sized {
    /// The name of the type, for messages.
    #[doc(hidden)]
    fn expected() -> String;

    /// The value; `None` if it has another type.
    #[doc(hidden)]
    fn from_value(value: &Value) -> Result<Option<Self>>;
}

/// Reads a value as a type.
pub(super) fn read<T: FromDictionary>(key: &str, value: &Value) -> Result<T> {
    let read = T::from_value(value)
        .map_err(|error| error.context(format_args!("cannot read the value of {key:?}")))?;
    read.ok_or_else(|| {
        let message = format!(
            "cannot read the value of {key:?} as {}: it is {}{}",
            T::expected(),
            name_of(value),
            number_of(value)
        );
        Error::new(ErrorKind::WrongType, message)
    })
}

/// A space and the number, if the value is an integer.
fn number_of(value: &Value) -> String {
    match value {
        Value::I64(number) => format!(" {number}"),
        Value::U64(number) => format!(" {number}"),
        _ => String::new(),
    }
}

/// The type of a value, in words.
pub(super) fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::I64(_) => "i64",
        Value::U64(_) => "u64",
        Value::F32(_) => "f32",
        Value::F64(_) => "f64",
        Value::Text(_) => "String",
        Value::FlatBuffers { .. } => "FlatBuffersValue",
        Value::Codable(bytes) => match bytes.strip_prefix(MAGIC) {
            Some([PLAIN, ..]) => "Vec<u8>",
            Some(_) => "a value of serde's",
            None if bytes.starts_with(b"bplist") => "a foreign value (a binary property list)",
            None => "a foreign value",
        },
    }
}

/// Bytes with the prefix of this library, which shows their encoding.
fn codable(kind: u8, content: &[u8]) -> Value {
    Value::Codable([MAGIC, &[kind], content].concat().into())
}

macro_rules! scalars {
    ($($type:ident $variant:ident),*) => {$(
        impl IntoDictionary for $type {
            fn into_value(self) -> Result<Option<Value>> {
                Ok(Some(Value::$variant(self)))
            }
        }

        impl FromDictionary for $type {
            fn expected() -> String {
                stringify!($type).to_owned()
            }

            fn from_value(value: &Value) -> Result<Option<Self>> {
                Ok(match value {
                    Value::$variant(value) => Some(*value),
                    _ => None,
                })
            }
        }
    )*};
}

scalars!(bool Bool, f32 F32, f64 F64);

/// Signed integers are stored as `i64` and unsigned ones as `u64`. Any of them is read from either,
/// if the number fits.
macro_rules! integers {
    ($($stored:ident $variant:ident { $($type:ident)* })*) => {$($(
        impl IntoDictionary for $type {
            fn into_value(self) -> Result<Option<Value>> {
                let stored = $stored::try_from(self).map_err(|_| {
                    let message = concat!("the number does not fit in ", stringify!($stored));
                    Error::new(ErrorKind::InvalidArgument, message)
                })?;
                Ok(Some(Value::$variant(stored)))
            }
        }

        impl FromDictionary for $type {
            fn expected() -> String {
                stringify!($type).to_owned()
            }

            fn from_value(value: &Value) -> Result<Option<Self>> {
                Ok(match value {
                    Value::I64(value) => Self::try_from(*value).ok(),
                    Value::U64(value) => Self::try_from(*value).ok(),
                    _ => None,
                })
            }
        }
    )*)*};
}

integers! {
    i64 I64 { i8 i16 i32 i64 i128 isize }
    u64 U64 { u8 u16 u32 u64 u128 usize }
}

/// `None` stands for no value: setting it removes the value of the key.
impl<T: IntoDictionary> IntoDictionary for Option<T> {
    fn into_value(self) -> Result<Option<Value>> {
        match self {
            Some(value) => value.into_value(),
            None => Ok(None),
        }
    }
}

impl IntoDictionary for &str {
    fn into_value(self) -> Result<Option<Value>> {
        Ok(Some(Value::Text(self.into())))
    }
}

impl IntoDictionary for String {
    fn into_value(self) -> Result<Option<Value>> {
        Ok(Some(Value::Text(self.into())))
    }
}

impl IntoDictionary for &String {
    fn into_value(self) -> Result<Option<Value>> {
        self.as_str().into_value()
    }
}

impl FromDictionary for String {
    fn expected() -> String {
        "String".to_owned()
    }

    fn from_value(value: &Value) -> Result<Option<Self>> {
        Ok(Arc::<str>::from_value(value)?.map(|text| text.to_string()))
    }
}

/// Without a copy: the text is shared with the dictionary.
impl FromDictionary for Arc<str> {
    fn expected() -> String {
        "String".to_owned()
    }

    fn from_value(value: &Value) -> Result<Option<Self>> {
        Ok(match value {
            Value::Text(text) => Some(Self::clone(text)),
            _ => None,
        })
    }
}

impl IntoDictionary for &[u8] {
    fn into_value(self) -> Result<Option<Value>> {
        Ok(Some(codable(PLAIN, self)))
    }
}

impl IntoDictionary for Vec<u8> {
    fn into_value(self) -> Result<Option<Value>> {
        self.as_slice().into_value()
    }
}

impl IntoDictionary for &Vec<u8> {
    fn into_value(self) -> Result<Option<Value>> {
        self.as_slice().into_value()
    }
}

/// Reads bytes that were set as bytes, and, unchanged, bytes that another program wrote.
impl FromDictionary for Vec<u8> {
    fn expected() -> String {
        "Vec<u8>".to_owned()
    }

    fn from_value(value: &Value) -> Result<Option<Self>> {
        let Value::Codable(bytes) = value else {
            return Ok(None);
        };
        Ok(match bytes.strip_prefix(MAGIC) {
            Some([PLAIN, plain @ ..]) => Some(plain.to_vec()),
            Some(_) => None,
            None => Some(bytes.to_vec()),
        })
    }
}

/// A payload of FlatBuffers with the version of its schema, as Dflat for Swift stores values of its
/// FlatBuffers types.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::{FlatBuffersValue, Workspace};
/// use post::PostData;
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let settings = workspace.dictionary();
/// let draft = PostData { title: "draft".into(), ..PostData::default() };
/// settings.set("draft", FlatBuffersValue::new(&draft, "v1")?)?;
///
/// let Some(stored) = settings.get::<FlatBuffersValue>("draft")? else { panic!("not there") };
/// assert_eq!(stored.read::<PostData>("v1")?, draft);
/// // Of another version it is an error, or absent: as you like.
/// assert!(stored.read::<PostData>("v2").is_err());
/// assert_eq!(stored.read_if::<PostData>("v2")?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatBuffersValue {
    /// The version, or an empty string if the schema has none.
    pub version: String,
    /// The bytes, which are not checked.
    pub bytes: Vec<u8>,
}

impl FlatBuffersValue {
    /// Encodes a value, with the version of its schema.
    ///
    /// # Errors
    /// As [`Payload::to_bytes`].
    pub fn new(value: &impl Payload, version: &str) -> Result<Self> {
        Ok(Self {
            version: version.to_owned(),
            bytes: value.to_bytes()?,
        })
    }

    /// The value, if it has this version.
    ///
    /// # Errors
    /// - [`WrongType`](ErrorKind::WrongType) if it has another version.
    /// - [`Corrupt`](ErrorKind::Corrupt) if the bytes are not a payload of the type.
    pub fn read<P: Payload>(&self, version: &str) -> Result<P> {
        self.read_if(version)?.ok_or_else(|| {
            let message = format!(
                "cannot read a payload as of version {version:?}: it is of version {:?}",
                self.version
            );
            Error::new(ErrorKind::WrongType, message)
        })
    }

    /// The value, or `None` if it has another version, as in Dflat for Swift.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if the bytes are not a payload of the type.
    pub fn read_if<P: Payload>(&self, version: &str) -> Result<Option<P>> {
        let is_same = self.version == version;
        is_same.then(|| P::from_bytes(&self.bytes)).transpose()
    }
}

impl IntoDictionary for FlatBuffersValue {
    fn into_value(self) -> Result<Option<Value>> {
        Ok(Some(Value::FlatBuffers {
            version: self.version.into(),
            bytes: self.bytes.into(),
        }))
    }
}

impl FromDictionary for FlatBuffersValue {
    fn expected() -> String {
        "FlatBuffersValue".to_owned()
    }

    fn from_value(value: &Value) -> Result<Option<Self>> {
        Ok(match value {
            Value::FlatBuffers { version, bytes } => Some(Self {
                version: version.to_string(),
                bytes: bytes.to_vec(),
            }),
            _ => None,
        })
    }
}

/// Any type that implements the traits of serde, stored in `MessagePack` with the names of fields,
/// so that fields with a default may be added later. To set a value, `T` may be a reference.
///
/// # Examples
/// ```
/// use dflat::{Serde, Workspace};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Debug, PartialEq)]
/// struct Window {
///     width: u32,
///     title: Option<String>,
///     #[serde(default)]
///     tabs: Vec<String>,
/// }
///
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let settings = workspace.dictionary();
/// let window = Window { width: 800, title: None, tabs: vec!["a".into()] };
/// settings.set("window", Serde(&window))?;
/// let Some(Serde(read)) = settings.get::<Serde<Window>>("window")? else { panic!("not there") };
/// assert_eq!(read, window);
/// assert!(settings.get::<Serde<String>>("window").is_err());
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "serde")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serde<T>(pub T);

#[cfg(feature = "serde")]
impl<T: serde::Serialize> IntoDictionary for Serde<T> {
    fn into_value(self) -> Result<Option<Value>> {
        let mut bytes = [MAGIC, &[MESSAGE_PACK]].concat();
        rmp_serde::encode::write_named(&mut bytes, &self.0).map_err(|error| {
            let message = format!("cannot encode a value of {}", std::any::type_name::<T>());
            Error::with_source(ErrorKind::InvalidArgument, message, error)
        })?;
        Ok(Some(Value::Codable(bytes.into())))
    }
}

#[cfg(feature = "serde")]
impl<T: serde::de::DeserializeOwned> FromDictionary for Serde<T> {
    fn expected() -> String {
        std::any::type_name::<T>().to_owned()
    }

    fn from_value(value: &Value) -> Result<Option<Self>> {
        let Value::Codable(bytes) = value else {
            return Ok(None);
        };
        let Some([MESSAGE_PACK, content @ ..]) = bytes.strip_prefix(MAGIC) else {
            return Ok(None);
        };
        let decoded = rmp_serde::from_slice(content).map_err(|error| {
            let message = format!(
                "the bytes are not a value of {}",
                std::any::type_name::<T>()
            );
            Error::with_source(ErrorKind::WrongType, message, error)
        })?;
        Ok(Some(Self(decoded)))
    }
}
