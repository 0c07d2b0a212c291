//! JSON Lines: an edge is an object a line, and its keys are the columns.
//!
//! Source: RFC 8259 for an object; jsonlines.org and ndjson for one a line. Ids are whole numbers or
//! strings, weights numbers; what other keys hold does not matter. A `null`, or a key that is
//! missing, is a null. A string is text, whatever it says.
//!
//! # Example
//! ```text
//! {"src": "Paris, TX", "dst": "Dallas", "weight": 105.5, "road": ["US 82", "I-30"]}
//! ```
//! is an edge from `Paris, TX` to `Dallas` of weight 105.5.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::blocks::cut_at_line;
use crate::columns::{GuessedColumn, Resolved, resolve};
use crate::error::{Fault, quote};
use crate::ids::{IdColumn, ODD_IDS_HINT};
use crate::lines::lines_of;
use crate::operations::{
    Updates, no_operation, no_step, parse_operation, parse_step, take_operation, take_step,
};
use crate::read::{Declared, Edges, Grammar, Opened};
use crate::rules::{Rules, null_weight, wrong_weight};
use crate::survey::Sample;
use crate::times::{is_date, no_time, parse_time};
use crate::update_columns::{hold_operations, resolve_updates};
use crate::{
    Column, Format, Guess, InputChoices, ReadOptions, Result, TimeUnit, UpdateChoices, UpdateGuess,
    UpdateOptions,
};

/// Objects that show which keys there are.
const SURVEYED_OBJECTS: usize = 1000;

/// The keys of an edge.
#[derive(Debug)]
pub(crate) struct Objects {
    src: String,
    dst: String,
    weight: Option<String>,
    timed: Option<TimedKeys>,
    rules: Rules,
}

/// The keys of what only updates have.
#[derive(Debug)]
struct TimedKeys {
    time: String,
    operation: Option<String>,
    step: Option<String>,
    unit: TimeUnit,
}

pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Objects>, Fault> {
    let names = first_keys(head)?;
    let grammar = Objects::new(|column| key_of(column, &names), options)?;
    Ok(Opened { grammar, header_bytes: 0, declared: Declared::default() })
}

/// Like [`open`], for updates.
pub(crate) fn open_updates(head: &[u8], options: &UpdateOptions) -> Result<Opened<Objects>, Fault> {
    let names = first_keys(head)?;
    let key_of = |column: &Column| key_of(column, &names);
    let timed = TimedKeys {
        time: key_of(&options.time)?,
        operation: options.operation.as_ref().map(key_of).transpose()?,
        step: options.step.as_ref().map(key_of).transpose()?,
        unit: options.unit,
    };
    let grammar = Objects { timed: Some(timed), ..Objects::new(key_of, &options.edges)? };
    grammar.check_distinct()?;
    Ok(Opened { grammar, header_bytes: 0, declared: Declared::default() })
}

/// Returns the keys of the first object.
fn first_keys(head: &[u8]) -> Result<Vec<String>, Fault> {
    match lines_of(head).find(|(_, line)| !line.trim_ascii().is_empty()) {
        Some((place, line)) => {
            let object = parse_object(line).map_err(|fault| fault.after(place.start))?;
            Ok(object.keys().cloned().collect())
        }
        None => Ok(Vec::new()),
    }
}

/// Returns the key of a column; one by number is that of the first object.
fn key_of(column: &Column, names: &[String]) -> Result<String, Fault> {
    match column {
        Column::Name(name) => Ok(name.clone()),
        Column::Index(idx) => names.get(*idx).cloned().ok_or_else(|| {
            let keys = quote(names.join(",").as_bytes());
            Fault::new(0, format!("there is no key {column} in {keys}"))
        }),
    }
}

/// Guesses which keys hold what, from the first objects.
pub(crate) fn guess(text: &[u8], choices: &InputChoices) -> Result<Guess, Fault> {
    let objects = FirstObjects::read(text)?;
    let columns = objects.columns();
    let resolved = resolve(&columns, choices)?;
    Ok(objects.guess(columns, resolved, choices))
}

/// Like [`guess`], for updates.
pub(crate) fn guess_updates(text: &[u8], choices: &UpdateChoices) -> Result<UpdateGuess, Fault> {
    let objects = FirstObjects::read(text)?;
    let columns = objects.columns();
    let fields = |idx: usize| objects.values(idx).into_iter().map(text_of).collect();
    let (resolved, found) = resolve_updates(&columns, &fields, choices)?;
    let guess = objects.guess(columns, resolved, &choices.edges);
    UpdateGuess::new(guess, found, &fields, choices)
}

/// Returns a value as it would stand in a table.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The first objects of a file, and their keys in the order in which they come.
struct FirstObjects {
    objects: Vec<Map<String, Value>>,
    keys: Vec<String>,
}

impl FirstObjects {
    fn read(text: &[u8]) -> Result<Self, Fault> {
        let (mut objects, mut keys) = (Vec::new(), Vec::new());
        let lines = lines_of(text).filter(|(_, line)| !line.trim_ascii().is_empty());
        for (place, line) in lines.take(SURVEYED_OBJECTS) {
            objects.push(parse_object(line).map_err(|fault| fault.after(place.start))?);
        }
        for key in objects.iter().flat_map(Map::keys) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        Ok(Self { objects, keys })
    }

    /// Returns the values of a key that are not null.
    fn values(&self, key: usize) -> Vec<&Value> {
        let values = self.objects.iter().filter_map(|object| object.get(&self.keys[key]));
        values.filter(|value| !value.is_null()).collect()
    }

    fn columns(&self) -> Vec<GuessedColumn> {
        let keys = self.keys.iter().enumerate();
        keys.map(|(idx, key)| column(key, &self.values(idx))).collect()
    }

    fn guess(
        &self,
        columns: Vec<GuessedColumn>,
        resolved: Resolved,
        choices: &InputChoices,
    ) -> Guess {
        let mut sample = Sample::default();
        for id in [resolved.src, resolved.dst].iter().flat_map(|&idx| self.values(idx)) {
            match id {
                Value::String(_) => sample.add_text(),
                other => sample.add_id(&other.to_string()),
            }
        }
        let guess = Guess { columns, ..Guess::of(Format::JsonLines) };
        guess.with_columns(resolved, sample.ids(choices.ids))
    }
}

fn column(key: &str, values: &[&Value]) -> GuessedColumn {
    let is_id = |value: &&Value| value.is_u64() || value.is_i64() || value.is_string();
    let texts: Vec<String> = values.iter().copied().map(text_of).collect();
    let is_date_text = |value: &&Value| value.as_str().is_some_and(|text| is_date(text.as_bytes()));
    GuessedColumn {
        name: Some(key.to_owned()),
        is_numeric: !values.is_empty() && values.iter().all(|value| value.is_number()),
        may_hold_ids: values.iter().all(is_id),
        is_date: !values.is_empty() && values.iter().all(is_date_text),
        holds_operations: hold_operations(Some(key), &texts),
    }
}

/// Reads a line as an object.
pub(crate) fn parse_object(line: &[u8]) -> Result<Map<String, Value>, Fault> {
    serde_json::from_slice(line.trim_ascii()).map_err(|error| no_object(line, &error))
}

#[cold]
fn no_object(line: &[u8], error: &serde_json::Error) -> Fault {
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    let what = format!("expected an object of JSON, found {}: {reason}", quote(line.trim_ascii()));
    let hint = "JSON Lines has one object a line; `jq -c '.[]'` makes it of an array";
    Fault::new(0, what).hint(hint)
}

impl Grammar for Objects {
    const IS_TEXT: bool = true;

    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        cut_at_line(bytes)
    }

    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let mut edges = Edges::<C>::new(self.weight.is_some());
        edges.updates = self.timed.as_ref().map(TimedKeys::updates);
        for (place, line) in lines_of(block) {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let before = edges.src.len();
            self.parse_line(line, &mut edges)
                .or_else(|fault| edges.skip_null(self.rules, before, fault))
                .map_err(|fault| Fault { at: place.start, ..fault })?;
        }
        Ok(edges)
    }
}

impl Objects {
    fn new(
        key_of: impl Fn(&Column) -> Result<String, Fault>,
        options: &ReadOptions,
    ) -> Result<Self, Fault> {
        let columns = &options.columns;
        Ok(Self {
            src: key_of(&columns.src)?,
            dst: key_of(&columns.dst)?,
            weight: options.weighted.then(|| key_of(&columns.weight)).transpose()?,
            timed: None,
            rules: Rules::of(options),
        })
    }

    /// Returns the keys in the order of [`Scalars`].
    fn keys(&self) -> [Option<&String>; KEY_COUNT] {
        let (src, dst, weight) = (Some(&self.src), Some(&self.dst), self.weight.as_ref());
        match &self.timed {
            None => [src, dst, weight, None, None, None],
            Some(TimedKeys { time, operation, step, .. }) => {
                [src, dst, weight, Some(time), operation.as_ref(), step.as_ref()]
            }
        }
    }

    /// Refuses a key that was chosen for two things.
    fn check_distinct(&self) -> Result<(), Fault> {
        let mut keys: Vec<&String> = self.keys().into_iter().flatten().collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => {
                let key = quote(pair[0].as_bytes());
                Err(Fault::new(0, format!("the key {key} was chosen for two things")))
            }
        }
    }

    fn parse_line<C: IdColumn>(&self, line: &[u8], edges: &mut Edges<C>) -> Result<(), Fault> {
        let mut reader = serde_json::Deserializer::from_slice(line);
        let edge = EdgeSeed(self).deserialize(&mut reader);
        let edge = edge.and_then(|edge| reader.end().map(|()| edge));
        let [src, dst, weight, time, operation, step] =
            edge.map_err(|error| no_object(line, &error))?;
        self.push_id(&self.src, src, &mut edges.src)?;
        self.push_id(&self.dst, dst, &mut edges.dst)?;
        if let (Some(updates), Some(timed)) = (&mut edges.updates, &self.timed) {
            timed.push(time, operation, step, updates)?;
        }
        edges.push_weight(|| self.take_weight(weight))
    }

    fn push_id<C: IdColumn>(&self, key: &str, id: Scalar<'_>, ids: &mut C) -> Result<(), Fault> {
        match id {
            Scalar::Integer(id) => match u64::try_from(id) {
                Ok(id) => ids.push_number(id),
                Err(_) if C::IS_TEXT => ids.push_field(id.to_string().as_bytes()),
                Err(_) => Err(Fault::new(0, format!("the id {id} is negative")).hint(ODD_IDS_HINT)),
            },
            Scalar::Text(text) if C::IS_TEXT => ids.push_field(text.as_bytes()),
            Scalar::Text(text) => {
                self.rules.check_integer_id(text.as_bytes())?;
                ids.push_field(text.as_bytes())
            }
            other => Err(other.refuse(key, "a whole number or a string")),
        }
    }

    fn take_weight(&self, weight: Scalar<'_>) -> Result<f32, Fault> {
        match weight {
            Scalar::Integer(weight) => self.rules.take_integer(weight),
            Scalar::Float(weight) => self.rules.take_float(weight),
            Scalar::Text(text) => self.rules.parse_weight(text.as_bytes()),
            Scalar::Null | Scalar::Missing => Err(null_weight()),
            Scalar::Other(what) => Err(wrong_weight(what)),
        }
    }
}

impl TimedKeys {
    fn updates(&self) -> Updates {
        Updates { steps: self.step.as_ref().map(|_| Vec::new()), ..Updates::default() }
    }

    fn push(
        &self,
        time: Scalar<'_>,
        operation: Scalar<'_>,
        step: Scalar<'_>,
        updates: &mut Updates,
    ) -> Result<(), Fault> {
        updates.times.push(self.take_time(time)?);
        if let Some(key) = &self.operation {
            updates.deletions.push(match operation {
                Scalar::Integer(number) => take_operation(number)?,
                Scalar::Text(text) => parse_operation(text.as_bytes())?,
                other => return Err(other.refuse_as(key, no_operation)),
            });
        }
        if let Some(key) = &self.step {
            updates.push_step(match step {
                Scalar::Integer(number) => take_step(number)?,
                Scalar::Text(text) => parse_step(text.as_bytes())?,
                other => return Err(other.refuse_as(key, no_step)),
            });
        }
        Ok(())
    }

    fn take_time(&self, time: Scalar<'_>) -> Result<i64, Fault> {
        match time {
            Scalar::Integer(number) => self.unit.take_integer(number),
            Scalar::Float(number) => self.unit.take_float(number),
            Scalar::Text(text) => parse_time(text.as_bytes(), self.unit),
            other => Err(other.refuse_as(&self.time, no_time)),
        }
    }
}

/// How many keys may matter.
const KEY_COUNT: usize = 6;

/// The values of the keys that matter: source, destination, weight, time, operation and step.
type Scalars<'de> = [Scalar<'de>; KEY_COUNT];

/// The value of a key that matters.
#[derive(Debug)]
enum Scalar<'de> {
    Missing,
    Null,
    Integer(i128),
    Float(f64),
    Text(Cow<'de, str>),
    Other(&'static str),
}

impl Scalar<'_> {
    fn refuse(&self, key: &str, wanted: &str) -> Fault {
        self.refuse_as(key, |found| {
            Fault::new(0, format!("expected {wanted} in \"{key}\", found {found}"))
        })
    }

    /// Returns the fault of a value that is null, or else what `refuse` makes of it.
    fn refuse_as(&self, key: &str, refuse: impl FnOnce(&str) -> Fault) -> Fault {
        match self {
            Scalar::Missing => Fault::null(format!("there is no \"{key}\"")),
            Scalar::Null => Fault::null(format!("\"{key}\" is null")),
            Scalar::Float(number) => refuse(&number.to_string()),
            Scalar::Other(what) => refuse(what),
            Scalar::Integer(_) | Scalar::Text(_) => refuse("a string"),
        }
    }
}

/// Reads the keys of an object that matter.
struct EdgeSeed<'a>(&'a Objects);

impl<'de> DeserializeSeed<'de> for EdgeSeed<'_> {
    type Value = Scalars<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EdgeSeed<'_> {
    type Value = Scalars<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = [const { Scalar::Missing }; KEY_COUNT];
        while let Some(place) = map.next_key_seed(KeySeed(self.0))? {
            match place {
                Some(place) => values[place] = map.next_value_seed(ScalarSeed)?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(values)
    }
}

/// Reads a key as the place of its value, if that matters.
struct KeySeed<'a>(&'a Objects);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.keys().iter().position(|wanted| wanted.is_some_and(|wanted| wanted == key)))
    }
}

struct ScalarSeed;

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Integer(number.into()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Integer(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Other("a truth value"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other("an object"))
    }
}
