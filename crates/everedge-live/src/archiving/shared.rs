//! Shards as an archive shares them with its snapshots.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;

/// A shard that snapshots share with the archive until it changes there.
///
/// Where ids are far apart most shards are of vertices that no update has named. Those take no
/// memory of their own, and all of them read as one that is empty.
pub struct Shared<S>(Option<Arc<S>>);

/// A shard that all those nobody has named can read as.
pub trait EmptyShard: Default + Send + Sync + 'static {
    /// Returns one that is empty.
    fn empty() -> &'static Self;
}

impl<S> Shared<S> {
    /// Returns a shard that nobody shares yet.
    pub fn new(shard: S) -> Self {
        Self(Some(Arc::new(shard)))
    }

    /// Returns the shard, if it is there.
    pub fn get(&self) -> Option<&S> {
        self.0.as_deref()
    }

    /// Returns the shard for changing, if it is there and nobody shares it.
    pub fn get_mut(&mut self) -> Option<&mut S> {
        self.0.as_mut().and_then(Arc::get_mut)
    }
}

impl<S: EmptyShard> Shared<S> {
    /// Returns the shard for changing; one that is shared, or not there, is copied first.
    ///
    /// # Errors
    /// As `copy`; the shard is then as before.
    pub fn own<E>(&mut self, copy: impl FnOnce(&S) -> Result<S, E>) -> Result<&mut S, E> {
        if self.get_mut().is_none() {
            *self = Self::new(copy(self)?);
        }
        Ok(self.get_mut().expect("a new copy is not shared"))
    }

    /// As [`Self::own`], of a shard that can always be copied.
    pub fn make_mut(&mut self) -> &mut S
    where
        S: Clone,
    {
        let Ok(shard) = self.own(|shard| Ok::<S, Infallible>(shard.clone()));
        shard
    }
}

/// Returns the shards that are there, with their numbers.
pub fn present<S>(shards: &[Shared<S>]) -> impl Iterator<Item = (usize, &S)> {
    shards.iter().enumerate().filter_map(|(number, shard)| Some((number, shard.get()?)))
}

impl<S> Default for Shared<S> {
    fn default() -> Self {
        Self(None)
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: EmptyShard> Deref for Shared<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        match &self.0 {
            Some(shard) => shard,
            None => S::empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl EmptyShard for String {
        fn empty() -> &'static Self {
            const { &String::new() }
        }
    }

    fn copy(shard: &String) -> Result<String, &'static str> {
        if shard == "cannot be copied" { Err("so") } else { Ok(shard.clone()) }
    }

    #[test]
    fn what_is_shared_or_not_there_is_copied_before_it_changes() {
        let mut shards = vec![Shared::<String>::default(); 3];
        assert!(shards[1].is_empty() && shards[1].get_mut().is_none());
        shards[1].own(copy).unwrap().push('a');
        let kept = shards.clone();
        assert!(shards[1].get_mut().is_none());
        shards[1].make_mut().push('b');
        assert_eq!((kept[1].as_str(), shards[1].as_str(), shards[2].as_str()), ("a", "ab", ""));
        assert_eq!(present(&shards).collect::<Vec<_>>(), [(1, &"ab".to_owned())]);
        drop(kept);
        *shards[1].get_mut().unwrap() = "cannot be copied".into();
        let kept = shards.clone();
        assert_eq!(shards[1].own(copy), Err("so"));
        assert_eq!(*shards[1], *kept[1]);
    }
}
