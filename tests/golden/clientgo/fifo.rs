//! The queue between reflector and handlers: scripts of operations, and what each drain takes out.

use serde_json::{Map, Value, json};

use super::informer::{object, version};
use crate::case::{Disagreement, compare, count, field, list, text};
use kubesim::client::fifo::{Entry, EntryType, Fifo, Shape, Work};
use kubesim::client::informers::Cache;

/// `script` -> `drains`.
pub fn fifo(case: &Value) -> Result<(), Disagreement> {
    let shape = match text(case, "kind")? {
        "DeltaFIFO" => Shape::Delta,
        "RealFIFO" => Shape::Real,
        other => return Err(Disagreement::new("a known kind of queue", other)),
    };
    let (mut queue, mut known) = (Fifo::new(shape), Cache::default());
    // The recording writes an empty list as null.
    let mut drains = field(case, "drains")?.as_array().into_iter().flatten();
    for (index, operation) in list(case, "script")?.iter().enumerate() {
        let entry = |entry_type| {
            let of = field(operation, "obj")?;
            let object = object(text(of, "key")?, u64::from(count(of, "rv")?), "");
            Ok::<_, Disagreement>(Entry::new(entry_type, object))
        };
        match text(operation, "op")? {
            "add" => queue.push(entry(EntryType::Added)?, &known),
            "update" => queue.push(entry(EntryType::Updated)?, &known),
            "delete" => queue.push(entry(EntryType::Deleted)?, &known),
            "replace" => {
                let none = Vec::new();
                let listed = operation.get("list").and_then(Value::as_array).unwrap_or(&none);
                let items: Result<_, Disagreement> = listed
                    .iter()
                    .map(|item| Ok(object(text(item, "key")?, u64::from(count(item, "rv")?), "")))
                    .collect();
                queue.replace(items?, &known);
            }
            "resync" => queue.resync(&known),
            "drain" => {
                let got = drain(index, &mut queue, &mut known);
                let expected = drains.next().ok_or_else(|| Disagreement::new("no more drains", &got))?;
                compare(format!("drain {index}"), expected, &got, 0.0)?;
            }
            other => return Err(Disagreement::new("a known operation", other)),
        }
    }
    drains.next().map_or(Ok(()), |missing| Err(Disagreement::new(missing, "no drain")))
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
