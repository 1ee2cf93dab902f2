//! Damaged schemas: each compiles, or is refused with diagnostics that can be shown.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dflat_codegen::generate;
use dflat_schema::{MemoryLoader, Options, Style, compile};

use crate::fixture::bounded;
use crate::random::Random;

/// The number of texts that a seed damages.
const TEXTS: usize = 12;

/// Tokens that have a meaning in schemas.
const WORDS: &str = "table struct enum union namespace include attribute root_type rpc_service \
    file_identifier file_extension native_include bool byte ubyte short ushort int uint long ulong \
    float double string int8 uint64 float64 true false null nan inf -inf -0 0 1 -1 255 256 65535 \
    2147483648 -2147483649 18446744073709551615 18446744073709551616 0x 0xFFFFFFFFFFFFFFFFF 1e999 \
    1e .5 0.1 NONE self type primary indexed unique id deprecated required key hash bit_flags \
    force_align original_order shared v nested_flatbuffer ( ) { } [ ] : ; , = . \" ' /* */ // /// \
    文 \u{0} \u{FEFF} \u{1F600} \\ \"\\u{110000}\" \"\\xFF\" _ __ r#type Vec Option Sample";

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        for _ in 0..TEXTS {
            let text = damaged(&mut random);
            check_text(&text);
        }
    });
}

/// Checks an arbitrary text as a schema. The text may include files of the corpus.
pub fn check_text(text: &str) {
    let loader = sources()
        .iter()
        .fold(MemoryLoader::new(), |loader, (name, text)| {
            loader.with_file(name, text)
        });
    let loader = loader.with_file("fuzzed.fbs", text);
    for payload_only in [false, true] {
        let options = Options { payload_only };
        let compiled = compile(&["fuzzed.fbs".to_owned()], &loader, &options);
        let mut diagnostics = compiled.diagnostics;
        if let Some(schema) = &compiled.schema {
            let options = dflat_codegen::Options {
                payload_only,
                ..dflat_codegen::Options::default()
            };
            match generate(schema, &options) {
                Ok(output) => assert!(!output.text.is_empty() || text.is_empty()),
                Err(more) => diagnostics.extend(more),
            }
        } else {
            assert!(!diagnostics.is_empty(), "refused without a reason:\n{text}");
        }
        for diagnostic in diagnostics {
            assert!(
                !diagnostic
                    .render(&compiled.sources, Style::Plain)
                    .is_empty()
            );
        }
    }
}

/// The schemas of the repository and of the compiler's tests, by name.
fn sources() -> &'static [(String, String)] {
    static SOURCES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in [
            "schemas",
            "schemas/conformance",
            "crates/dflat-schema/tests/data/ok",
            "crates/dflat-schema/tests/data/err",
            "crates/dflat-schema/tests/data/include",
        ] {
            for entry in fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "fbs") {
                    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                    let text = fs::read(&path).unwrap();
                    found.push((name, String::from_utf8_lossy(&text).into_owned()));
                }
            }
        }
        found.sort();
        found
    })
}

/// A schema of the corpus with some tokens changed.
fn damaged(random: &mut Random) -> String {
    let mut text = tokens(&random.pick(sources()).1);
    let other = tokens(&random.pick(sources()).1);
    let words: Vec<&str> = WORDS.split(' ').collect();
    for _ in 0..1 + random.below(6) {
        let at = random.below(text.len().max(1));
        match random.below(8) {
            0 if at < text.len() => {
                text.remove(at);
            }
            1 | 2 => text.insert(at, (*random.pick(&words)).to_owned()),
            3 if at < text.len() => text[at] = (*random.pick(&words)).to_owned(),
            4 if !other.is_empty() => text.insert(at, random.pick(&other).clone()),
            5 if !other.is_empty() => {
                let from = random.below(other.len());
                let end = (from + 1 + random.below(40)).min(other.len());
                text.splice(at..at, other[from..end].iter().cloned());
            }
            6 if at < text.len() => {
                let to = random.below(text.len());
                text.swap(at, to);
            }
            _ if at < text.len() => {
                let times = *random.pick(&[1, 2, 70, 3_000]);
                let token = text[at].repeat(times);
                text.insert(at, token);
            }
            _ => {}
        }
    }
    text.concat()
}

/// The words, signs and spaces of a text.
fn tokens(text: &str) -> Vec<String> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = 2;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if class(c) == last && last != 2 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = class(c);
    }
    tokens
}
