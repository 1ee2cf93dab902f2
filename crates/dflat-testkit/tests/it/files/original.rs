//! The contents of the files of Dflat for Swift, as Dflat for Swift read them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The types of the benchmark's documents.
#[allow(unreachable_pub, reason = "generated")]
pub(crate) mod bench {
    include!(concat!(env!("OUT_DIR"), "/bench_doc.rs"));
}

/// The types of the monsters.
#[allow(unreachable_pub, reason = "generated")]
pub(crate) mod monsters {
    include!(concat!(env!("OUT_DIR"), "/monster.rs"));
}

/// The types of the dictionary.
#[allow(unreachable_pub, reason = "generated")]
pub(crate) mod dictionary {
    include!(concat!(env!("OUT_DIR"), "/dict.rs"));
}

use bench::{BenchDocData, Content, ImageContent, TextContent};
use monsters::my_game::sample::{self, Equipment, MonsterData, Orb, Profile, Weapon};

/// The files, each with the log that belongs to it.
pub(crate) const FILES: [(&str, &[&str]); 2] = [
    ("checkpointed.db", &[]),
    ("unclean/unclean.db", &["unclean/unclean.db-wal"]),
];

/// Copies one of the files to a directory.
pub(crate) fn copy((file, more): (&str, &[&str]), to: &Path) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dflat-sqlite/tests/data");
    for name in more.iter().chain([&file]) {
        let target = to.join(Path::new(name).file_name().unwrap());
        fs::copy(data.join(name), target).unwrap();
    }
    to.join(Path::new(file).file_name().unwrap())
}

/// The contents of the files.
pub(crate) fn contents() -> Value {
    serde_json::from_str(include_str!("../../data/contents.json")).unwrap()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn number<N: TryFrom<i64>>(value: &Value) -> N {
    N::try_from(value.as_i64().unwrap()).ok().unwrap()
}

fn float(value: &Value) -> f32 {
    value.as_f64().unwrap() as f32
}

fn many<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(read).collect()
}

/// A document.
pub(crate) fn doc(value: &Value) -> BenchDocData {
    let pos = &value["pos"];
    let content = value["content"]
        .as_object()
        .map(|content| match content.get("text") {
            Some(of) => Content::TextContent(TextContent { text: text(of) }),
            None => Content::ImageContent(ImageContent {
                images: many(&content["images"], |image| text(image).unwrap()),
            }),
        });
    BenchDocData {
        title: text(&value["title"]).unwrap(),
        tag: text(&value["tag"]),
        color: bench::Color::ALL[number::<usize>(&value["color"])],
        priority: number(&value["priority"]),
        pos: pos.is_array().then(|| bench::Vec3 {
            x: float(&pos[0]),
            y: float(&pos[1]),
            z: float(&pos[2]),
        }),
        content,
    }
}

fn color(value: &Value) -> sample::Color {
    sample::Color::ALL[number::<usize>(value)]
}

fn weapon(value: &Value) -> Weapon {
    Weapon {
        name: text(&value[0]),
        damage: number(&value[1]),
    }
}

fn equipment(value: &Value) -> Option<Equipment> {
    let (kind, of) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "weapon" => Equipment::Weapon(weapon(of)),
        _ => Equipment::Orb(Orb {
            name: text(&of[0]),
            color: color(&of[1]),
        }),
    })
}

/// A monster.
pub(crate) fn monster(value: &Value) -> MonsterData {
    MonsterData {
        name: text(&value["name"]).unwrap(),
        color: color(&value["color"]),
        mana: number(&value["mana"]),
        hp: number(&value["hp"]),
        inventory: many(&value["inventory"], number),
        weapons: many(&value["weapons"], weapon),
        equipped: equipment(&value["equipped"]),
        bag: many(&value["bag"], equipment),
        colors: many(&value["colors"], color),
        path: many(&value["path"], |at| sample::Vec3 {
            x: float(&at[0]),
            y: float(&at[1]),
            z: float(&at[2]),
        }),
        profile: value["profile"].as_str().map(|url| Profile {
            url: Some(url.to_owned()),
        }),
        r#type: value["type"].as_bool().unwrap(),
        truth: value["truth"].as_bool().unwrap(),
        ..MonsterData::default()
    }
}
