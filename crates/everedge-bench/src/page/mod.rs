//! Pages with charts: one HTML file that opens without a network.
//!
//! Nothing here measures, reads or writes a graph, and nothing in a page is loaded from elsewhere:
//! style and charts are inside it, and what needs a script brings it along. `style.css` holds the looks, for light and
//! dark screens and for paper.
//!
//! A chart is a function from a width in pixels to a [`Drawing`]. A page holds each chart twice,
//! drawn for a wide and for a narrow screen, and the style shows one of them: letters keep their
//! size. `plotters` scales and labels the axes of a [`Field`]; what a chart library has no form for
//! is drawn with the shapes of [`Drawing`]. `maud` writes and escapes all markup.
//!
//! Names may hold any characters. A number that is not finite is drawn as 0.

mod axes;
mod bars;
mod bench;
mod document;
mod drawing;
pub(crate) mod file;
mod lines;
mod text;

pub use axes::{Axis, Field, Positions, Scale, ticks};
pub use bars::{Bar, BarPanel, panels as bar_panels};
pub(crate) use bench::{BenchReport, Plot, Section};
pub use document::{Figure, document, facts, footer, section, section_of};
pub use drawing::{Anchor, Drawing, Path};
pub use lines::{CLASSES, legend};
pub(crate) use lines::{Line, LinePanel, Spot};
pub use text::{BOLD, FONT, counted, duration, finite, fit, fit_list, lines, text_width};
