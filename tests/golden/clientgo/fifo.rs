//! The queue between reflector and handlers: scripts of operations, and what each drain takes out.

use serde_json::{Map, Value, json};

use super::informer::{object, version};
use crate::case::{Disagreement, compare, count, field, list, only_fields, text};
use kubesim::client::fifo::{Entry, EntryType, Fifo, Shape, Work};
use kubesim::client::informers::Cache;

/// `script` -> `drains`.
pub fn fifo(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["kind", "script", "drains"])?;
    let expected = list(case, "drains")?;
    let got = drains(case)?;
    for (expected, got) in expected.iter().zip(&got) {
        compare(format!("drain {}", got["i"]), expected, got, 0.0)?;
    }
    compare("number of drains", &json!(expected.len()), &json!(got.len()), 0.0)
}

/// What each drain of a script takes out.
pub fn drains(case: &Value) -> Result<Vec<Value>, Disagreement> {
    let shape = match text(case, "kind")? {
        "DeltaFIFO" => Shape::Delta,
        "RealFIFO" => Shape::Real,
        other => return Err(Disagreement::new("a known kind of queue", other)),
    };
    let (mut queue, mut known) = (Fifo::new(shape), Cache::default());
    let mut drains = Vec::new();
    for (index, operation) in list(case, "script")?.iter().enumerate() {
        only_fields(operation, &["op", "obj", "list"])?;
        let item = |of: &Value| {
            only_fields(of, &["key", "rv"])?;
            Ok::<_, Disagreement>(object(text(of, "key")?, u64::from(count(of, "rv")?), ""))
        };
        let entry = |entry_type| Ok::<_, Disagreement>(Entry::new(entry_type, item(field(operation, "obj")?)?));
        match text(operation, "op")? {
            "add" => queue.push(entry(EntryType::Added)?, &known),
            "update" => queue.push(entry(EntryType::Updated)?, &known),
            "delete" => queue.push(entry(EntryType::Deleted)?, &known),
            "replace" => {
                let listed = if operation.get("list").is_some() { list(operation, "list")? } else { &[] };
                let items: Result<_, Disagreement> = listed.iter().map(item).collect();
                queue.replace(items?, &known);
            }
            "resync" => queue.resync(&known),
            "drain" => drains.push(drain(index, &mut queue, &mut known)),
            other => return Err(Disagreement::new("a known operation", other)),
        }
    }
    Ok(drains)
}

/// Takes and applies everything.
fn drain(index: usize, queue: &mut Fifo, known: &mut Cache) -> Value {
    let mut pops: Vec<(String, Value)> = Vec::new();
    while let Some(taken) = queue.pop() {
        let entries = match taken.work {
            Work::One(entry) => vec![entry],
            Work::OfKey(entries) => entries,
            Work::ReplaceAll(_) | Work::SyncAll => unreachable!("only the atomic queue has these"),
        };
        let key = entries[0].object.meta().name.to_string();
        let deltas: Vec<Value> = entries.iter().map(delta).collect();
        for entry in entries {
            if entry.entry_type == EntryType::Deleted {
                known.remove(&entry.object.key());
            } else {
                known.insert(entry.object);
            }
        }
        pops.push((key.clone(), json!({"key": key, "deltas": deltas, "initial": taken.is_initial})));
    }
    pops.sort_by(|a, b| a.0.cmp(&b.0));
    let pops = match pops.is_empty() {
        true => Value::Null,
        false => pops.into_iter().map(|(_, pop)| pop).collect(),
    };
    let store: Map<String, Value> =
        known.sorted().into_iter().map(|object| (object.meta().name.to_string(), json!(version(object)))).collect();
    json!({"i": index, "pops": pops, "store": store, "synced": queue.has_synced()})
}

fn delta(entry: &Entry) -> Value {
    let mut delta = json!({"type": format!("{:?}", entry.entry_type), "rv": version(&entry.object)});
    if entry.tombstone {
        delta["tombstone"] = json!(true);
    }
    delta
}
