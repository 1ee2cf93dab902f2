//! The code that `dflatc` generates.

use std::hint::black_box;

use dflat::codegen::{Encoder, Message, TableReader};
use dflat_engine::object::{TableView, Writer, verify};

#[allow(clippy::use_self, reason = "asked for in this workspace only")]
mod code {
    include!("../../tests/data/codec/rust.rs");
}

use code::{Color, Equipment, EquipmentRef, Monster, MonsterData, Orb, Vec3, Weapon};

/// The value that both sides encode.
pub(crate) fn data() -> MonsterData {
    let weapon = |name: &str, damage| Weapon {
        name: Some(name.to_owned()),
        damage,
    };
    let point = |x: f32| Vec3 { x, y: -x, z: 0.5 };
    MonsterData {
        name: "Orc".to_owned(),
        pos: Some(point(1.0)),
        mana: 120,
        hp: 80,
        color: Color::Red,
        friendly: false,
        id: 1 << 40,
        score: 0.25,
        lives: Some(3),
        inventory: (0..32).collect(),
        seen: (0..8).map(|day| day << 33).collect(),
        tags: ["north", "bridge", "a longer tag of two dozen"]
            .map(str::to_owned)
            .to_vec(),
        colors: vec![Color::Red, Color::Green, Color::Blue],
        path: (0..6_u8).map(|step| point(f32::from(step))).collect(),
        weapons: vec![weapon("Sword", 3), weapon("Axe", 5)],
        weapon: Some(weapon("Club", 2)),
        equipped: Some(Equipment::Orb(Orb {
            name: Some("Orb of sight".to_owned()),
            color: Color::Green,
        })),
    }
}

pub(crate) fn payload() -> Vec<u8> {
    let mut writer = Writer::new();
    Encoder::encode_root(&mut writer, &data());
    writer.finish().unwrap().to_vec()
}

pub(crate) fn encode(rounds: u64) {
    let data = data();
    let mut writer = Writer::new();
    for _ in 0..rounds {
        Encoder::encode_root(&mut writer, black_box(&data));
        black_box(writer.finish().unwrap());
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
    verify(&Monster::TABLE.types, payload).unwrap();
    let monster = MonsterData::view(TableReader::new(TableView::root(payload).unwrap()));
    let point = |point: Vec3| u64::from((point.x + point.y + point.z).to_bits());
    let text = |text: Option<&str>| text.map_or(0, |text| text.len() as u64);
    let weapon = |weapon: code::WeaponRef<'_>| text(weapon.name()) + weapon.damage() as u64;
    let mut sum = monster.name().len() as u64;
    sum += monster.pos().map_or(0, point);
    sum += monster.mana() as u64 + monster.hp() as u64 + monster.color() as u64;
    sum += u64::from(monster.friendly()) + monster.id() + monster.score().to_bits() / 3;
    sum += monster.lives().map_or(0, |lives| lives as u64);
    sum += monster.inventory().iter().map(u64::from).sum::<u64>();
    sum += monster.seen().iter().map(|day| day as u64).sum::<u64>();
    sum += monster
        .tags()
        .iter()
        .map(|tag| tag.len() as u64)
        .sum::<u64>();
    sum += monster
        .colors()
        .iter()
        .map(|color| color as u64)
        .sum::<u64>();
    sum += monster.path().iter().map(point).sum::<u64>();
    sum += monster.weapons().iter().map(weapon).sum::<u64>();
    sum += monster.weapon().map_or(0, weapon);
    sum + match monster.equipped() {
        Some(EquipmentRef::Weapon(member)) => weapon(member),
        Some(EquipmentRef::Orb(orb)) => text(orb.name()) + orb.color() as u64,
        None => 0,
    }
}
