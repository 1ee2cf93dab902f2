//! The steps, in order: the cheap ones that fail most often come first.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::ci::{Invocation, Step, Work};
use crate::finding::Finding;
use crate::tidy::{self, Mode};
use crate::workspace::{self, Package};
use crate::{licences, package};

/// Examples that end in assertions, and so are tests.
const EXAMPLES: [(&str, &str); 4] = [
    ("post", ""),
    ("packages", ""),
    ("inbox", " -- --headless"),
    ("proof", " -- --quick"),
];

/// Packages whose tests take long: what a step that runs them is called, and which it runs.
const APART: [(&str, &str, &str); 4] = [
    ("tests of generated code", "dflat-codegen", ""),
    (
        "laws",
        "dflat-testkit",
        " -- --skip fault --skip fuzz_smoke",
    ),
    ("faults", "dflat-testkit", " -- fault --skip fuzz_smoke"),
    ("fuzzers", "dflat-testkit", " -- fuzz_smoke"),
];

/// What counts instructions: generated code beside Google's, conditions beside the same by hand.
const INSTRUCTIONS: [(&str, &str); 2] = [
    (
        "instructions",
        "cargo bench -p dflat-codegen --bench codec -- --quick",
    ),
    (
        "instructions of conditions",
        "cargo bench -p dflat-engine --bench predicates -- --quick",
    ),
];

/// The steps for the workspace at `root`, on this machine.
///
/// # Errors
/// When Cargo rejects a manifest.
pub fn steps(root: &Path) -> Result<Vec<Step>> {
    let packages = workspace::packages(root)?;
    let (tools, required) = tools();
    let test = |line: &str| {
        let with = |line: Invocation, variable: &&'static str| line.with(variable, "1");
        required.iter().fold(Invocation::new(line), with)
    };
    let mut steps = vec![
        program("fetch", Invocation::new("cargo fetch --locked")),
        Step {
            name: "format",
            work: Work::Program(Invocation::new("cargo fmt --all --check")),
        },
        Step {
            name: "tidy",
            work: Work::Task("tidy", check_tidy),
        },
        Step {
            name: "licences",
            work: Work::Task("licences", check_licences),
        },
        program(
            "lints",
            Invocation::new("cargo clippy --workspace --all-targets -- -D warnings"),
        ),
        tools,
        program("build of tests", test("cargo test --workspace --no-run")),
    ];
    steps.extend(tests(&packages, test));
    steps.extend([program(
        "documentation",
        Invocation::new("cargo doc --workspace --no-deps").with("RUSTDOCFLAGS", "-D warnings"),
    )]);
    steps.extend(features(&packages));
    for (example, arguments) in EXAMPLES {
        steps.extend(if_present(&packages, example, || {
            format!("cargo run --quiet -p {example}{arguments}")
        }));
    }
    steps.extend(if_present(&packages, "dflat-bench", || {
        "cargo run --quiet -p dflat-bench -- --quick".to_owned()
    }));
    steps.extend(INSTRUCTIONS.map(|(name, line)| instructions(name, line)));
    steps.push(Step {
        name: "archives",
        work: Work::Task("package", package::run),
    });
    Ok(steps)
}

/// The tests, in parts that are each short enough to be a step.
fn tests(packages: &[Package], test: impl Fn(&str) -> Invocation) -> Vec<Step> {
    let apart = APART
        .iter()
        .filter(|(_, package, _)| packages.iter().any(|p| p.name == *package));
    let mut others = "cargo test --workspace".to_owned();
    let mut steps = Vec::new();
    for (name, package, which) in apart {
        let exclude = format!(" --exclude {package}");
        if !others.ends_with(&exclude) {
            others.push_str(&exclude);
        }
        let one = format!("cargo test -p {package}{which}");
        steps.push(program(name, test(&one)));
    }
    steps.insert(0, program("tests", test(&others)));
    steps
}

fn program(name: &'static str, invocation: Invocation) -> Step {
    Step {
        name,
        work: Work::Program(invocation),
    }
}

/// A step for a package, if the workspace has it.
fn if_present(
    packages: &[Package],
    name: &'static str,
    line: impl FnOnce() -> String,
) -> Option<Step> {
    let present = packages.iter().any(|package| package.name == name);
    present.then(|| program(name, Invocation::new(&line())))
}

/// Counts instructions, and compares them with those of what is as good as it gets.
fn instructions(name: &'static str, line: &str) -> Step {
    let work = if succeeds("valgrind", &["--version"]) {
        Work::Program(Invocation::new(line))
    } else {
        Work::Skip("valgrind is not installed".to_owned())
    };
    Step { name, work }
}

fn features(packages: &[Package]) -> Vec<Step> {
    if !packages.iter().any(|package| package.name == "dflat") {
        return Vec::new();
    }
    let bare = "cargo check -p dflat --no-default-features";
    let system = Invocation::new(&format!("{bare} --features system-sqlite"));
    let work = if succeeds("pkg-config", &["--exists", "sqlite3"]) {
        Work::Program(system)
    } else {
        Work::Skip("pkg-config finds no sqlite3".to_owned())
    };
    let name = "system SQLite";
    vec![
        program("no features", Invocation::new(bare)),
        Step { name, work },
    ]
}

/// A program that some tests use, if it is there.
struct Tool {
    program: &'static str,
    /// What prints its version.
    version: &'static str,
    /// Debian's package.
    package: &'static str,
    /// Set to 1 for tests that are to fail without it.
    variable: &'static str,
}

/// Google's schema compiler, which ours is compared with; what tells the system calls of a reader.
const TOOLS: [Tool; 2] = [
    Tool {
        program: "flatc",
        version: "--version",
        package: "flatbuffers-compiler",
        variable: "DFLAT_REQUIRE_FLATC",
    },
    Tool {
        program: "strace",
        version: "-V",
        package: "strace",
        variable: "DFLAT_REQUIRE_STRACE",
    },
];

impl Tool {
    fn is_present(&self) -> bool {
        succeeds(self.program, &[self.version])
    }
}

/// Whether this is Debian, and packages may be installed.
fn can_install() -> bool {
    let administrator = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    Path::new("/etc/debian_version").exists() && administrator
}

/// The step that installs what tests use, and the variables that say so to them.
fn tools() -> (Step, Vec<&'static str>) {
    let present = TOOLS.iter().filter(|tool| tool.is_present());
    let present: Vec<&str> = present.map(|tool| tool.variable).collect();
    let (work, required) = if present.len() == TOOLS.len() {
        (Work::Skip("all are there".to_owned()), present)
    } else if can_install() {
        let all = TOOLS.iter().map(|tool| tool.variable).collect();
        (Work::Task("install-tools", install_tools), all)
    } else {
        let reason = "not all are installed; tests that use the others are skipped";
        (Work::Skip(reason.to_owned()), present)
    };
    let name = "tools";
    (Step { name, work }, required)
}

/// Installs what some tests use, on Debian.
///
/// # Errors
/// When `apt-get` fails.
pub fn install_tools(_root: &Path) -> Result<()> {
    let apt = |arguments: &[&str]| -> Result<()> {
        let status = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("apt-get {} failed: {status}", arguments.join(" ")).into())
        }
    };
    apt(&["update", "--quiet"])?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    let packages = TOOLS.map(|tool| tool.package);
    apt(&[&install[..], &packages].concat())
}

/// Prints what `tidy` finds.
///
/// # Errors
/// When it finds an error.
pub fn check_tidy(root: &Path) -> Result<()> {
    report("tidy", &tidy::run(root, Mode::Check)?)
}

/// Prints what `licences` finds.
///
/// # Errors
/// When a licence is not allowed.
pub fn check_licences(root: &Path) -> Result<()> {
    let (count, findings) = licences::run(root)?;
    report("licences", &findings)?;
    println!("{count} packages may be used");
    Ok(())
}

/// Prints findings.
///
/// # Errors
/// When one is an error.
pub fn report(task: &str, findings: &[Finding]) -> Result<()> {
    for finding in findings {
        println!("{finding}");
    }
    match findings.iter().filter(|finding| finding.is_error()).count() {
        0 => Ok(()),
        count => Err(format!("{task}: {count} errors").into()),
    }
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
