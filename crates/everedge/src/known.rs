//! What is known of an input, from which the rest is guessed.

use std::fs::File;
use std::io::Read;

use everedge_io::{
    Error, Format, Guess, IdChoice, IdKind, InputChoices, ReadOptions, RecordBatches, Result,
    UpdateChoices, UpdateGuess, UpdateOptions, probe, probe_arrow, probe_arrow_updates,
    probe_parquet, probe_parquet_updates, probe_updates,
};

/// Columns of timed insertions and deletions, at least.
const COLUMNS_OF_UPDATES: usize = 4;
const ARE_UPDATES: &str = "a column says which rows are insertions and deletions: `--commit-every` makes versions of them; \
                           to take all rows as edges, name the ends with --src and --dst";

const COLUMNS_OF_EXPORT: &str =
    "its manifest says which columns hold what: leave out what is said of them";
const NO_TIMES_IN_EXPORT: &str =
    "an export holds a graph as it was once, and no times: leave `--commit-every` out";

/// What is known of an input of edges, or of one of timed updates.
pub(crate) trait Known {
    /// How the input is probably to be read.
    type Guess;
    /// How it is read.
    type Options;

    /// Returns what is known of its edges.
    fn edges(&self) -> &InputChoices;

    /// Returns the format that was guessed.
    fn format(guess: &Self::Guess) -> Format;

    /// Guesses from the name and the first bytes.
    fn probe(&self, name: &str, head: &[u8]) -> Result<Self::Guess>;

    /// Guesses from the schema and the first rows of Arrow data.
    fn probe_arrow(&self, input: impl Read) -> Result<Self::Guess>;

    /// The same of a Parquet file.
    fn probe_parquet(&self, file: File) -> Result<Self::Guess>;

    /// The same of a table in memory.
    fn probe_table(&self, table: &RecordBatches) -> Result<Self::Guess>;

    /// Takes what the manifest of an export says for a guess.
    fn of_export(&self, export: Guess) -> Result<Self::Guess>;
}

impl Known for InputChoices {
    type Guess = Guess;
    type Options = ReadOptions;

    fn edges(&self) -> &InputChoices {
        self
    }

    fn format(guess: &Guess) -> Format {
        guess.format
    }

    fn probe(&self, name: &str, head: &[u8]) -> Result<Guess> {
        let guess = check_edges(probe(name, head, self)?, self)?;
        let are_ends_open = self.src.is_none() && self.dst.is_none();
        if are_ends_open && guess.columns.len() >= COLUMNS_OF_UPDATES {
            let choices = UpdateChoices { edges: self.clone(), ..UpdateChoices::default() };
            let updates = probe_updates(name, head, &choices);
            if updates.is_ok_and(|guess| guess.operation.is_some()) {
                return Err(Error::Unsupported { format: guess.format, what: ARE_UPDATES });
            }
        }
        Ok(guess)
    }

    fn probe_arrow(&self, input: impl Read) -> Result<Guess> {
        check_edges(probe_arrow(input, self)?, self)
    }

    fn probe_parquet(&self, file: File) -> Result<Guess> {
        check_edges(probe_parquet(file, self)?, self)
    }

    fn probe_table(&self, table: &RecordBatches) -> Result<Guess> {
        check_edges(table.probe(self)?, self)
    }

    fn of_export(&self, export: Guess) -> Result<Guess> {
        match self.has_columns() || self.delimiter.is_some() || self.header.is_some() {
            true => Err(Error::Unsupported { format: export.format, what: COLUMNS_OF_EXPORT }),
            false => {
                let ids = match (self.ids, export.ids) {
                    (IdChoice::Dense, _) => IdKind::Dense,
                    (IdChoice::Integer, _) | (IdChoice::Mapped, IdKind::Dense) => IdKind::Sparse,
                    (IdChoice::Text, _) => IdKind::Text,
                    (IdChoice::Auto | IdChoice::Mapped, ids) => ids,
                };
                Ok(Guess { ids, ..export })
            }
        }
    }
}

/// Refuses to take a table with operations for edges: its deletions would be insertions.
fn check_edges(guess: Guess, choices: &InputChoices) -> Result<Guess> {
    let are_ends_open = choices.src.is_none() && choices.dst.is_none();
    match are_ends_open && guess.columns.iter().any(|column| column.holds_operations) {
        true => Err(Error::Unsupported { format: guess.format, what: ARE_UPDATES }),
        false => Ok(guess),
    }
}

impl Known for UpdateChoices {
    type Guess = UpdateGuess;
    type Options = UpdateOptions;

    fn edges(&self) -> &InputChoices {
        &self.edges
    }

    fn format(guess: &UpdateGuess) -> Format {
        guess.edges.format
    }

    fn probe(&self, name: &str, head: &[u8]) -> Result<UpdateGuess> {
        probe_updates(name, head, self)
    }

    fn probe_arrow(&self, input: impl Read) -> Result<UpdateGuess> {
        probe_arrow_updates(input, self)
    }

    fn probe_parquet(&self, file: File) -> Result<UpdateGuess> {
        probe_parquet_updates(file, self)
    }

    fn probe_table(&self, table: &RecordBatches) -> Result<UpdateGuess> {
        table.probe_updates(self)
    }

    fn of_export(&self, export: Guess) -> Result<UpdateGuess> {
        Err(Error::Unsupported { format: export.format, what: NO_TIMES_IN_EXPORT })
    }
}
