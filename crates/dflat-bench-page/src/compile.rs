//! The table of compile times and sizes, from the figures that `cargo xtask cost` wrote.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::amount::digits;
use crate::{FOLDER, OURS, Result};

/// The measurements of programs with one type and with many.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Compiled {
    /// The processors of the machine.
    pub machine: String,
    /// The day of the measurement.
    pub date: String,
    /// The programs, each once for a profile.
    pub programs: Vec<Program>,
}

/// A program in a profile.
#[derive(Clone, Debug, Deserialize)]
pub struct Program {
    /// The library that it uses.
    pub library: String,
    /// The number of its types.
    pub types: u32,
    /// `dev` or `release`.
    pub profile: String,
    /// The processor time of the first build, its libraries included, in seconds.
    pub first_s: Option<f64>,
    /// The processor time of a build after a change, in seconds.
    pub again_s: f64,
    /// The length of the program in bytes.
    pub bytes: u64,
}

impl Compiled {
    /// Reads the stored measurements of a repository.
    ///
    /// # Errors
    /// If the file is absent or malformed.
    pub fn read(root: &Path) -> Result<Self> {
        let path = root.join(FOLDER).join("compile.json");
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| format!("read {}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The section of the page.
    pub(crate) fn section(&self, text: &mut String) -> Result<()> {
        write!(
            text,
            "\n## Compile time and size\n\n\
             Each program has one type or fifty; each type has an index, and the program upserts and queries an object of the type.\n\
             The program on rusqlite has the same tables, a structure for each, and its SQL by hand.\n\
             Times are seconds of the processors; the fastest of three builds counts where the libraries are built already.\n\
             They were measured on {} on {}.\n\n\
             | Library | Types | First build, `dev` | First build, `release` | Build after a change, `dev` | Build after a change, `release` | Program in `release` |\n\
             |---|---|---|---|---|---|---|\n",
            self.machine, self.date
        )?;
        for release in self
            .programs
            .iter()
            .filter(|program| program.profile == "release")
        {
            let is_alike = |program: &&Program| {
                program.profile == "dev"
                    && (&program.library, program.types) == (&release.library, release.types)
            };
            let dev = self.programs.iter().find(is_alike);
            let dev = dev.ok_or_else(|| format!("{} lacks `dev`", release.library))?;
            let first = |program: &Program| {
                program
                    .first_s
                    .map_or_else(|| "-".to_owned(), |first| format!("{} s", digits(first)))
            };
            writeln!(
                text,
                "| {} | {} | {} | {} | {} s | {} s | {} MiB |",
                release.library,
                release.types,
                first(dev),
                first(release),
                digits(dev.again_s),
                digits(release.again_s),
                digits(release.bytes as f64 / f64::from(1 << 20)),
            )?;
        }
        self.explained(text)
    }

    /// Why a program with Dflat takes longer to build, if it does.
    fn explained(&self, text: &mut String) -> Result<()> {
        let again = |is_ours: bool| {
            let programs = self.programs.iter();
            let programs = programs.filter(|program| (program.library == OURS) == is_ours);
            programs.map(|program| program.again_s).sum::<f64>()
        };
        if again(true) > again(false) {
            write!(
                text,
                "\nA type of Dflat has generated code for reading, writing, changing, querying and observing, which the compiler checks and compiles; the program on rusqlite has two statements as text.\n\
                 The generated code is short, and calls one engine for all types; with fewer generic functions, it would compile faster.\n"
            )?;
        }
        Ok(())
    }
}
