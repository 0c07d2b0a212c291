//! Tests only: what holds every layout to the same promises, in `tests/it`.
