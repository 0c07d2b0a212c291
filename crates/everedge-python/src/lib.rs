//! The native half of the Python package `everedge`: handles on graphs and views, nothing more.
//!
//! Signatures, defaults, checks and documentation are Python's (`python/everedge/`); what is here
//! turns arguments into calls of the facade, answers into NumPy arrays and dictionaries, and errors
//! into the exceptions of `python/everedge/_errors.py`. Every call releases the GIL while it works.

mod arrow;
mod changer;
mod changing;
mod chunks;
mod error;
mod graph;
mod handle;
mod options;
mod report;
mod shards;
mod signals;
mod timeline;
mod transaction;
mod view;
mod weights;

use pyo3::prelude::pymodule;

/// The classes that `everedge` builds on. A free-threaded Python takes its lock into use again for them: the package's tests
/// have not run without it.
#[pymodule(gil_used = true)]
mod _native {
    use numpy::{PyArray1, PyArrayMethods};
    use pyo3::prelude::*;

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Looks NumPy's interface up. The crate `numpy` would do it with the first array, where an
    /// interrupt that is waiting would make it panic.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        PyArray1::<u32>::zeros(module.py(), 0, false).try_readonly()?;
        Ok(())
    }

    #[pymodule_export]
    use crate::arrow::{Array, Table, column, stream};
    #[pymodule_export]
    use crate::changer::Changer;
    #[pymodule_export]
    use crate::chunks::Chunks;
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::options::{Chosen, graph_options};
    #[pymodule_export]
    use crate::shards::{Shard, ShardRun, divided, fingerprint};
    #[pymodule_export]
    use crate::timeline::{Timeline, date_of};
    #[pymodule_export]
    use crate::transaction::Transaction;
    #[pymodule_export]
    use crate::view::View;
    #[pymodule_export]
    use crate::view::{kernels, parameters};
    #[pymodule_export]
    use crate::weights::{is_dense, weights};
}
