//! A field with two axes: `plotters` chooses round numbers for the ticks, scales values to
//! positions, and draws grid and labels; the chart puts its own shapes on top.

use std::ops::Range;
use std::rc::Rc;

use maud::PreEscaped;
use plotters::coord::combinators::LogCoord;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::drawing::{Anchor, Drawing};
use super::text::{FONT, finite, tick_label};

/// The colors of grid, axes and labels. `style.css` replaces each of them by one that suits the
/// screen.
const GRID: RGBColor = RGBColor(0xe2, 0xdf, 0xd6);
const AXIS: RGBColor = RGBColor(0x5c, 0x61, 0x66);
/// Ends of an axis: plotters seeks ticks without end where numbers have too few digits for them.
const MOST: f64 = 1e12;
const LEAST: f64 = 1e-9;
/// Parts of a pixel to which positions are computed.
const PARTS: f64 = 100.0;

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equally far apart.
    Linear,
    /// Equal factors are equally far apart.
    Log,
}

/// An axis of a field.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// How values are spread.
    pub scale: Scale,
    /// The smallest and the largest value; widened where they are equal, crossed or not finite.
    pub domain: (f64, f64),
    /// The value and its unit.
    pub title: &'a str,
    /// About how many ticks with labels there are; 0 leaves them to the chart.
    pub ticks: usize,
}

/// Where a field lies in its drawing, in pixels, and its axes. The vertical axis has grid lines, the
/// horizontal one a line with ticks.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The left and the right edge.
    pub across: (f64, f64),
    /// The upper and the lower edge.
    pub down: (f64, f64),
    /// The horizontal axis.
    pub x: Axis<'a>,
    /// The vertical axis.
    pub y: Axis<'a>,
}

/// The positions of values in a field, in pixels; a value outside its axis stands at an end of it.
pub struct Positions {
    x: Coordinate,
    y: Coordinate,
    across: (f64, f64),
    down: (f64, f64),
}

impl Field<'_> {
    /// Draws grid, axes and titles. Returns where values stand.
    pub fn draw(&self, drawing: &mut Drawing) -> Positions {
        let (width, _) = drawing.size();
        let right = self.across.1;
        let (top, bottom) = self.down;
        let positions = Positions {
            x: Coordinate::new(&self.x),
            y: Coordinate::new(&self.y),
            across: self.across,
            down: self.down,
        };
        let mut document = String::new();
        self.draw_mesh(&positions, (width, bottom + LABELS), &mut document)
            .expect("there is always room in a string");
        drawing.push(PreEscaped(content(&document).to_owned()));
        for (axis, anchor, place) in [
            (&self.y, Anchor::Start, (0.0, top - 14.0)),
            (&self.x, Anchor::End, (right, bottom + 36.0)),
        ] {
            if !axis.title.is_empty() {
                drawing.text("title", anchor, place, axis.title);
            }
        }
        positions
    }

    fn draw_mesh(
        &self,
        positions: &Positions,
        size: (f64, f64),
        document: &mut String,
    ) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let pixels = |value: f64| value.round().max(0.0) as u32;
        let size = (pixels(size.0), pixels(size.1));
        // The last pixel belongs to the field.
        let (right, bottom) = (pixels(self.across.1) + 1, pixels(self.down.1) + 1);
        let root = SVGBackend::with_string(document, size).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin_top(pixels(self.down.0))
            .margin_right(size.0 - right)
            .y_label_area_size(pixels(self.across.0))
            .x_label_area_size(size.1 - bottom)
            .build_cartesian_2d(positions.x.clone(), positions.y.clone())?;
        let mut mesh = chart.configure_mesh();
        mesh.axis_style(AXIS)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .label_style(("sans-serif", FONT).into_font().color(&AXIS))
            .x_label_formatter(&|value| tick_label(*value))
            .y_label_formatter(&|value| tick_label(*value))
            .x_labels(self.x.ticks)
            .y_labels(self.y.ticks)
            .disable_x_mesh()
            .set_tick_mark_size(LabelAreaPosition::Bottom, 4)
            .set_tick_mark_size(LabelAreaPosition::Left, 5);
        if self.x.ticks == 0 {
            mesh.disable_x_axis();
        }
        if self.y.ticks == 0 {
            mesh.disable_y_mesh().disable_y_axis();
        }
        mesh.draw()?;
        root.present()
    }
}

/// Height of what stands below a field: the labels of the ticks.
const LABELS: f64 = 44.0;

/// What stands inside the one element of a document.
fn content(document: &str) -> &str {
    let start = document.find("<svg").and_then(|at| Some(at + document[at..].find('>')? + 1));
    let end = document.rfind("</svg>");
    start.zip(end).map_or("", |(start, end)| &document[start..end])
}

impl Positions {
    /// Returns where a value of the horizontal axis stands.
    pub fn x(&self, value: f64) -> f64 {
        self.x.position(value, self.across)
    }

    /// Returns where a value of the vertical axis stands.
    pub fn y(&self, value: f64) -> f64 {
        self.y.position(value, (self.down.1, self.down.0))
    }

    /// Returns where a point stands.
    pub fn at(&self, point: (f64, f64)) -> (f64, f64) {
        (self.x(point.0), self.y(point.1))
    }
}

/// Returns round values inside a linear domain, ascending, about `wanted` of them.
pub fn ticks(domain: (f64, f64), wanted: usize) -> Vec<f64> {
    let axis = Axis { scale: Scale::Linear, domain, title: "", ticks: wanted };
    Coordinate::new(&axis).key_points(wanted)
}

/// A scale of either kind.
#[derive(Clone)]
enum Coordinate {
    Linear(RangedCoordf64),
    /// Shared, for it cannot be copied.
    Log(Rc<LogCoord<f64>>),
}

impl Coordinate {
    fn new(axis: &Axis<'_>) -> Self {
        let [low, high] = [axis.domain.0, axis.domain.1].map(|end| finite(end).clamp(-MOST, MOST));
        match axis.scale {
            Scale::Linear if high - low >= LEAST => Self::Linear((low..high).into()),
            Scale::Linear => Self::Linear((low..low + 1.0).into()),
            Scale::Log => {
                let low = low.max(LEAST);
                let high = if low < high { high } else { low * 10.0 };
                Self::Log(Rc::new((low..high).log_scale().into()))
            }
        }
    }

    fn position(&self, value: f64, ends: (f64, f64)) -> f64 {
        let limit = [ends.0, ends.1].map(|end| (end * PARTS) as i32);
        let range = self.range();
        let value = finite(value).clamp(range.start, range.end);
        f64::from(self.map(&value, (limit[0], limit[1]))) / PARTS
    }
}

impl Ranged for Coordinate {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self {
            Self::Linear(linear) => linear.map(value, limit),
            Self::Log(log) => log.map(value, limit),
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self {
            Self::Linear(linear) => linear.key_points(hint),
            Self::Log(log) => log.key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        match self {
            Self::Linear(linear) => linear.range(),
            Self::Log(log) => log.range(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(scale: Scale, domain: (f64, f64)) -> Field<'static> {
        let axis = Axis { scale, domain, title: "title", ticks: 5 };
        Field { across: (60.0, 360.0), down: (30.0, 230.0), x: axis, y: axis }
    }

    #[test]
    fn ends_of_the_domain_meet_the_edges_of_the_field() {
        let mut drawing = Drawing::new(400.0, 280.0);
        let at = field(Scale::Log, (1.0, 1_000.0)).draw(&mut drawing);
        assert_eq!((at.x(1.0), at.x(1_000.0)), (60.0, 360.0));
        assert_eq!((at.y(1.0), at.y(1_000.0)), (230.0, 30.0));
        assert!((at.x(10.0) - 160.0).abs() < 0.1 && at.x(0.0) == 60.0);
        let text = drawing.finish("id", "wide", "", "").into_string();
        assert!(text.contains("\n1,000\n"), "{text}");
        assert!(!text.contains("http") && text.matches("<svg").count() == 1, "{text}");
    }

    #[test]
    fn every_domain_gives_finite_positions() {
        for domain in [
            (0.0, 0.0),
            (5.0, 1.0),
            (f64::NAN, f64::INFINITY),
            (-1.0, 0.0),
            (0.0, 1e300),
            (1.0, 1.0 + 1e-12),
        ] {
            for scale in [Scale::Linear, Scale::Log] {
                let at = field(scale, domain).draw(&mut Drawing::new(400.0, 280.0));
                assert!([0.0, f64::NAN, 7.0].iter().all(|&v| at.x(v).is_finite()), "{domain:?}");
            }
        }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((0.0, 97.0), 5), [0.0, 20.0, 40.0, 60.0, 80.0]);
    }
}
