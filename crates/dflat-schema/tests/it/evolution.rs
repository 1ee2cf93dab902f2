//! Golden files: pairs of schema versions, and the diagnostics of their changes.

use std::collections::BTreeSet;

use dflat_schema::{
    Compilation, EVOLUTION_CODES, Evolution, MemoryLoader, Options, Severity, Style, Version,
    compare, compile,
};
use expect_test::expect_file;

use crate::fixture::{data, names, text};

fn version(path: &str) -> Compilation {
    let loader = MemoryLoader::new().with_file(path, &text(path));
    let options = Options {
        payload_only: false,
    };
    compile(&[path.to_owned()], &loader, &options)
}

fn evolution(name: &str) -> Evolution {
    let versions = ["old", "new"].map(|age| version(&format!("evolution/{name}.{age}.fbs")));
    let [old, new] = versions.each_ref().map(|version| Version {
        schema: version.schema.as_ref().unwrap(),
        sources: &version.sources,
    });
    compare(old, new)
}

#[test]
fn changes_are_judged() {
    for name in names("evolution", ".old.fbs") {
        let evolution = evolution(&name);
        let mut rendered = String::new();
        for change in &evolution.changes {
            rendered.push_str(&change.render(&evolution.sources, Style::Plain));
            rendered.push_str("\n\n");
        }
        expect_file![data().join(format!("evolution/{name}.stderr"))].assert_eq(&rendered);
        let errors = evolution
            .changes
            .iter()
            .any(|change| change.severity == Severity::Error);
        assert_eq!(
            (evolution.breaking, name.starts_with('E')),
            (errors, errors),
            "{name}"
        );
        let code = name.split('_').next().unwrap();
        assert!(
            evolution
                .changes
                .iter()
                .any(|change| change.code.name == code),
            "{name}"
        );
    }
    for extension in [".new.fbs", ".stderr"] {
        assert_eq!(
            names("evolution", extension),
            names("evolution", ".old.fbs")
        );
    }
}

#[test]
fn every_code_has_a_pair() {
    let seen: BTreeSet<String> = names("evolution", ".old.fbs")
        .iter()
        .map(|name| name.split('_').next().unwrap().to_owned())
        .collect();
    let known = EVOLUTION_CODES.iter().map(|code| code.name.to_owned());
    assert_eq!(seen, known.collect());
}

#[test]
fn a_version_compared_with_itself_has_no_changes() {
    for name in names("evolution", ".new.fbs") {
        let version = version(&format!("evolution/{name}.new.fbs"));
        let same = Version {
            schema: version.schema.as_ref().unwrap(),
            sources: &version.sources,
        };
        assert_eq!(compare(same, same).changes, [], "{name}");
    }
}
