//! The picture at the top: every package that a search reaches, as the seeds of a sunflower.
//!
//! Source: Vogel, "A better way to construct the sunflower head", Mathematical Biosciences 1979:
//! seed n stands at the angle n times 137.5 degrees and at a distance of the root of n, so that
//! all seeds have equal room. The search goes outwards, so that a depth is a ring, and its area
//! is its share of the packages.

use everedge_bench::page::{Drawing, Path, counted};

use super::report::Reach;

/// Dots that the picture may have; with more packages a dot stands for several.
const DOTS_MAX: u64 = 4_000;
/// Golden angle, in radians.
const ANGLE: f64 = 2.399_963_229_728_653;
/// Colors from the middle to the rim: the classes `d0` to `d9` of `style.css`.
const COLORS: usize = 10;

/// Draws the packages of all depths in a square; the style makes a dot of each point.
pub(super) fn draw(width: f64, reach: &Reach) -> Drawing {
    let total: u64 = reach.levels.iter().map(|level| level.packages).sum();
    let per_dot = packages_per_dot(reach);
    let spread = width / 2.0 * 0.97 / ((total / per_dot + 1) as f64).sqrt();
    let mut drawing = Drawing::new(width, width);
    let mut reached = 0;
    for (depth, level) in reach.levels.iter().enumerate() {
        let first = reached / per_dot;
        reached += level.packages;
        let mut dots = Path::default();
        for seed in first..reached / per_dot {
            let angle = seed as f64 * ANGLE;
            let distance = spread * (seed as f64 + 0.5).sqrt();
            let at = (width / 2.0 + distance * angle.cos(), width / 2.0 + distance * angle.sin());
            dots = dots.dot(at);
        }
        let color = depth * (COLORS - 1) / (reach.levels.len() - 1).max(1);
        let hover = format!("depth {depth}: {}", counted(level.packages, "package", "packages"));
        drawing.dots(&format!("dots d{color}"), &dots, spread * 1.25, &hover);
    }
    drawing
}

/// How many packages one dot stands for.
pub(super) fn packages_per_dot(reach: &Reach) -> u64 {
    let total: u64 = reach.levels.iter().map(|level| level.packages).sum();
    total.div_ceil(DOTS_MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::report::ReachLevel;
    use super::*;

    #[test]
    fn there_is_a_dot_for_every_package_up_to_a_limit() {
        let levels = |packages: &[u64]| Reach {
            source: String::new(),
            levels: packages
                .iter()
                .map(|&packages| ReachLevel { packages, examples: Vec::new() })
                .collect(),
        };
        let dots = |reach: &Reach| {
            draw(400.0, reach).finish("", "", "", "").into_string().matches("h0").count()
        };
        assert_eq!(dots(&levels(&[1, 20, 300])), 321);
        let large = levels(&[1, 9_999, 50_000]);
        assert_eq!(packages_per_dot(&large), 15);
        assert_eq!(dots(&large), 4_000);
        assert_eq!(dots(&levels(&[])), 0);
    }
}
