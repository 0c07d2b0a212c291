//! The picture at the top: a search from one package, as the tree of the ways that it found first.
//!
//! A package has a sector, which is as wide as the part of the tree's leaves behind it, and stands in the middle of it; its
//! distance from the center says its depth (Eades, "Drawing Free Trees", Bulletin of the ICA 1992). Where a depth
//! holds many packages, its ring is further out, so that there is room for them.

use std::f64::consts::TAU;

use everedge_bench::page::{Drawing, Path, counted};

use super::report::{Met, Reach};

/// Colors from the middle to the rim: the classes `d0` to `d9` of `style.css`.
const COLORS: usize = 10;
/// Diameter of the dot of a leaf.
const LEAF: f64 = 2.0;
/// Diameter of the dot of a package that leads on, and how much it grows with the packages behind it.
const BRANCH: (f64, f64) = (2.6, 0.45);
/// Part of a ring's radius that its depth decides; the packages within it decide the rest.
const BY_DEPTH: f64 = 0.2;
/// Space around the outermost ring.
const MARGIN: f64 = 6.0;

/// Draws the tree in a square.
pub(super) fn draw(width: f64, reach: &Reach) -> Drawing {
    let mut drawing = Drawing::new(width, width);
    let middle = width / 2.0;
    let places = Places::of(&reach.tree);
    let radii = radii(reach, middle - MARGIN);
    let at =
        |radius: f64, angle: f64| (middle + radius * angle.cos(), middle + radius * angle.sin());
    let last = radii.len().saturating_sub(1).max(1);
    let class = |kind: &str, depth: usize| format!("{kind} d{}", depth * (COLORS - 1) / last);
    for (depth, ring) in reach.rings().into_iter().enumerate().skip(1) {
        let (inner, outer) = (radii[depth - 1], radii[depth]);
        let mut ways = Path::default();
        for index in ring {
            let (from, to) = (places.angles[reach.tree[index].from], places.angles[index]);
            let between = (inner + outer) / 2.0;
            ways = ways
                .jump(at(inner, from))
                .curve([at(between, from), at(between, to)], at(outer, to));
        }
        drawing.path(&class("way", depth), &ways, "");
    }
    for (depth, ring) in reach.rings().into_iter().enumerate() {
        let packages = counted(ring.len() as u64, "package", "packages");
        let mut leaves = Path::default();
        for index in ring {
            let (place, behind) = (at(radii[depth], places.angles[index]), places.behind[index]);
            if behind == 0 {
                leaves = leaves.dot(place);
                continue;
            }
            let diameter = BRANCH.0 + BRANCH.1 * f64::from(behind).sqrt();
            let behind = counted(behind.into(), "package", "packages");
            let hover = format!("{}: {behind} behind it", reach.tree[index].name);
            drawing.dots(&class("dots", depth), &Path::default().dot(place), diameter, &hover);
        }
        drawing.dots(&class("dots", depth), &leaves, LEAF, &format!("depth {depth}: {packages}"));
    }
    drawing
}

/// Returns the radius of each ring, the largest of which is `outermost`.
fn radii(reach: &Reach, outermost: f64) -> Vec<f64> {
    let last = reach.levels.len().saturating_sub(1).max(1) as f64;
    let all = reach.tree.len().max(2) as f64 - 1.0;
    let radius = |(depth, ring): (usize, std::ops::Range<usize>)| {
        let within = (ring.end.max(1) - 1) as f64 / all;
        outermost * (BY_DEPTH * depth as f64 / last + (1.0 - BY_DEPTH) * within.sqrt())
    };
    reach.rings().into_iter().enumerate().map(radius).collect()
}

/// Where the packages of a tree stand.
struct Places {
    /// By package, in radians.
    angles: Vec<f64>,
    /// How many packages are behind each.
    behind: Vec<u32>,
}

impl Places {
    fn of(tree: &[Met]) -> Self {
        let (mut behind, mut leaves) = (vec![0_u32; tree.len()], vec![0_u32; tree.len()]);
        for (index, met) in tree.iter().enumerate().rev() {
            leaves[index] = leaves[index].max(1);
            if index > 0 {
                behind[met.from] += behind[index] + 1;
                leaves[met.from] += leaves[index];
            }
        }
        let width = TAU / f64::from(leaves.first().copied().unwrap_or(1));
        // Where the sector of the next package that a package leads to begins.
        let mut next = vec![0.0; tree.len()];
        let mut angles = Vec::with_capacity(tree.len());
        for (index, met) in tree.iter().enumerate() {
            let start = if index > 0 { next[met.from] } else { 0.0 };
            let sector = f64::from(leaves[index]) * width;
            next[index] = start;
            angles.push(start + sector / 2.0);
            if index > 0 {
                next[met.from] += sector;
            }
        }
        Self { angles, behind }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::ReachLevel;
    use super::*;

    fn reach(levels: &[u64], from: &[usize]) -> Reach {
        let level = |&packages: &u64| ReachLevel { packages, examples: Vec::new() };
        let met = |&from: &usize| Met { name: String::new(), from };
        Reach {
            source: String::new(),
            levels: levels.iter().map(level).collect(),
            tree: from.iter().map(met).collect(),
        }
    }

    #[test]
    fn sectors_follow_the_leaves() {
        let places = Places::of(&reach(&[1, 2, 3], &[0, 0, 0, 1, 1, 1]).tree);
        assert_eq!(places.behind, [5, 3, 0, 0, 0, 0]);
        let turns: Vec<f64> = places.angles.iter().map(|angle| angle / TAU).collect();
        assert_eq!(turns, [0.5, 0.375, 0.875, 0.125, 0.375, 0.625]);
    }

    #[test]
    fn every_package_has_a_dot_and_every_other_a_way() {
        for (levels, from) in [(&[1, 2, 3][..], &[0, 0, 0, 1, 1, 1][..]), (&[1], &[0]), (&[], &[])]
        {
            let drawn = draw(400.0, &reach(levels, from)).finish("", "", "", "").into_string();
            assert_eq!(drawn.matches("h0").count(), from.len());
            assert_eq!(drawn.matches('C').count(), from.len().saturating_sub(1));
        }
    }
}
