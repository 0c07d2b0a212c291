//! Parallel loops where the system gives no threads, and in the child of a fork; memory of a whole process.
//!
//! A process of its own that starts no thread before its first check: a fork copies only the thread
//! that asks for it, and the stack of an earlier thread would serve a new one.
#![expect(unsafe_code, reason = "fork, and the limits of a process, have no safe form")]

use everedge_core::{memory, par};

/// For how long a child may run before it counts as hanging.
const PATIENCE_S: u32 = 20;

fn main() {
    assert_in_child("without threads", || {
        refuse_more_memory();
        par::thread_count() == 1 && loops_are_right()
    });
    assert!(loops_are_right(), "in the parent");
    assert_in_child("after the parent ran loops", || {
        loops_are_right() && par::thread_count() >= 1 && {
            assert_in_child("in the child of a child", loops_are_right);
            true
        }
    });
    assert!(loops_are_right(), "in the parent, after its children");
    println!("loops run without threads and after forks");
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    arrays_go_back_to_the_system();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn arrays_go_back_to_the_system() {
    fn resident_mib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("a process");
        let line = status.lines().find(|line| line.starts_with("RssAnon")).expect("its memory");
        let kib = line.split_whitespace().nth(1).map(str::parse::<u64>);
        kib.expect("a number").expect("a number") >> 10
    }
    memory::return_arrays();
    let before = resident_mib();
    let array = |mib: usize| std::hint::black_box(vec![1_u8; mib << 20]);
    // Of this one the library learns how long arrays are, and what lies above the next keeps it from shrinking.
    drop(array(24));
    let next = array(20);
    let above = std::hint::black_box(vec![1_u8; 100 << 10]);
    drop(next);
    let after = resident_mib();
    drop(above);
    assert!(after < before + 10, "{before} MiB before, {after} MiB after");
    println!("arrays go back to the system");
}

/// Runs `check` in a child of this process and asserts that it holds.
fn assert_in_child(name: &str, check: impl FnOnce() -> bool) {
    // SAFETY: this process has no locks that another thread could hold: its other threads wait for
    // work, and the allocator makes itself ready for a fork.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        // SAFETY: both change this process only. The signal ends it if it hangs.
        unsafe { libc::alarm(PATIENCE_S) };
        let holds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        // SAFETY: it ends the process, without the exit handlers that belong to the parent.
        unsafe { libc::_exit(i32::from(!matches!(holds, Ok(true)))) };
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(!libc::WIFSIGNALED(status), "{name}: the child hung");
    assert_eq!(libc::WEXITSTATUS(status), 0, "{name}: a loop was wrong");
}

/// Leaves this process some memory, but not enough for the stack of a thread.
fn refuse_more_memory() {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').next().expect("a number").parse().expect("a number");
    let bytes = pages * 4096 + (1 << 20);
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: `limit` outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Runs every kind of loop.
fn loops_are_right() -> bool {
    let squares = par::collect(1000, |i| i * i);
    let sums = par::map_ranges(1000, 10, |range| range.sum::<u32>());
    let chunks = par::map_chunks(&squares, 10, |chunk| chunk.len());
    let mut numbers = vec![0; 1000];
    par::map_chunks_mut(&mut numbers, 10, |first, chunk| chunk.fill(first));
    let counted = par::PerThread::new(|| 0);
    par::for_each_task((0..100).collect(), |i| counted.with(|count| *count += i));
    let mut counted = counted;
    let tasks = par::map_tasks_at_home(None, vec![1, 2, 3], |_| 0, |task| 2 * task);
    let (a, b) = par::beside(|| 1, || par::among_threads(None, || par::join(|| 2, || 3)));
    squares[999] == 998_001
        && sums.iter().sum::<u32>() == 499_500
        && chunks == [10; 100]
        && (numbers[995], numbers[0]) == (990, 0)
        && counted.iter_mut().map(|count| *count).sum::<i32>() == 4950
        && tasks == [2, 4, 6]
        && (a, b) == (1, (2, 3))
}
