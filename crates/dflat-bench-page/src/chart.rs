//! The charts, as SVG.
//!
//! A chart has a white ground of its own, so that it is readable on light and dark pages. Its marks
//! differ in shape and place instead of colour, so that it is readable in black and white.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::amount::amount;
use crate::figures::{Figure, Figures, Scenario};
use crate::{OURS, Result};

pub(crate) const WIDTH: i32 = 960;
/// The height of a line.
pub(crate) const ROW: i32 = 17;
/// The space above the first line, and below the last, for the axis.
pub(crate) const MARGINS: (i32, i32) = (8, 46);
/// The ends of the axis, in pixels.
pub(crate) const AXIS: (i32, i32) = (150, 830);
/// The powers of ten at the ends of the axis. A mark beyond an end is drawn at the end.
const POWERS: (i32, i32) = (-2, 2);

pub(crate) const INK: RGBColor = RGBColor(32, 32, 32);
const LINE: RGBColor = RGBColor(205, 205, 205);

const AXIS_TEXT: &str = "the figure divided by that of Dflat; right of 1, Dflat is ahead; a triangle is beyond the axis";

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The place of a ratio on the axis.
fn place(ratio: f64) -> i32 {
    let (first, last) = (f64::from(POWERS.0), f64::from(POWERS.1));
    let share = (ratio.log10().clamp(first, last) - first) / (last - first);
    AXIS.0 + (share * f64::from(AXIS.1 - AXIS.0)).round() as i32
}

pub(crate) fn style(size: i32, side: HPos) -> TextStyle<'static> {
    let style = TextStyle::from(("sans-serif", size).into_font()).color(&INK);
    style.pos(Pos::new(side, VPos::Center))
}

/// The figures of scenarios as ratios to Dflat on a logarithmic axis. A bar goes from the tenth to
/// the ninetieth percentile.
///
/// # Errors
/// If the chart cannot be drawn.
pub fn ratios(scenarios: &[&Scenario]) -> Result<String> {
    let rows: usize = scenarios
        .iter()
        .map(|scenario| scenario.figures.len() + 1)
        .sum();
    let bottom = MARGINS.0 + i32::try_from(rows)? * ROW;
    let height = u32::try_from(bottom + MARGINS.1)?;
    let mut svg = String::new();
    {
        let size = (u32::try_from(WIDTH)?, height);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        axis(&area, bottom, AXIS_TEXT)?;
        let mut y = MARGINS.0 + ROW / 2;
        for scenario in scenarios {
            let head = format!("{}: {}", scenario.scenario, scenario.about);
            // The ground hides the lines of the axis.
            let ground = [(0, y - ROW / 2), (WIDTH, y + ROW / 2)];
            area.draw(&Rectangle::new(ground, WHITE.filled()))?;
            area.draw(&Text::new(head, (8, y), style(13, HPos::Left)))?;
            for figure in &scenario.figures {
                y += ROW;
                row(&area, y, scenario, figure)?;
            }
            y += ROW;
        }
        area.present()?;
    }
    Ok(svg)
}

/// The lines of the powers of ten, and a sentence below them.
pub(crate) fn axis(area: &Area<'_>, bottom: i32, text: &str) -> Result<()> {
    for power in POWERS.0..=POWERS.1 {
        let x = place(10_f64.powi(power));
        let colour = if power == 0 { INK } else { LINE };
        let line = vec![(x, MARGINS.0), (x, bottom + 4)];
        area.draw(&PathElement::new(line, colour.stroke_width(1)))?;
        let label = format!("{}", 10_f64.powi(power));
        area.draw(&Text::new(label, (x, bottom + 14), style(12, HPos::Center)))?;
    }
    let middle = (AXIS.0 + AXIS.1) / 2;
    area.draw(&Text::new(
        text.to_owned(),
        (middle, bottom + 32),
        style(12, HPos::Center),
    ))?;
    Ok(())
}

fn row(area: &Area<'_>, y: i32, scenario: &Scenario, figure: &Figure) -> Result<()> {
    let name = figure.store.clone();
    area.draw(&Text::new(name, (AXIS.0 - 10, y), style(12, HPos::Right)))?;
    let median = amount(figure.median, scenario.unit);
    area.draw(&Text::new(median, (AXIS.1 + 10, y), style(12, HPos::Left)))?;
    let Some(ours) = scenario.of(OURS).filter(|ours| ours.median > 0.0) else {
        return Ok(());
    };
    let [low, middle, high] =
        [figure.p10, figure.median, figure.p90].map(|value| value / ours.median);
    bar(area, y, (low, high))?;
    mark(area, y, middle, figure.store == OURS)
}

/// A bar from a ratio to another.
pub(crate) fn bar(area: &Area<'_>, y: i32, (low, high): (f64, f64)) -> Result<()> {
    let (low, high) = (place(low), place(high));
    let line = vec![(low, y), (high, y)];
    area.draw(&PathElement::new(line, INK.stroke_width(1)))?;
    for end in [low, high] {
        let end = vec![(end, y - 3), (end, y + 3)];
        area.draw(&PathElement::new(end, INK.stroke_width(1)))?;
    }
    Ok(())
}

/// The mark of a ratio: a square for Dflat, else a circle, or a triangle at the end of the axis if
/// the ratio is beyond it.
pub(crate) fn mark(area: &Area<'_>, y: i32, ratio: f64, is_ours: bool) -> Result<()> {
    let x = place(ratio);
    if let Some(tip) = beyond(ratio) {
        let corners = vec![(x, y - 5), (x, y + 5), (x + 8 * tip, y)];
        area.draw(&Polygon::new(corners, INK.filled()))?;
    } else if is_ours {
        let corners = [(x - 4, y - 4), (x + 4, y + 4)];
        area.draw(&Rectangle::new(corners, INK.filled()))?;
    } else {
        area.draw(&Circle::new((x, y), 4, WHITE.filled()))?;
        area.draw(&Circle::new((x, y), 4, INK.stroke_width(1)))?;
    }
    Ok(())
}

/// The direction in which a ratio is beyond the axis.
fn beyond(ratio: f64) -> Option<i32> {
    match ratio.log10() {
        power if power > f64::from(POWERS.1) => Some(1),
        power if power < f64::from(POWERS.0) => Some(-1),
        _ => None,
    }
}

/// The operations of the chart of counts: the name of a line, and the beginning of its scenarios.
const LINES: [(&str, &str); 4] = [
    ("insert", "insert"),
    ("scan", "scan"),
    ("update", "update"),
    ("read by key", "fetch_by_key"),
];

/// The time of an object in tables of a thousand to a million objects, for each operation of Dflat.
///
/// # Errors
/// If the chart cannot be drawn.
pub fn counts(figures: &Figures) -> Result<String> {
    let mut svg = String::new();
    {
        let size = (u32::try_from(WIDTH)?, 420);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(
                (700_f64..4e6_f64).log_scale(),
                (10_f64..1e5_f64).log_scale(),
            )?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(LINE)
            .axis_style(INK)
            .x_labels(4)
            .y_labels(5)
            .x_label_formatter(&|count| format!("{count:.0}"))
            .y_label_formatter(&|ns| format!("{ns:.0}"))
            .x_desc("objects in the table")
            .y_desc("nanoseconds for each object")
            .label_style(("sans-serif", 12).into_font().color(&INK))
            .draw()?;
        for (name, start) in LINES {
            let points = line(figures, start);
            let Some(&last) = points.last() else { continue };
            chart.draw_series(LineSeries::new(points.iter().copied(), INK.stroke_width(2)))?;
            let marks = points
                .iter()
                .map(|&point| Circle::new(point, 4, INK.filled()));
            chart.draw_series(marks)?;
            let label = (last.0 * 1.15, last.1);
            chart.draw_series([Text::new(name, label, style(13, HPos::Left))])?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// The times of an object, by the number of objects.
fn line(figures: &Figures, start: &str) -> Vec<(f64, f64)> {
    let names = ["_1k", "", "_100k", "_1m"].map(|end| format!("{start}{end}"));
    let point = |name: &String| {
        let scenario = figures.scenarios.iter().find(|s| s.scenario == *name)?;
        let count = scenario.objects as f64;
        Some((count, scenario.of(OURS)?.median / count))
    };
    names.iter().filter_map(point).collect()
}
