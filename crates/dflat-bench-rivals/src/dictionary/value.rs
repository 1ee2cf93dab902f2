//! The values: a number, alone or inside something larger.

use dflat::{Dictionary, FlatBuffersValue, Payload, Serde};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::schema::PostData;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The number itself.
    Number,
    /// A struct that serde encodes.
    Record,
    /// A message of FlatBuffers.
    Message,
}

/// The state of a window, as a program keeps it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Window {
    title: String,
    place: [i64; 2],
    size: [u32; 2],
    is_open: bool,
}

fn window(value: i64) -> Window {
    Window {
        title: "Documents".to_owned(),
        place: [value, 80],
        size: [1280, 800],
        is_open: true,
    }
}

fn post(value: i64) -> Result<PostData> {
    Ok(PostData {
        title: "Documents".to_owned(),
        tag: Some("draft".to_owned()),
        priority: value.try_into()?,
        ..PostData::default()
    })
}

const VERSION: &str = "v1";

impl Kind {
    /// Puts a value into the dictionary, in its own way.
    pub fn set(self, dictionary: &Dictionary, key: &str, value: i64) -> Result<()> {
        match self {
            Self::Number => dictionary.set(key, value)?,
            Self::Record => dictionary.set(key, Serde(window(value)))?,
            Self::Message => {
                dictionary.set(key, FlatBuffersValue::new(&post(value)?, VERSION)?)?;
            }
        }
        Ok(())
    }

    /// The number of what the dictionary has.
    pub fn get(self, dictionary: &Dictionary, key: &str) -> Result<Option<i64>> {
        Ok(match self {
            Self::Number => dictionary.get(key)?,
            Self::Record => dictionary
                .get::<Serde<Window>>(key)?
                .map(|Serde(window)| window.place[0]),
            Self::Message => match dictionary.get::<FlatBuffersValue>(key)? {
                Some(stored) => Some(stored.read::<PostData>(VERSION)?.priority.into()),
                None => None,
            },
        })
    }

    /// The bytes for a store of bytes.
    pub fn encode(self, value: i64) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Number => value.to_le_bytes().to_vec(),
            Self::Record => rmp_serde::to_vec_named(&window(value))?,
            Self::Message => post(value)?.to_bytes()?,
        })
    }

    /// The number of what [`Self::encode`] gave.
    pub fn decode(self, bytes: &[u8]) -> Result<i64> {
        Ok(match self {
            Self::Number => i64::from_le_bytes(bytes.try_into()?),
            Self::Record => rmp_serde::from_slice::<Window>(bytes)?.place[0],
            Self::Message => PostData::from_bytes(bytes)?.priority.into(),
        })
    }

    /// The value in a JSON file.
    pub fn to_json(self, value: i64) -> Result<serde_json::Value> {
        Ok(match self {
            Self::Number => value.into(),
            Self::Record | Self::Message => serde_json::to_value(window(value))?,
        })
    }

    /// The number of what [`Self::to_json`] made.
    pub fn number_in(self, value: &serde_json::Value) -> Result<i64> {
        let number = match self {
            Self::Number => value.as_i64(),
            Self::Record | Self::Message => Some(Window::deserialize(value)?.place[0]),
        };
        Ok(number.ok_or("no number")?)
    }
}
