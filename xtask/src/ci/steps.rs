//! The steps, in order: the cheap ones that fail most often come first.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::ci::built::{Kind, Selection};
use crate::ci::{Invocation, Step, Work, system_sqlite};
use crate::finding::Finding;
use crate::tidy::{self, Mode};
use crate::workspace::{self, Package};
use crate::{licences, package, swift};

/// Programs that end with assertions, so that they serve as tests, and their arguments.
const PROGRAMS: [(&str, &str); 6] = [
    ("post", ""),
    ("packages", ""),
    ("notes", ""),
    ("inbox", "--headless"),
    ("proof", "--quick"),
    ("dflat-bench", "--quick --json target/quick.jsonl"),
];

/// Packages whose tests take long: the name of a step, its package and the arguments of the tests,
/// which run several times. The tests that take longest come first.
const SEPARATE: [(&str, &str, &[&str]); 2] = [
    ("tests of generated code", "dflat-codegen", &[""]),
    (
        "laws and faults",
        "dflat-testkit",
        &[
            "fault --skip fuzz_smoke",
            "--skip fault --skip fuzz_smoke",
            "fuzz_smoke",
        ],
    ),
];

/// Counts the instructions of generated code beside those of Google's code, of conditions beside
/// hand-written ones, and of pieces of work beside the stored counts.
const INSTRUCTIONS: &str = "cargo bench -p dflat-codegen -p dflat-engine -p dflat-bench \
                            --bench codec --bench predicates --bench counts -- --quick";

/// Installs the program as its page says, but without optimisation, which would take minutes.
const INSTALL: &str = "cargo install --path crates/dflat-cli --debug --locked --offline --force \
                       --root target/installed";

/// Keys that are UUIDs need a feature, which the message of the compiler names.
const WITHOUT_UUIDS: &str = "cargo check -p dflat --no-default-features \
                             --test keys_that_are_uuids 2>&1 \
                             | grep -F 'gated behind the `uuid` feature'";

/// The variable that has the tests of the C interface run their C programs under valgrind, which
/// finds invalid accesses and lost memory.
const C_PROGRAMS_CHECKED: (&str, &str) = ("DFLAT_CAPI_VALGRIND", "1");

/// The steps for the workspace at `root`, on this machine.
///
/// # Errors
/// An error if Cargo rejects a manifest.
pub fn steps(root: &Path) -> Result<Vec<Step>> {
    let packages = workspace::packages(root)?;
    let (tools, required) = tools();
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
        Step {
            name: "build",
            work: Work::Build,
        },
    ];
    steps.extend(tests(&packages, &required));
    steps.extend([
        program(
            "tests in documents",
            Invocation::new("cargo test --workspace --doc"),
        ),
        program(
            "documentation",
            Invocation::new("cargo doc --workspace --no-deps").with("RUSTDOCFLAGS", "-D warnings"),
        ),
    ]);
    steps.extend(features(&packages, required.contains(&SYSTEM_SQLITE)));
    for (name, arguments) in PROGRAMS {
        if packages.iter().any(|package| package.name == name) {
            let program = selection(Kind::Program, Some(name), arguments);
            steps.push(built(name, vec![program]));
        }
    }
    steps.extend(
        [
            ("picture", "cargo xtask picture --check"),
            ("benchmarks", "cargo xtask bench --check"),
            ("charts", "cargo xtask bench --draw target/quick.jsonl"),
        ]
        .map(|(name, command)| program(name, Invocation::new(command))),
    );
    let instructions = Work::Program(Invocation::new(INSTRUCTIONS));
    steps.push(under_valgrind("instructions", instructions));
    let mut c_programs = selection(Kind::Tests, Some("dflat-capi"), "programs::");
    c_programs.environment.push(C_PROGRAMS_CHECKED);
    steps.push(under_valgrind("C programs", Work::Built(vec![c_programs])));
    steps.push(Step {
        name: "swift",
        work: Work::Task("swift", swift::run),
    });
    steps.push(Step {
        name: "archives",
        work: Work::Task("package", package::run),
    });
    if packages.iter().any(|package| package.name == "dflat-cli") {
        steps.push(program("install", Invocation::new(INSTALL)));
    }
    Ok(steps)
}

/// The tests, in parts that are each short enough to be a step. Tests fail without the tools that
/// the variables in `required` name.
fn tests(packages: &[Package], required: &[&'static str]) -> Vec<Step> {
    let separate = SEPARATE
        .iter()
        .filter(|(_, package, _)| packages.iter().any(|p| p.name == *package));
    let mut others = selection(Kind::Tests, None, "");
    let mut steps = Vec::new();
    for &(name, package, runs) in separate {
        others.excluded.push(package);
        let run = |arguments: &&'static str| selection(Kind::Tests, Some(package), arguments);
        steps.push((name, runs.iter().map(run).collect()));
    }
    steps.insert(0, ("tests", vec![others]));
    let required: Vec<_> = required.iter().map(|&variable| (variable, "1")).collect();
    let with = |mut selections: Vec<Selection>| {
        for selection in &mut selections {
            selection.environment.clone_from(&required);
        }
        selections
    };
    let steps = steps.into_iter();
    steps
        .map(|(name, selections)| built(name, with(selections)))
        .collect()
}

fn selection(kind: Kind, package: Option<&'static str>, arguments: &'static str) -> Selection {
    Selection {
        kind,
        package,
        excluded: Vec::new(),
        arguments,
        environment: Vec::new(),
    }
}

fn built(name: &'static str, selections: Vec<Selection>) -> Step {
    Step {
        name,
        work: Work::Built(selections),
    }
}

/// A line for a shell.
fn shell(line: &str) -> Invocation {
    Invocation {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        environment: Vec::new(),
    }
}

fn program(name: &'static str, invocation: Invocation) -> Step {
    Step {
        name,
        work: Work::Program(invocation),
    }
}

/// A step that needs valgrind.
fn under_valgrind(name: &'static str, work: Work) -> Step {
    let work = if succeeds("valgrind", &["--version"]) {
        work
    } else {
        Work::Skip("valgrind is not installed".to_owned())
    };
    Step { name, work }
}

fn features(packages: &[Package], has_sqlite: bool) -> Vec<Step> {
    if !packages.iter().any(|package| package.name == "dflat") {
        return Vec::new();
    }
    let bare = "cargo check -p dflat --no-default-features";
    // It compiles `dflat` and the C library with this feature too.
    let tested = if has_sqlite {
        Work::Task("system-sqlite", system_sqlite::tests)
    } else {
        Work::Skip("pkg-config finds no sqlite3".to_owned())
    };
    vec![
        program("no features", Invocation::new(bare)),
        program("no UUIDs", shell(WITHOUT_UUIDS)),
        Step {
            name: "tests on the system's SQLite",
            work: tested,
        },
    ]
}

/// A program that some tests use if it is installed.
struct Tool {
    program: &'static str,
    /// The arguments with which the program succeeds if the tool is there.
    check: &'static [&'static str],
    /// The package of Debian that contains the program.
    package: &'static str,
    /// The variable that is set to 1 to make tests fail without the program.
    variable: &'static str,
}

/// The variable of the system's SQLite. No test reads it: the steps that need it are skipped.
const SYSTEM_SQLITE: &str = "DFLAT_REQUIRE_SYSTEM_SQLITE";

/// Compiles and runs an empty program under the sanitizers of the C compiler.
const SANITIZE: &str = "folder=$(mktemp -d) && echo 'int main(void) { return 0; }' \
                        | cc -fsanitize=address,undefined -x c - -o $folder/a && $folder/a; \
                        status=$?; rm -r $folder; exit $status";

/// Finds the programs of PostgreSQL where Debian has them, or on the path.
const POSTGRES: &str = "ls /usr/lib/postgresql/*/bin/initdb || command -v initdb";

/// Finds the pool of connections in the same way.
const POOL: &str = "ls /usr/sbin/pgbouncer || command -v pgbouncer";

/// Google's schema compiler, with which `dflatc` is compared; a tracer for the system calls of
/// readers; what the tests of the C interface use; the system's SQLite; and a server with a pool of
/// connections before it.
const TOOLS: [Tool; 8] = [
    Tool {
        program: "flatc",
        check: &["--version"],
        package: "flatbuffers-compiler",
        variable: "DFLAT_REQUIRE_FLATC",
    },
    Tool {
        program: "strace",
        check: &["-V"],
        package: "strace",
        variable: "DFLAT_REQUIRE_STRACE",
    },
    Tool {
        program: "sh",
        check: &["-c", SANITIZE],
        package: "gcc",
        variable: "DFLAT_REQUIRE_SANITIZER",
    },
    Tool {
        program: "python3",
        check: &["--version"],
        package: "python3",
        variable: "DFLAT_REQUIRE_PYTHON",
    },
    Tool {
        program: "pkg-config",
        check: &["--version"],
        package: "pkg-config",
        variable: "DFLAT_REQUIRE_PKG_CONFIG",
    },
    Tool {
        program: "pkg-config",
        check: &["--exists", "sqlite3"],
        package: "libsqlite3-dev",
        variable: SYSTEM_SQLITE,
    },
    Tool {
        program: "sh",
        check: &["-c", POSTGRES],
        package: "postgresql",
        variable: "DFLAT_REQUIRE_POSTGRES",
    },
    Tool {
        program: "sh",
        check: &["-c", POOL],
        package: "pgbouncer",
        variable: "DFLAT_REQUIRE_PGBOUNCER",
    },
];

impl Tool {
    fn is_present(&self) -> bool {
        succeeds(self.program, self.check)
    }
}

/// Whether this is Debian and the user may install packages.
fn can_install() -> bool {
    let administrator = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    Path::new("/etc/debian_version").exists() && administrator
}

/// The step that installs the tools of tests, and the variables of the tools that are installed
/// then.
fn tools() -> (Step, Vec<&'static str>) {
    let present = TOOLS.iter().filter(|tool| tool.is_present());
    let present: Vec<&str> = present.map(|tool| tool.variable).collect();
    let (work, required) = if present.len() == TOOLS.len() {
        (Work::Skip("all are installed".to_owned()), present)
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

/// Installs the tools of tests, on Debian.
///
/// # Errors
/// An error if `apt-get` fails.
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

/// Prints the findings of `tidy`.
///
/// # Errors
/// An error if a finding is one.
pub fn check_tidy(root: &Path) -> Result<()> {
    report("tidy", &tidy::run(root, Mode::Check)?)
}

/// Prints the findings of `licences`.
///
/// # Errors
/// An error if a licence is not allowed.
pub fn check_licences(root: &Path) -> Result<()> {
    let (count, findings) = licences::run(root)?;
    report("licences", &findings)?;
    println!("{count} packages may be used");
    Ok(())
}

/// Prints findings.
///
/// # Errors
/// An error if a finding is one.
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
