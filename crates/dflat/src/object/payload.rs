//! Tables as bytes, without a workspace.

use dflat_engine::object::{TableView, Writer, exceeded_limit, verify_as};
use dflat_model::TypeId;

use crate::codec::{Encoder, Message, TableReader, Types};
use crate::{Error, ErrorKind, Result};

/// A table of a schema as a plain struct, which is converted from and to the bytes of a FlatBuffer
/// and, with the feature `serde`, JSON.
///
/// Generated code implements it for the values of root tables, such as `PostData`, and with
/// `--payload-only` for every table.
///
/// The bytes are those that `flatc` and every other FlatBuffers implementation read and write. JSON
/// has the form of `flatc --json`: values that equal their default are left out, enums are names,
/// and a union `content` has the name of its member in `content_type`. NaN and the infinities,
/// which JSON lacks, are the strings `"nan"`, `"inf"` and `"-inf"`. Reading also accepts numbers
/// for enums, and `null` for absent values; an unknown field is an error.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::{ErrorKind, Payload};
/// use post::{Color, PostData};
/// # fn main() -> dflat::Result<()> {
/// let post = PostData { title: "a".into(), color: Color::Green, ..PostData::default() };
/// let bytes = post.to_bytes()?;
/// assert_eq!(PostData::from_bytes(&bytes)?, post);
/// assert_eq!(PostData::from_bytes(&bytes[..20]).unwrap_err().kind(), ErrorKind::Corrupt);
/// # Ok(())
/// # }
/// ```
pub trait Payload: Message {
    /// The types of the payload.
    #[doc(hidden)]
    fn types() -> Types;

    /// The position of this table among the types.
    #[doc(hidden)]
    const TYPE: TypeId;

    /// Reads a payload of any origin.
    ///
    /// The bytes are verified first, so any bytes may be given. Verifying and copying take time in
    /// proportion to the payload. Unknown fields, values of enums and members of unions, which a
    /// newer schema may have, are dropped.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the bytes are not a payload of this type, lack a required field,
    /// or share parts beyond the limits of the format.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        verify_as(&Self::types(), Self::TYPE, bytes).map_err(|_| not_a_payload::<Self>(bytes))?;
        let table = TableView::root(bytes).map_err(|_| not_a_payload::<Self>(bytes))?;
        Ok(Self::decode(Self::view(TableReader::new(table))))
    }

    /// Writes the payload: the same bytes for the same values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if a required field is absent, tables are nested more than 64
    /// deep, or the payload would be larger than 1 GB.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        Encoder::encode_root(&mut writer, self);
        Ok(writer.finish()?.to_vec())
    }
}

fn not_a_payload<M: Payload>(bytes: &[u8]) -> Error {
    let types = M::types();
    let name = types
        .get(usize::from(M::TYPE.0))
        .map_or("table", |ty| ty.name());
    let why = exceeded_limit(&types, M::TYPE, bytes).unwrap_or("it is malformed");
    Error::new(
        ErrorKind::Corrupt,
        format!("cannot read the payload of a {name}: {why}"),
    )
}
