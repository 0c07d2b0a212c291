//! Which columns of a table hold sources, destinations and weights.
//!
//! Columns that the caller chose are fixed; the names of the others say where the rest is, in all
//! formats alike. Where no name speaks, the first columns that are left do, after a first one of times;
//! among many named ones none is guessed, nor one that would turn the edges of a chosen one.

use crate::error::{Fault, quote};
use crate::names::{
    are_pair, ends_in_id, find_pair, is_of_destinations, is_period, is_row_number, is_time,
    is_unnamed_index, is_weight, is_weight_word,
};
use crate::{Column, InputChoices};

/// The most columns of a table whose ends are guessed though no names say which they are.
const GUESSED_COLUMNS_MAX: usize = 3;

const ENDS_HINT: &str = "name the ends with --src and --dst";
const END_HINT: &str = "choose by number: --src 0 is the first column";
const WEIGHT_HINT: &str = "choose by number: --weight 2 is the third column";

/// A column that a guess found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuessedColumn {
    /// Its name, if there is a header.
    pub name: Option<String>,
    /// Whether all its fields seen are numbers, and at least one is.
    pub is_numeric: bool,
    /// Whether it can hold ids: whole numbers or text.
    pub may_hold_ids: bool,
    /// Whether all its fields seen are dates in text, and at least one is.
    pub is_date: bool,
    /// Whether most of its fields seen are words of operations, such as `+` and `delete`, or all are 1 and -1 below a name of
    /// operations.
    pub holds_operations: bool,
}

/// Where a table keeps what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) weight: Option<usize>,
}

/// Finds the columns that hold sources, destinations and weights.
pub(crate) fn resolve(
    columns: &[GuessedColumn],
    choices: &InputChoices,
) -> Result<Resolved, Fault> {
    let (resolved, are_named) = resolve_freely(columns, choices)?;
    if !are_named {
        refuse_guess(columns)?;
        refuse_own_id(columns, resolved)?;
        refuse_other_end(columns, resolved, choices)?;
    }
    refuse_twins(columns, resolved, choices)?;
    Ok(resolved)
}

/// Refuses a column whose name another one has too, unless it was chosen by its number. Weights
/// count if their name was chosen or declares them: others are left out, and said.
fn refuse_twins(
    columns: &[GuessedColumn],
    Resolved { src, dst, weight }: Resolved,
    choices: &InputChoices,
) -> Result<(), Fault> {
    let name_of = |idx: usize| columns.get(idx).and_then(|column| column.name.as_deref());
    let is_meant = |idx: &usize| choices.weight.is_some() || name_of(*idx).is_some_and(is_weight);
    let ends =
        [(src, &choices.src), (dst, &choices.dst)].map(|(idx, choice)| (idx, choice, END_HINT));
    let weight = weight.filter(is_meant).map(|idx| (idx, &choices.weight, WEIGHT_HINT));
    for (idx, choice, hint) in ends.into_iter().chain(weight) {
        let is_by_name = !matches!(choice, Some(Column::Index(_)));
        let name = name_of(idx).filter(|name| !name.is_empty() && is_by_name);
        let Some(name) = name else { continue };
        if columns.iter().filter(|column| column.name.as_deref() == Some(name)).count() > 1 {
            let what = format!("two columns are called {}", quote(name.as_bytes()));
            return Err(Fault::new(0, what).hint(hint));
        }
    }
    Ok(())
}

/// Finds the columns that hold sources, destinations and weights, however many there are. Returns
/// whether names say which are the ends.
pub(crate) fn resolve_freely(
    columns: &[GuessedColumn],
    choices: &InputChoices,
) -> Result<(Resolved, bool), Fault> {
    let find = |choice: &Option<Column>| choice.as_ref().map(|c| locate(c, columns)).transpose();
    let (src, dst) = (find(&choices.src)?, find(&choices.dst)?);
    let chosen_weight = find(&choices.weight)?;
    let ends = find_ends(columns, src, dst, chosen_weight);
    let Ends { src, dst, are_named } = ends.ok_or_else(|| no_second(columns))?;
    let weight = chosen_weight.or_else(|| find_weight(columns, src, dst));
    check_distinct(src, dst, chosen_weight)?;
    Ok((Resolved { src, dst, weight }, are_named))
}

/// Returns the fault of columns of which fewer than two may be ends.
fn no_second(columns: &[GuessedColumn]) -> Fault {
    match declare_weights(columns) {
        true => Fault::new(0, "there is one column of ids beside the weights").hint(ENDS_HINT),
        false => Fault::new(0, "there is no second column for destinations"),
    }
}

/// Returns whether the name of a column declares weights.
fn declare_weights(columns: &[GuessedColumn]) -> bool {
    columns.iter().any(|column| column.name.as_deref().is_some_and(is_weight))
}

/// Refuses a column that was chosen for two things.
pub(crate) fn check_distinct(src: usize, dst: usize, weight: Option<usize>) -> Result<(), Fault> {
    if src == dst || weight == Some(src) || weight == Some(dst) {
        let what = "a column was chosen twice among sources, destinations and weights";
        return Err(Fault::new(0, what));
    }
    Ok(())
}

/// Returns where a chosen column stands.
pub(crate) fn locate(column: &Column, columns: &[GuessedColumn]) -> Result<usize, Fault> {
    let names: Vec<Option<&str>> = columns.iter().map(|column| column.name.as_deref()).collect();
    if let Some(idx) = column.find(&names) {
        return Ok(idx);
    }
    let known: Vec<&str> = names.iter().copied().flatten().collect();
    let among = match known.is_empty() {
        true => format!("the {} columns, which have no names", columns.len()),
        false => quote(known.join(",").as_bytes()),
    };
    Err(Fault::new(0, format!("there is no column {column} in {among}")))
}

/// Finds the columns of both ends; those that were chosen stay.
///
/// Where no names say which they are, the first columns that may hold ids are taken.
fn find_ends(
    columns: &[GuessedColumn],
    src: Option<usize>,
    dst: Option<usize>,
    weight: Option<usize>,
) -> Option<Ends> {
    let is_free = |idx: &usize| Some(*idx) != weight && Some(*idx) != src && Some(*idx) != dst;
    let name_of = |idx: usize| columns[idx].name.as_deref().unwrap_or_default();
    let named = |(src, dst)| Ends { src, dst, are_named: true };
    let first = |count: usize| first_free(columns, is_free, count);
    let partner = |known: usize, is_src: bool| {
        let is_partner = |idx: &usize| match is_src {
            true => are_pair(name_of(known), name_of(*idx)),
            false => are_pair(name_of(*idx), name_of(known)),
        };
        (0..columns.len()).filter(is_free).find(is_partner)
    };
    let other = |known: usize, is_src: bool| {
        let found = partner(known, is_src);
        let other = found.or_else(|| first(1).first().copied())?;
        let (src, dst) = if is_src { (known, other) } else { (other, known) };
        Some(Ends { src, dst, are_named: found.is_some() })
    };
    match (src, dst) {
        (Some(src), Some(dst)) => Some(named((src, dst))),
        (Some(src), None) => other(src, true),
        (None, Some(dst)) => other(dst, false),
        (None, None) => {
            let names = (0..columns.len()).map(|idx| is_free(&idx).then(|| name_of(idx)));
            find_pair(names).map(named).or_else(|| {
                let ends = beside_times(columns, is_free);
                let [mut src, mut dst] = ends.or_else(|| first(2).try_into().ok())?;
                // One of them may say which end it is.
                let [of_src, of_dst] = [src, dst].map(|idx| is_of_destinations(name_of(idx)));
                if of_src == Some(true) && of_dst != Some(true)
                    || of_dst == Some(false) && of_src != Some(false)
                {
                    (src, dst) = (dst, src);
                }
                Some(Ends { src, dst, are_named: false })
            })
        }
    }
}

/// The columns of both ends.
struct Ends {
    src: usize,
    dst: usize,
    /// Whether their names, or the caller, say that they are.
    are_named: bool,
}

/// Returns the ends beside a first column of times: the next two that may hold ids, if both have numbers
/// or both text.
fn beside_times(columns: &[GuessedColumn], is_free: impl Fn(&usize) -> bool) -> Option<[usize; 2]> {
    let is_time =
        |column: &GuessedColumn| column.is_date || column.name.as_deref().is_some_and(is_period);
    let (first, others) = columns.split_first()?;
    let others = others.iter().zip(1..);
    let mut ends =
        others.filter(|(column, idx)| is_free(idx) && holds_ids(column) && !is_time(column));
    let ((src, src_idx), (dst, dst_idx)) = (ends.next()?, ends.next()?);
    (is_time(first) && src.is_numeric == dst.is_numeric).then_some([src_idx, dst_idx])
}

/// Returns the first `count` columns of those that may be ends: of such as probably hold ids, if
/// there are so many. A column of declared weights never is, nor one of times beside it.
fn first_free(
    columns: &[GuessedColumn],
    is_free: impl Fn(&usize) -> bool,
    count: usize,
) -> Vec<usize> {
    let are_declared = declare_weights(columns);
    let may_be_end = |idx: &usize| {
        let name = columns[*idx].name.as_deref().unwrap_or_default();
        !(is_weight(name) || is_unnamed_index(name) || are_declared && is_time(name))
    };
    let any = || (0..columns.len()).filter(|idx| is_free(idx) && may_be_end(idx));
    let of_ids: Vec<usize> = any().filter(|&idx| holds_ids(&columns[idx])).take(count).collect();
    if of_ids.len() == count { of_ids } else { any().take(count).collect() }
}

/// Returns whether a column probably holds ids, as far as its name says.
fn holds_ids(column: &GuessedColumn) -> bool {
    let is_other = |name: &str| is_time(name) || is_weight_word(name) || is_row_number(name);
    column.may_hold_ids && !column.name.as_deref().is_some_and(is_other)
}

/// Refuses to guess the ends among many named columns, none of which is called as ends are.
fn refuse_guess(columns: &[GuessedColumn]) -> Result<(), Fault> {
    let names: Vec<&str> = columns.iter().filter_map(|column| column.name.as_deref()).collect();
    let is_value = |name: &&&str| is_time(name) || is_weight_word(name);
    let values = names.iter().filter(is_value).count();
    if names.len() - values <= GUESSED_COLUMNS_MAX {
        return Ok(());
    }
    let what = format!("no names say which columns are the ends of edges: {}", names.join(", "));
    Err(Fault::new(0, what.escape_debug().to_string()).hint("name them with --src and --dst"))
}

/// Refuses to guess the ends among many columns of text alone, whose first row may be their names.
pub(crate) fn refuse_nameless(
    columns: &[GuessedColumn],
    choices: &InputChoices,
) -> Result<(), Fault> {
    let says_nothing = |column: &GuessedColumn| column.name.is_none() && !column.is_numeric;
    let are_told = choices.src.is_some() && choices.dst.is_some();
    let is_clear = are_told || choices.header.is_some() || columns.len() <= GUESSED_COLUMNS_MAX;
    if is_clear || !columns.iter().all(says_nothing) {
        return Ok(());
    }
    let what = format!("{} columns of text, and the first row may hold their names", columns.len());
    Err(Fault::new(0, what)
        .hint("say --header yes or --header no, and name the ends with --src and --dst"))
}

/// Refuses to guess whether `id` numbers the rows or is the other end of what another column refers to,
/// as in `id,parent_id,name`.
fn refuse_own_id(
    columns: &[GuessedColumn],
    Resolved { src, dst, .. }: Resolved,
) -> Result<(), Fault> {
    let name_of = |idx: usize| columns[idx].name.as_deref().unwrap_or_default();
    let own = (0..columns.len()).find(|&idx| name_of(idx).eq_ignore_ascii_case("id"));
    let refers = [src, dst].map(|end| ends_in_id(name_of(end)));
    match own.filter(|own| *own != src && *own != dst) {
        Some(own) if refers[0] != refers[1] => {
            let other = if refers[0] { src } else { dst };
            let [own, other] = [own, other].map(|idx| name_of(idx).escape_debug().to_string());
            let what = format!("{own} may be the other end of {other}, or number the rows");
            Err(Fault::new(0, what).hint(ENDS_HINT))
        }
        _ => Ok(()),
    }
}

/// Refuses to guess by its place the other end of one that was chosen, where several columns may be it:
/// `--src 1` alone would turn every edge. Beside column 0 stands column 1, and before destinations in
/// column 1 stand sources.
fn refuse_other_end(
    columns: &[GuessedColumn],
    Resolved { src, dst, weight }: Resolved,
    choices: &InputChoices,
) -> Result<(), Fault> {
    let chosen = match (&choices.src, &choices.dst) {
        (Some(_), None) => src,
        (None, Some(_)) => dst,
        _ => return Ok(()),
    };
    let weight = weight.filter(|_| choices.weight.is_some());
    let may_be_other =
        |idx: &usize| *idx != chosen && Some(*idx) != weight && holds_ids(&columns[*idx]);
    let is_first = chosen == 0 || (src, dst) == (0, 1);
    if is_first || (0..columns.len()).filter(may_be_other).count() < 2 {
        return Ok(());
    }
    let what = "one end was chosen, and several columns may be the other";
    Err(Fault::new(0, what).hint("name both ends with --src and --dst"))
}

/// Returns the column that is likely to hold weights: one whose name declares them, also if it holds
/// no numbers, which reading then says; or one with a usual name; or else the first numeric column
/// whose name says neither ids nor times nor numbers of rows, nor years or the like.
fn find_weight(columns: &[GuessedColumn], src: usize, dst: usize) -> Option<usize> {
    let name_of = |idx: usize| columns[idx].name.as_deref().unwrap_or_default();
    let others = || (0..columns.len()).filter(|&idx| idx != src && idx != dst);
    let numeric = || others().filter(|&idx| columns[idx].is_numeric);
    let declared = others().find(|&idx| is_weight(name_of(idx)));
    let named = || others().find(|&idx| is_weight_word(name_of(idx)));
    let is_other = |idx: usize| {
        let name = columns[idx].name.as_deref();
        let is_value = |name: &str| {
            is_time(name) || is_period(name) || is_row_number(name) || ends_in_id(name)
        };
        name.is_some_and(is_value)
    };
    declared.or_else(named).or_else(|| numeric().find(|&idx| !is_other(idx)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(header: &str, numeric: &[usize]) -> Vec<GuessedColumn> {
        let column = |(idx, name): (usize, &str)| GuessedColumn {
            name: Some(name.to_owned()),
            is_numeric: numeric.contains(&idx),
            may_hold_ids: true,
            is_date: false,
            holds_operations: false,
        };
        header.split(',').enumerate().map(column).collect()
    }

    fn named(name: &str) -> Option<Column> {
        Some(Column::Name(name.to_owned()))
    }

    #[test]
    fn many_columns_of_text_without_names_are_not_guessed() {
        let mut columns = columns("name,partner,city,note", &[]);
        let none = InputChoices::default();
        assert!(refuse_nameless(&columns, &none).is_ok());
        columns.iter_mut().for_each(|column| column.name = None);
        assert!(refuse_nameless(&columns, &none).is_err());
        let header = InputChoices { header: Some(false), ..none.clone() };
        let [src, dst] = [0, 2].map(|at| Some(Column::Index(at)));
        let ends = InputChoices { src, dst, ..none.clone() };
        assert!([header, ends].iter().all(|told| refuse_nameless(&columns, told).is_ok()));
        assert!(refuse_nameless(&columns[..3], &none).is_ok());
        columns[3].is_numeric = true;
        assert!(refuse_nameless(&columns, &none).is_ok());
    }

    #[test]
    fn a_chosen_column_leaves_the_names_of_the_others() {
        let none = InputChoices::default();
        let src = InputChoices { src: named("from"), ..none.clone() };
        let dst = InputChoices { dst: named("to"), ..none.clone() };
        let weight = InputChoices { weight: named("weight"), ..none.clone() };
        let columns = columns("weight,from,to", &[0]);
        for choices in [&none, &src, &dst, &weight] {
            let found = resolve(&columns, choices).unwrap();
            assert_eq!(found, Resolved { src: 1, dst: 2, weight: Some(0) }, "{choices:?}");
        }
        let turned = InputChoices { src: named("to"), dst: named("from"), ..none.clone() };
        assert_eq!(resolve(&columns, &turned).unwrap().src, 2);
        let twice = InputChoices { src: named("to"), dst: named("to"), ..none };
        assert!(resolve(&columns, &twice).is_err());
    }

    #[test]
    fn times_are_neither_ends_nor_weights() {
        let columns = columns("timestamp,who,whom,rating", &[0, 3]);
        let found = resolve(&columns, &InputChoices::default()).unwrap();
        assert_eq!(found, Resolved { src: 1, dst: 2, weight: Some(3) });
        let chosen = InputChoices { weight: named("timestamp"), ..InputChoices::default() };
        assert_eq!(resolve(&columns, &chosen).unwrap().weight, Some(0));
    }
    #[test]
    fn an_id_beside_what_refers_to_it_is_not_passed_over() {
        let none = InputChoices::default();
        let resolve = |header, choices| resolve(&columns(header, &[0, 1]), choices);
        assert!(resolve("id,parent_id,name", &none).is_err());
        assert!(resolve("ID,name,manager_id", &none).is_err());
        for header in ["id,parent_id", "id,from,to", "id,user_id,item_id", "id,a,b"] {
            assert!(resolve(header, &none).is_ok(), "{header}");
        }
        let chosen = InputChoices { src: named("id"), dst: named("parent_id"), ..none.clone() };
        assert!(resolve("id,parent_id,name", &chosen).is_ok());
    }
}
