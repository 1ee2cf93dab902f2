//! The chart of Dflat beside raw SQLite at the same work, and its table on the page.

use std::fmt::Write;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::Result;
use crate::amount::{Unit, amount, digits};
use crate::chart::{AXIS, MARGINS, ROW, WIDTH, axis, bar, mark, style};
use crate::figures::Floor;

/// The sentence below the axis.
const TEXT: &str = "the figure of Dflat divided by that of raw SQLite; left of 1, Dflat is ahead";

/// The ratios of Dflat to its floors on a logarithmic axis. A bar goes from the minimum to the 99th
/// percentile of Dflat, divided by the median of the floor.
///
/// # Errors
/// If the chart cannot be drawn.
pub fn chart(floors: &[Floor]) -> Result<String> {
    let bottom = MARGINS.0 + i32::try_from(floors.len())? * ROW;
    let size = (u32::try_from(WIDTH)?, u32::try_from(bottom + MARGINS.1)?);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        axis(&area, bottom, TEXT)?;
        for (floor, y) in floors
            .iter()
            .zip((MARGINS.0 + ROW / 2..).step_by(ROW as usize))
        {
            let name = floor.scenario.clone();
            area.draw(&Text::new(name, (AXIS.0 - 10, y), style(12, HPos::Right)))?;
            let median = amount(floor.ours_ns, Unit::Ns);
            area.draw(&Text::new(median, (AXIS.1 + 10, y), style(12, HPos::Left)))?;
            let ends = [floor.ours_min_ns, floor.ours_p99_ns].map(|ns| ns / floor.floor_ns);
            bar(&area, y, (ends[0], ends[1]))?;
            mark(&area, y, floor.ratio, true)?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// The section of the page.
pub(crate) fn section(text: &mut String, floors: &[Floor]) -> Result<()> {
    write!(
        text,
        "\n## Beside raw SQLite\n\n\
         `dflat-bench` does the same work by calls of SQLite without a wrapper, with statements that stay prepared: the floor.\n\
         `crates/dflat-bench/README.md` describes its scenarios, whose objects have some hundred bytes.\n\n\
         ![Ratios of Dflat to raw SQLite](benchmarks/floors.svg)\n\n\
         | Scenario | Objects | Dflat | Floor | Ratio |\n|---|---|---|---|---|\n"
    )?;
    for floor in floors {
        let [ours, raw] = [floor.ours_ns, floor.floor_ns].map(|ns| amount(ns, Unit::Ns));
        let (name, objects) = (&floor.scenario, floor.objects);
        writeln!(
            text,
            "| `{name}` | {objects} | {ours} | {raw} | {} |",
            digits(floor.ratio)
        )?;
    }
    Ok(())
}
