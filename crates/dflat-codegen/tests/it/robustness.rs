//! For every schema that compiles, code is generated or refused, in a short time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use dflat_codegen::{Options, generate};
use dflat_schema::{MemoryLoader, compile};

use super::golden::{cases, data, rendered};

/// Compiles a text as far as possible, and returns whether code was generated.
fn survives(text: &str, payload_only: bool) -> bool {
    let start = Instant::now();
    let loader = MemoryLoader::new()
        .with_file("test.fbs", text)
        .with_file("equipment.fbs", "table Weapon {} table Orb {}");
    let options = dflat_schema::Options { payload_only };
    let compilation = compile(&["test.fbs".to_owned()], &loader, &options);
    let options = Options {
        payload_only,
        ..Options::default()
    };
    let made = compilation.schema.is_some_and(|schema| {
        let made = generate(&schema, &options);
        if let Err(errors) = &made {
            assert!(errors.len() <= 200);
            assert!(!rendered(errors, &compilation.sources).is_empty());
        }
        made.is_ok()
    });
    // The time that a debug build may need for a megabyte.
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    made
}

#[test]
fn long_chains_do_not_overflow_the_stack() {
    const LENGTH: usize = 5_000;
    let chain = |form: &dyn Fn(usize) -> String| {
        (1..LENGTH).fold(form(0), |mut text, position| {
            text.push_str(&form(position));
            text
        })
    };
    let next = |position: usize| (position + 1) % LENGTH;
    let circle = chain(&|n| format!("table T{n} {{ t: T{}; }}\n", next(n)));
    assert!(survives(&circle, false));
    let vectors = chain(&|n| format!("table T{n} {{ t: [T{}]; }}\n", next(n)));
    assert!(survives(&vectors, false));
    let unions = chain(&|n| {
        let next = next(n);
        format!("table T{n} {{ u: U{next}; }} union U{n} {{ T{n}, X{n}: T{next} }}\n")
    });
    assert!(survives(&unions, true));
    let structs = chain(&|n| match n {
        0 => "struct S0 { x: byte; }\n".to_owned(),
        n => format!("struct S{n} {{ s: S{}; }}\n", n - 1),
    });
    assert!(survives(&structs, false));
}

#[test]
fn large_hostile_texts_compile_in_time() {
    let flood = |form: &dyn Fn(usize) -> String, count: usize| {
        (0..count).fold(String::new(), |mut text, position| {
            text.push_str(&form(position));
            text
        })
    };
    let fields = flood(&|n| format!("f{n}: int;"), 10_000);
    assert!(survives(&format!("table T {{ {fields} }}"), false));
    let clashes = flood(&|n| format!("f{n}: int; F{n}: int;"), 10_000);
    assert!(!survives(&format!("table T {{ {clashes} }}"), false));
    let nameless = flood(&|n| format!("{}: int;", "_".repeat(n + 1)), 700);
    assert!(!survives(&format!("table T {{ {nameless} }}"), false));
    let values = flood(&|n| format!("V{n},"), 60_000);
    assert!(survives(&format!("enum E: int {{ {values} }}"), false));
    let members = flood(&|n| format!("M{n}: T,"), 255);
    assert!(survives(
        &format!("table T {{}} union U {{ {members} }}"),
        false
    ));
    let mut deep = String::new();
    for depth in 0..32 {
        write!(deep, "namespace {}N;", "N.".repeat(depth)).unwrap();
        write!(deep, "table T{depth} {{ x: int; }}").unwrap();
    }
    assert!(survives(&deep, false));
}

/// Removes or duplicates a part of each schema. Most results are valid schemas of unusual shape.
#[test]
fn mutated_schemas_never_panic() {
    let mut made = 0;
    for case in cases() {
        let path = data().join(&case).join(format!("{case}.fbs"));
        let text = std::fs::read_to_string(path).unwrap();
        let words: Vec<&str> = text.split_inclusive([' ', ';', '\n']).collect();
        for position in 0..words.len() {
            let mut shorter = words.clone();
            let word = shorter.remove(position);
            made += u32::from(survives(&shorter.concat(), position % 2 == 0));
            let mut longer = words.clone();
            longer.insert(words.len() - position, word);
            made += u32::from(survives(&longer.concat(), position % 2 == 0));
        }
    }
    assert!(made > 100, "only {made} of the schemas are valid");
}
