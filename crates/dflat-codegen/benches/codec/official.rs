//! The code that Google's `flatc` generates, on the crate `flatbuffers`.
//!
//! `tests/data/codec/official.rs` is what `flatc --rust --gen-all codec.fbs` of version 25.12.19
//! wrote, unchanged. The calls are those of the tutorial of `flatbuffers`, with a builder that is
//! reused.

use std::hint::black_box;

use flatbuffers::{FlatBufferBuilder, WIPOffset};

#[allow(
    warnings,
    clippy::all,
    missing_docs,
    unsafe_code,
    reason = "as it was generated"
)]
mod code {
    include!("../../tests/data/codec/official.rs");
}

use crate::ours;
use code::{Color, Equipment, Monster, MonsterArgs, Orb, OrbArgs, Vec3, Weapon, WeaponArgs};

/// The same values as plain data, as a user would have them.
struct Data {
    name: String,
    pos: Vec3,
    inventory: Vec<u8>,
    seen: Vec<i64>,
    tags: Vec<String>,
    colors: Vec<Color>,
    path: Vec<Vec3>,
    weapons: Vec<(String, i16)>,
    weapon: (String, i16),
    orb: (String, Color),
}

fn data() -> Data {
    let data = ours::data();
    let point = |x: f32| Vec3::new(x, -x, 0.5);
    Data {
        name: data.name,
        pos: point(1.0),
        inventory: data.inventory,
        seen: data.seen,
        tags: data.tags,
        colors: vec![Color::Red, Color::Green, Color::Blue],
        path: (0..6_u8).map(|step| point(f32::from(step))).collect(),
        weapons: vec![("Sword".to_owned(), 3), ("Axe".to_owned(), 5)],
        weapon: ("Club".to_owned(), 2),
        orb: ("Orb of sight".to_owned(), Color::Green),
    }
}

fn weapon<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    (name, damage): &(String, i16),
) -> WIPOffset<Weapon<'b>> {
    let name = Some(builder.create_string(name));
    let arguments = WeaponArgs {
        name,
        damage: *damage,
    };
    Weapon::create(builder, &arguments)
}

fn write(builder: &mut FlatBufferBuilder<'_>, data: &Data) {
    builder.reset();
    let name = builder.create_string(&data.name);
    let inventory = builder.create_vector(&data.inventory);
    let seen = builder.create_vector(&data.seen);
    let tags: Vec<_> = data
        .tags
        .iter()
        .map(|tag| builder.create_string(tag))
        .collect();
    let tags = builder.create_vector(&tags);
    let colors = builder.create_vector(&data.colors);
    let path = builder.create_vector(&data.path);
    let weapons: Vec<_> = data
        .weapons
        .iter()
        .map(|one| weapon(builder, one))
        .collect();
    let weapons = builder.create_vector(&weapons);
    let held = weapon(builder, &data.weapon);
    let orb_name = Some(builder.create_string(&data.orb.0));
    let orb = OrbArgs {
        name: orb_name,
        color: data.orb.1,
    };
    let orb = Orb::create(builder, &orb);
    let arguments = MonsterArgs {
        name: Some(name),
        pos: Some(&data.pos),
        mana: 120,
        hp: 80,
        color: Color::Red,
        friendly: false,
        id: 1 << 40,
        score: 0.25,
        lives: Some(3),
        inventory: Some(inventory),
        seen: Some(seen),
        tags: Some(tags),
        colors: Some(colors),
        path: Some(path),
        weapons: Some(weapons),
        weapon: Some(held),
        equipped_type: Equipment::Orb,
        equipped: Some(orb.as_union_value()),
    };
    let monster = Monster::create(builder, &arguments);
    code::finish_monster_buffer(builder, monster);
}

pub(crate) fn payload() -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    write(&mut builder, &data());
    builder.finished_data().to_vec()
}

pub(crate) fn encode(rounds: u64) {
    let data = data();
    let mut builder = FlatBufferBuilder::new();
    for _ in 0..rounds {
        write(&mut builder, black_box(&data));
        black_box(builder.finished_data());
    }
}

pub(crate) fn read(rounds: u64) {
    let payload = payload();
    for _ in 0..rounds {
        black_box(sum(black_box(&payload)));
    }
}

/// Verifies a payload and adds up all its fields.
pub(crate) fn sum(payload: &[u8]) -> u64 {
    let monster = code::root_as_monster(payload).unwrap();
    let point = |point: &Vec3| u64::from((point.x() + point.y() + point.z()).to_bits());
    let text = |text: Option<&str>| text.map_or(0, |text| text.len() as u64);
    let weapon = |weapon: Weapon<'_>| text(weapon.name()) + weapon.damage() as u64;
    let mut sum = monster.name().len() as u64;
    sum += monster.pos().map_or(0, point);
    sum += monster.mana() as u64 + monster.hp() as u64 + monster.color().0 as u64;
    sum += u64::from(monster.friendly()) + monster.id() + monster.score().to_bits() / 3;
    sum += monster.lives().map_or(0, |lives| lives as u64);
    sum += monster
        .inventory()
        .map_or(0, |all| all.iter().map(u64::from).sum::<u64>());
    sum += monster
        .seen()
        .map_or(0, |all| all.iter().map(|day| day as u64).sum::<u64>());
    sum += monster
        .tags()
        .map_or(0, |all| all.iter().map(|tag| tag.len() as u64).sum::<u64>());
    sum += monster
        .colors()
        .map_or(0, |all| all.iter().map(|color| color.0 as u64).sum::<u64>());
    sum += monster
        .path()
        .map_or(0, |all| all.iter().map(point).sum::<u64>());
    sum += monster
        .weapons()
        .map_or(0, |all| all.iter().map(weapon).sum::<u64>());
    sum += monster.weapon().map_or(0, weapon);
    sum + match monster.equipped_type() {
        Equipment::Weapon => monster.equipped_as_weapon().map_or(0, weapon),
        Equipment::Orb => {
            let orb = monster.equipped_as_orb();
            orb.map_or(0, |orb| text(orb.name()) + orb.color().0 as u64)
        }
        _ => 0,
    }
}
