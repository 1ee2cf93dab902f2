//! Detecting changes by bytes, compared with equality by value.

use crate::table;
use dflat_engine::object::{Writer, changes_scalars_alone, equal};

const SCHEMA: &str = "
    enum Color: byte { Red = 0, Green, Blue }
    struct Point { x: int; y: int; }
    table Doc { key: string (primary); n: int = 7; color: Color; ratio: double; point: Point; list: [int]; flag: bool; }
    root_type Doc;";

/// The values of an object. Encoders leave out defaults.
#[derive(Clone, Debug, PartialEq)]
struct Doc {
    key: &'static str,
    n: i32,
    color: i8,
    ratio: f64,
    point: Option<[i32; 2]>,
    list: Vec<i32>,
    flag: bool,
}

impl Doc {
    fn payload(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        let (key, list) = (writer.slot(4), writer.slot(14));
        if self.n != 7 {
            writer.scalar(6, self.n);
        }
        if self.color != 0 {
            writer.scalar(8, self.color);
        }
        if self.ratio != 0.0 {
            writer.scalar(10, self.ratio);
        }
        if let Some([x, y]) = self.point {
            let bytes = [x.to_le_bytes(), y.to_le_bytes()].concat();
            writer.structure(12, 8, 4).copy_from_slice(&bytes);
        }
        if self.flag {
            writer.scalar(16, self.flag);
        }
        writer.end_table();
        writer.text(key, self.key);
        writer.scalars(list, self.list.iter().copied());
        writer.leave();
        writer.finish().unwrap().to_vec()
    }

    /// Whether some value is stored in one of two objects only.
    fn is_laid_out_as(&self, other: &Self) -> bool {
        (self.n == 7) == (other.n == 7)
            && (self.ratio == 0.0) == (other.ratio == 0.0)
            && self.flag == other.flag
    }

    /// The object without its numbers.
    fn without_scalars(&self) -> Self {
        let (n, ratio, flag) = (0, 0.0, false);
        let rest = self.clone();
        Self {
            n,
            ratio,
            flag,
            ..rest
        }
    }
}

fn docs() -> Vec<Doc> {
    let mut docs = vec![Doc {
        key: "a key",
        n: 1,
        color: 1,
        ratio: 0.5,
        point: Some([1, 2]),
        list: vec![1, 2],
        flag: true,
    }];
    let changes: [fn(&mut Doc); 9] = [
        |doc| doc.n = 2,
        |doc| doc.n = 7,
        |doc| doc.ratio = f64::NAN,
        |doc| doc.ratio = 0.0,
        |doc| doc.flag = false,
        |doc| doc.key = "a kez",
        |doc| doc.color = 2,
        |doc| doc.point = Some([1, 3]),
        |doc| doc.list = vec![1, 3],
    ];
    for change in changes {
        let changed = docs.clone().into_iter().map(|mut doc| {
            change(&mut doc);
            doc
        });
        docs.extend(changed.collect::<Vec<_>>());
    }
    docs
}

#[test]
fn only_changes_of_numbers_are_detected() {
    let types = &table(SCHEMA).types;
    let docs: Vec<_> = docs().into_iter().map(|doc| (doc.payload(), doc)).collect();
    let mut detected = 0;
    for (before, old) in docs.iter().step_by(3) {
        for (after, new) in &docs {
            let changed = !equal(types, before, after);
            let in_scalars = old.without_scalars() == new.without_scalars();
            let wanted = changed && in_scalars && old.is_laid_out_as(new);
            let is = changes_scalars_alone(types, before, after);
            assert_eq!(is, wanted, "{old:?} {new:?}");
            detected += usize::from(is);
        }
    }
    assert!(detected > 100, "{detected}");
}

#[test]
fn damage_outside_of_numbers_is_not_a_change_of_numbers() {
    let types = &table(SCHEMA).types;
    let bits = 0x3132_3334_3536_3738_u64;
    let of = |n, bits| Doc {
        n,
        ratio: f64::from_bits(bits),
        flag: false,
        ..docs().swap_remove(0)
    };
    // All bytes of both numbers differ.
    let before = of(0x0102_0304, bits).payload();
    let after = of(!0x0102_0304, !bits).payload();
    assert!(changes_scalars_alone(types, &before, &after));
    for place in 0..before.len() {
        let mut damaged = before.clone();
        damaged[place] ^= 1;
        let in_number = before[place] != after[place];
        let is = changes_scalars_alone(types, &damaged, &after);
        assert_eq!(is, in_number, "byte {place}");
        // The offsets are random: the function must return, with any result.
        for value in 0..=u8::MAX {
            damaged[place] = value;
            let _ = changes_scalars_alone(types, &before, &damaged);
        }
    }
    for length in 0..before.len() {
        let _ = changes_scalars_alone(types, &before[..length], &after[..length]);
    }
}
