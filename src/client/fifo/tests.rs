//! The three queues, entry by entry; scripts of operations are replayed from recordings in tests/golden.

use super::{Entry, EntryType, Fifo, Shape, Work};
use crate::client::informers::Cache;
use crate::model::{Meta, Namespace, Object, Rv};

fn object(name: &str, version: u64) -> Object {
    let meta = Meta { resource_version: Rv(version), ..Meta::named("", name) };
    Namespace { meta, terminating: false, source: None }.into()
}

fn cache(items: &[(&str, u64)]) -> Cache {
    let mut cache = Cache::default();
    for (name, version) in items {
        cache.insert(object(name, *version));
    }
    cache
}

fn push(fifo: &mut Fifo, cache: &Cache, events: &[(EntryType, &str, u64)]) {
    for (entry_type, name, version) in events {
        fifo.push(Entry::new(*entry_type, object(name, *version)), cache);
    }
}

fn replace(fifo: &mut Fifo, cache: &Cache, items: &[(&str, u64)]) {
    fifo.replace(items.iter().map(|(name, version)| object(name, *version)).collect(), cache);
}

/// `Updated a@2`, `tombstone a@1`, joined by commas where they come together.
fn text(entry: &Entry) -> String {
    let word = if entry.tombstone { "tombstone".to_owned() } else { format!("{:?}", entry.entry_type) };
    format!("{word} {}@{}", entry.object.meta().name, entry.object.meta().resource_version.0)
}

/// Takes everything out; what belongs to the first list is marked.
fn drain(fifo: &mut Fifo) -> Vec<String> {
    let taken = std::iter::from_fn(|| fifo.pop()).map(|taken| {
        let words = match taken.work {
            Work::One(entry) => text(&entry),
            Work::OfKey(entries) => entries.iter().map(text).collect::<Vec<_>>().join(", "),
            Work::ReplaceAll(items) => format!("all {}", items.len()),
            Work::SyncAll => "sync".to_owned(),
        };
        if taken.is_initial { format!("first: {words}") } else { words }
    });
    taken.collect()
}

#[test]
fn of_two_deletions_of_a_key_in_a_row_one_stays() {
    use EntryType::{Added, Deleted};
    let known = cache(&[("a", 1)]);
    let mut fifo = Fifo::new(Shape::Delta);
    push(&mut fifo, &known, &[(Deleted, "a", 2), (Deleted, "a", 3), (Added, "a", 4), (Deleted, "a", 5)]);
    assert_eq!(drain(&mut fifo), ["Deleted a@2, Added a@4, Deleted a@5"], "the older; not across an add");
    // A list without it makes a tombstone: the deletion that is known stays, and displaces a tombstone.
    push(&mut fifo, &known, &[(Deleted, "a", 6)]);
    replace(&mut fifo, &known, &[]);
    assert_eq!(drain(&mut fifo), ["Deleted a@6"]);
    replace(&mut fifo, &known, &[]);
    push(&mut fifo, &known, &[(Deleted, "a", 7)]);
    assert_eq!(drain(&mut fifo), ["Deleted a@7"]);
    // In order, both are there, but a tombstone says nothing after a deletion.
    let mut fifo = Fifo::new(Shape::Real);
    push(&mut fifo, &known, &[(Deleted, "a", 2), (Deleted, "a", 3)]);
    replace(&mut fifo, &known, &[]);
    assert_eq!(drain(&mut fifo), ["Deleted a@2", "Deleted a@3"]);
}

#[test]
fn a_list_makes_tombstones_of_what_is_queued_and_of_what_is_known() {
    use EntryType::{Added, Updated};
    let known = cache(&[("a", 1), ("b", 2), ("c", 3)]);
    let fill = |shape| {
        let mut fifo = Fifo::new(shape);
        push(&mut fifo, &known, &[(Updated, "b", 4), (Added, "x", 5)]);
        replace(&mut fifo, &known, &[("c", 3), ("d", 6)]);
        fifo
    };
    // The last state queued (b@4, x@5), else the last known (a@1): after what is listed where entries go by key, before
    // it where they go in order.
    let by_key =
        ["Updated b@4, tombstone b@4", "Added x@5, tombstone x@5", "Replaced c@3", "Replaced d@6", "tombstone a@1"];
    assert_eq!(drain(&mut fill(Shape::Delta)), by_key);
    let in_order =
        ["Updated b@4", "Added x@5", "tombstone b@4", "tombstone x@5", "tombstone a@1", "Replaced c@3", "Replaced d@6"];
    assert_eq!(drain(&mut fill(Shape::Real)), in_order);
    assert_eq!(drain(&mut fill(Shape::RealAtomic)), ["Updated b@4", "Added x@5", "all 2"]);
}

#[test]
fn the_first_list_counts_unless_an_event_came_before_it() {
    let known = cache(&[("z", 1)]);
    let first = |shape, event_first: bool| {
        let mut fifo = Fifo::new(shape);
        assert!(!fifo.has_synced());
        if event_first {
            push(&mut fifo, &known, &[(EntryType::Added, "e", 1)]);
            assert!(fifo.has_synced(), "nothing is waited for");
        }
        replace(&mut fifo, &known, &[("a", 2), ("b", 3)]);
        let drained = drain(&mut fifo);
        assert!(fifo.has_synced());
        replace(&mut fifo, &known, &[("a", 2)]);
        assert!(fifo.has_synced(), "later lists do not count");
        drained.iter().filter(|taken| taken.starts_with("first")).count()
    };
    // Two items and the tombstone of z.
    assert_eq!([first(Shape::Delta, false), first(Shape::Delta, true)], [3, 0]);
    assert_eq!([first(Shape::Real, false), first(Shape::Real, true)], [3, 0]);
    assert_eq!([first(Shape::RealAtomic, false), first(Shape::RealAtomic, true)], [1, 0]);
    // An empty first list of an empty cache: by key and in order nothing is waited for, atomically the one entry is.
    let empty = [Shape::Delta, Shape::Real, Shape::RealAtomic].map(|shape| {
        let mut fifo = Fifo::new(shape);
        replace(&mut fifo, &Cache::default(), &[]);
        fifo.has_synced()
    });
    assert_eq!(empty, [true, true, false]);
}

#[test]
fn a_deletion_of_what_nobody_knows_is_told_in_order_only() {
    let none = Cache::default();
    let taken = |shape| {
        let mut fifo = Fifo::new(shape);
        push(&mut fifo, &none, &[(EntryType::Deleted, "a", 1)]);
        (fifo.has_synced(), drain(&mut fifo))
    };
    // It counts as an event all the same: no list is waited for.
    assert_eq!(taken(Shape::Delta), (true, vec![]));
    assert_eq!(taken(Shape::Real), (true, vec!["Deleted a@1".to_owned()]));
}

#[test]
fn a_resync_leaves_out_what_is_queued() {
    let known = cache(&[("a", 1), ("b", 2)]);
    let taken = |shape| {
        let mut fifo = Fifo::new(shape);
        push(&mut fifo, &known, &[(EntryType::Deleted, "a", 3)]);
        fifo.resync(&known);
        fifo.resync(&known);
        drain(&mut fifo)
    };
    // The second finds the entries of the first.
    for shape in [Shape::Delta, Shape::Real] {
        assert_eq!(taken(shape), ["Deleted a@3", "Sync b@2"], "{shape:?}");
    }
    assert_eq!(taken(Shape::RealAtomic), ["Deleted a@3", "sync", "sync"]);
}
