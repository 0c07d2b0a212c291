//! Whether a recorded history of transactions is as if one came after the other, in an order that agrees with the
//! time at which each began and ended.
//!
//! Source: Adya, "Weak Consistency", 1999: the graph of who wrote what another read, or wrote anew, has no
//! circle. Each version of a register is written once, and who writes one says which it replaces; so the order of
//! versions is known (Kingsbury and Alvaro, "Elle", PVLDB 2020).

use std::collections::HashMap;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Committed,
    /// Its writes must be seen by nobody.
    Refused,
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub kind: Kind,
    pub begun: Duration,
    pub ended: Duration,
    /// Registers and the versions that were seen.
    pub reads: Vec<(u32, u32)>,
    /// Registers, the versions that were replaced, and those that replaced them.
    pub writes: Vec<(u32, u32, u32)>,
}

/// Returns what is wrong.
pub(crate) fn check(records: &[Record]) -> Result<(), String> {
    let committed = |(_, record): &(usize, &Record)| record.kind == Kind::Committed;
    let (mut writer_of, mut replaced_by) = (HashMap::new(), HashMap::new());
    for (index, record) in records.iter().enumerate().filter(committed) {
        for &(key, before, version) in &record.writes {
            writer_of.insert((key, version), index);
            if let Some(other) = replaced_by.insert((key, before), index) {
                return Err(format!(
                    "two transactions have changed register {key} of version {before}: \
                     {:?} and {record:?}",
                    records[other]
                ));
            }
        }
    }
    // Moments are nodes, too: each transaction ends before the next moment, and begins after the last.
    let mut ends: Vec<(Duration, usize)> =
        records.iter().enumerate().map(|(index, record)| (record.ended, index)).collect();
    ends.sort_unstable();
    let count = records.len();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); 2 * count];
    for (moment, &(_, index)) in ends.iter().enumerate() {
        // A refused one only reads, when it begins: nothing is known of its end.
        if records[index].kind == Kind::Committed {
            after[index].push(count + moment);
        }
        if moment + 1 < count {
            after[count + moment].push(count + moment + 1);
        }
    }
    for (index, record) in records.iter().enumerate() {
        let before = ends.partition_point(|(ended, _)| *ended < record.begun);
        if before > 0 {
            after[count + before - 1].push(index);
        }
        for &(key, version) in &record.reads {
            let Some(&writer) = writer_of.get(&(key, version)) else {
                return Err(format!("nobody has committed version {version}, seen by {record:?}"));
            };
            after[writer].push(index);
            if let Some(&next) = replaced_by.get(&(key, version)).filter(|&&next| next != index) {
                after[index].push(next);
            }
        }
        if record.kind == Kind::Committed {
            for &(key, before, _) in &record.writes {
                if let Some(&writer) = writer_of.get(&(key, before)) {
                    after[writer].push(index);
                }
            }
        }
    }
    match has_circle(&after) {
        Some(node) => Err(format!(
            "some transactions come before each other, in a circle: {:?} is among or after them",
            records.get(node)
        )),
        None => Ok(()),
    }
}

/// Returns a node that no order reaches, if there is none of all.
fn has_circle(after: &[Vec<usize>]) -> Option<usize> {
    let mut before_count = vec![0; after.len()];
    after.iter().flatten().for_each(|&node| before_count[node] += 1);
    let is_first = |&node: &usize| before_count[node] == 0;
    let mut ready: Vec<usize> = (0..after.len()).filter(is_first).collect();
    while let Some(node) = ready.pop() {
        for &next in &after[node] {
            before_count[next] -= 1;
            if before_count[next] == 0 {
                ready.push(next);
            }
        }
    }
    before_count.iter().position(|&count| count > 0)
}

fn record(time: [u64; 2], reads: &[(u32, u32)], writes: &[(u32, u32, u32)]) -> Record {
    let [begun, ended] = time.map(Duration::from_millis);
    let (reads, writes) = (reads.to_vec(), writes.to_vec());
    Record { kind: Kind::Committed, begun, ended, reads, writes }
}

/// Two registers, of versions 1 and 2.
fn first() -> Record {
    record([0, 1], &[], &[(0, 0, 1), (1, 0, 2)])
}

#[test]
fn histories_that_agree_with_an_order_pass() {
    let write = record([2, 9], &[(0, 1)], &[(0, 1, 3)]);
    // They run beside it: one may see what it writes, and another not.
    let old = record([3, 4], &[(0, 1), (1, 2)], &[]);
    let new = record([4, 5], &[(0, 3), (1, 2)], &[]);
    let mut refused = record([3, 20], &[(0, 1)], &[(0, 1, 9)]);
    refused.kind = Kind::Refused;
    check(&[first(), write, old, new, refused]).unwrap();
}

#[test]
fn histories_that_agree_with_none_are_found() {
    let lost = [record([2, 9], &[(0, 1)], &[(0, 1, 3)]), record([2, 9], &[(0, 1)], &[(0, 1, 4)])];
    // Each reads what the other changes.
    let skewed = [
        record([2, 9], &[(0, 1), (1, 2)], &[(0, 1, 3)]),
        record([2, 9], &[(0, 1), (1, 2)], &[(1, 2, 4)]),
    ];
    let torn =
        [record([2, 9], &[], &[(0, 1, 3), (1, 2, 4)]), record([2, 9], &[(0, 3), (1, 2)], &[])];
    let stale = [record([2, 3], &[], &[(0, 1, 3)]), record([4, 5], &[(0, 1)], &[])];
    // One reader sees what another one, later, does not.
    let back = [
        record([2, 9], &[], &[(0, 1, 3)]),
        record([3, 4], &[(0, 3)], &[]),
        record([5, 6], &[(0, 1)], &[]),
    ];
    let mut refused = record([2, 3], &[], &[(0, 1, 3)]);
    refused.kind = Kind::Refused;
    let dirty = [refused, record([2, 3], &[(0, 3)], &[])];
    for (name, records) in [
        ("lost", &lost[..]),
        ("skewed", &skewed),
        ("torn", &torn),
        ("stale", &stale),
        ("back", &back),
        ("dirty", &dirty),
    ] {
        let records = [&[first()], records].concat();
        assert!(check(&records).is_err(), "{name}");
    }
}
