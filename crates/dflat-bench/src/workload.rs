//! The objects of the workload: those of the original's benchmark, the same in every run.

mod indexed;

use dflat::{Field, Object, Sure};

pub use indexed::{Column, ColumnValue, Indexed};

pub use schema::{
    BenchDoc, BenchDocData, BenchDocV2, BenchDocV2Data, BenchDocV3, BenchDocV3Data, BenchDocV4,
    BenchDocV4Data, Catalogued, CataloguedData, Color, Content, ImageContent, Listed, ListedData,
    Ranked, RankedChangeRequest, RankedData, TextContent, Vec3, Wide, WideChangeRequest, WideData,
};

/// The code that is generated from the schemas.
pub mod schema {
    include!(concat!(env!("OUT_DIR"), "/bench_doc.rs"));
}

/// A type of the workload: one of four tables with the same fields.
pub trait Doc: for<'k> Object<Key<'k> = &'k str> {
    /// The object `i` of `count`. There are three kinds of objects: with images, with nothing and
    /// with text.
    fn data(i: usize, count: usize) -> Self::Data;

    /// The primary key of an owned value.
    fn title_of(data: &Self::Data) -> &str;

    /// The field of an owned value that scenarios change.
    fn priority_of(data: &mut Self::Data) -> &mut i32;

    /// The primary key.
    fn title(&self) -> &str;

    /// The field that scenarios change and select by. It is not indexed.
    fn priority(&self) -> i32;

    /// The query field of the priority.
    fn priority_field() -> Field<Self, i32, Sure>;

    /// The table's name in the file.
    const TABLE_NAME: &'static str;
}

/// The vtable offset of the priority in the payloads.
pub const PRIORITY_VOFFSET: u16 = 16;

macro_rules! doc {
    ($type:ident, $data:ident, $name:literal) => {
        impl Doc for $type {
            const TABLE_NAME: &'static str = $name;

            fn data(i: usize, count: usize) -> $data {
                let (i, half) = (number(i), number(count / 2));
                let (color, priority, content) = match i % 3 {
                    0 => (Color::Blue, half - i, Some(images(i))),
                    1 => (Color::Red, i - half, None),
                    _ => (Color::Green, 0, Some(text(i))),
                };
                $data {
                    pos: Some(Vec3::default()),
                    color,
                    title: format!("title{i}"),
                    content,
                    tag: Some(format!("tag{i}")),
                    priority,
                }
            }

            fn title_of(data: &$data) -> &str {
                &data.title
            }

            fn priority_of(data: &mut $data) -> &mut i32 {
                &mut data.priority
            }

            fn title(&self) -> &str {
                $type::title(self)
            }

            fn priority(&self) -> i32 {
                $type::priority(self)
            }

            fn priority_field() -> Field<Self, i32, Sure> {
                $type::PRIORITY
            }
        }
    };
}

doc!(BenchDoc, BenchDocData, "benchdoc");
doc!(BenchDocV2, BenchDocV2Data, "benchdocv2");
doc!(BenchDocV3, BenchDocV3Data, "benchdocv3");
doc!(BenchDocV4, BenchDocV4Data, "benchdocv4");

/// A position as the number that objects hold.
#[must_use]
pub fn number(i: usize) -> i32 {
    i32::try_from(i).unwrap_or(i32::MAX)
}

/// The titles of `count` objects.
#[must_use]
pub fn titles(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("title{i}")).collect()
}

/// The priority above which a sixth of the objects lie: 1,667 of 10,000.
#[must_use]
pub fn threshold(count: usize) -> i32 {
    number(count / 4)
}

/// The number of objects, of `count`, with a priority above the threshold.
#[must_use]
pub fn selected_count(count: usize) -> usize {
    let (half, threshold) = (number(count / 2), threshold(count));
    let is_selected = |i: &usize| match i % 3 {
        0 => half - number(*i) > threshold,
        1 => number(*i) - half > threshold,
        _ => false,
    };
    (0..count).filter(is_selected).count()
}

fn images(i: i32) -> Content {
    Content::ImageContent(ImageContent {
        images: vec![format!("image{i}")],
    })
}

fn text(i: i32) -> Content {
    Content::TextContent(TextContent {
        text: Some(format!("text{i}")),
    })
}
