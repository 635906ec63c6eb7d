//! The schema is complete, fresh, and judges documents as the readers do.

use std::path::Path;

use super::*;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scenario.schema.json");

/// Every field of every mapping, with its path and schema.
fn fields(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        found.push((inner.clone(), property.clone()));
        fields(property, &inner, found);
    }
    if schema["items"].is_object() {
        fields(&schema["items"], &format!("{path}[]"), found);
    }
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        fields(alternative, path, found);
    }
}

fn all_fields() -> Vec<(String, Value)> {
    let schema = schema();
    let mut found = Vec::new();
    fields(&schema, "", &mut found);
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        fields(definition, &format!("${name}"), &mut found);
    }
    found
}

#[test]
fn every_field_has_a_type_and_a_sentence_and_no_sentence_is_left_over() {
    let found = all_fields();
    for (path, property) in &found {
        let sentence = descriptions::of(path);
        assert!(
            !sentence.is_empty(),
            "`{path}` has no sentence: add one to DESCRIPTIONS in src/scenario/schema/descriptions.rs"
        );
        let typed = ["type", "$ref", "enum", "const", "anyOf"].iter().any(|word| !property[*word].is_null());
        let is_untyped = ["metadata.labels", "metadata.annotations"].contains(&path.as_str());
        let nothing = property["anyOf"].as_array().is_some_and(Vec::is_empty);
        assert!(
            (typed || is_untyped) && !nothing,
            "no sample uses `{path}`: use it once in src/scenario/schema/samples.rs, so that its type is known"
        );
    }
    let definitions: Vec<String> = record().definitions().iter().map(|(name, _)| format!("${name}")).collect();
    for (path, _) in descriptions::all() {
        let is_used = found.iter().any(|(known, _)| known == path) || definitions.iter().any(|known| known == path);
        assert!(is_used, "`{path}` is no field: take its sentence out of DESCRIPTIONS");
    }
}

#[test]
fn every_choice_was_taken_once() {
    fn check(shape: &ShapeRef, path: &str) {
        let shape = shape.borrow();
        if let Some(mapping) = &shape.mapping {
            let chosen: Vec<&str> =
                mapping.readings.iter().filter_map(|reading| reading.one_of.as_ref()).map(|(_, name)| *name).collect();
            for (names, _) in mapping.readings.iter().filter_map(|reading| reading.one_of.as_ref()) {
                for name in names {
                    assert!(chosen.contains(name), "no sample of src/scenario/schema/samples.rs has {path}.{name}");
                }
            }
            mapping.fields.iter().for_each(|(name, field)| check(field, &format!("{path}.{name}")));
        }
        shape.item.iter().for_each(|item| check(item, &format!("{path}[]")));
    }
    let record = record();
    check(record.shape(), "");
    record.definitions().iter().for_each(|(name, shape)| check(shape, name));
}

/// `KUBESIM_WRITE_DOCS=1 cargo test --lib schema` writes the file anew.
#[test]
fn the_committed_schema_is_the_one_of_the_readers() {
    if std::env::var_os("KUBESIM_WRITE_DOCS").is_some() {
        std::fs::write(PATH, text()).expect("docs/ can be written");
    }
    let committed = std::fs::read_to_string(PATH).expect("docs/scenario.schema.json is there");
    assert!(
        committed == text(),
        "docs/scenario.schema.json is stale: KUBESIM_WRITE_DOCS=1 cargo test --lib schema writes it anew"
    );
}

/// What is wrong with a value by the words of JSON Schema that our schema uses; an unknown word is a mistake of ours.
fn judge(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut say = |is_fine: bool, what: String| {
        if !is_fine {
            wrong.push(format!("{path}: {what}"));
        }
    };
    let mut inner = Vec::new();
    for (word, rule) in schema.as_object().expect("a schema is an object") {
        match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "examples" | "required" => {}
            "type" => say(is_of_type(rule, value), format!("is not of type {rule}")),
            "const" => say(value == rule, format!("is not {rule}")),
            "enum" => say(rule.as_array().is_some_and(|all| all.contains(value)), format!("is not in {rule}")),
            "minimum" => say(value.as_f64() >= rule.as_f64() || !value.is_number(), format!("is below {rule}")),
            "maximum" => say(value.as_f64() <= rule.as_f64() || !value.is_number(), format!("is above {rule}")),
            "maxLength" => {
                let length = value.as_str().map_or(0, |text| text.chars().count() as u64);
                say(Some(length) <= rule.as_u64(), "is too long".into());
            }
            "pattern" => {
                let pattern = regex::Regex::new(rule.as_str().expect("a pattern is a text")).expect("it is a pattern");
                say(value.as_str().is_none_or(|text| pattern.is_match(text)), format!("does not fit {rule}"));
            }
            "$ref" => {
                let pointer = rule.as_str().and_then(|rule| rule.strip_prefix('#')).expect("references are local");
                inner.extend(judge(root, root.pointer(pointer).expect("it leads somewhere"), value, path));
            }
            "anyOf" => {
                let any = rule.as_array().expect("it is a list");
                say(any.iter().any(|one| judge(root, one, value, path).is_empty()), "fits no alternative".into());
            }
            "oneOf" => {
                let all = rule.as_array().expect("it is a list");
                let count = all.iter().filter(|one| judge(root, one, value, path).is_empty()).count();
                say(count == 1, format!("fits {count} alternatives of {rule}"));
            }
            "properties" => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    if let Some(schema) = rule.get(name) {
                        inner.extend(judge(root, schema, property, &format!("{path}.{name}")));
                    }
                }
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                let others = value.as_object().into_iter().flatten().filter(|(name, _)| known.get(*name).is_none());
                for (name, other) in others {
                    match rule.is_object() {
                        true => inner.extend(judge(root, rule, other, &format!("{path}.{name}"))),
                        false => inner.push(format!("{path}: unknown field {name}")),
                    }
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    inner.extend(judge(root, rule, item, &format!("{path}[]")));
                }
            }
            unknown => panic!("the schema uses `{unknown}`, which this test does not know"),
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("names are texts");
        say(value.as_object().is_none_or(|map| map.contains_key(name)), format!("{name} is missing"));
    }
    wrong.extend(inner);
    wrong
}

fn is_of_type(rule: &Value, value: &Value) -> bool {
    let fits = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("unknown type {other}"),
    };
    match rule {
        Value::Array(all) => all.iter().filter_map(Value::as_str).any(fits),
        one => one.as_str().is_some_and(fits),
    }
}

/// The Scenario documents of a text.
fn scenarios(text: &str) -> Vec<Value> {
    let source = Arc::new(Source { file: "t".into(), text: text.into() });
    let documents = yaml::parse(&source, &mut Diagnostics::default());
    documents.into_iter().filter(load::is_scenario).map(|document| document.value).collect()
}

fn judge_text(text: &str) -> Vec<String> {
    let schema = schema();
    let found = scenarios(text);
    assert!(!found.is_empty(), "there is a scenario in\n{text}");
    found.iter().flat_map(|value| judge(&schema, &schema, value, "")).collect()
}

#[test]
fn shipped_scenarios_and_examples_of_the_pages_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = samples::SAMPLES.iter().map(|text| (*text).to_string()).collect();
    for entry in std::fs::read_dir(root.join("scenarios")).expect("scenarios are shipped") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let loaded = load::load(std::slice::from_ref(&path), &load::Overrides::default()).expect("it is fine");
            // What a run keeps beside its results is a scenario as well.
            texts.push(loaded.resolved.to_yaml());
            texts.push(std::fs::read_to_string(path).expect("it can be read"));
        }
    }
    for page in ["README.md", "docs/operators.md", "docs/scenario.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect("pages are there");
        texts.extend(text.split("```yaml\n").skip(1).filter_map(|part| part.split("```").next()).map(str::to_string));
    }
    assert!(texts.len() > 6);
    for text in texts {
        assert_eq!(judge_text(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn wrong_documents_are_refused_by_the_schema_and_by_the_readers() {
    let head = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec: ";
    for (spec, expected) in [
        ("{duratoin: 5m}", ".spec: unknown field duratoin"),
        ("{duration: 5}", ".spec.duration: is not of type \"string\""),
        ("{duration: 1 m}", ".spec.duration: does not fit"),
        ("{nodes: [{count: -1}]}", ".spec.nodes[].count: is below 0"),
        ("{nodes: [{memory: 4Gib}]}", ".spec.nodes[].memory: does not fit"),
        ("{nodes: [{taints: [{key: a, effect: No}]}]}", ".spec.nodes[].taints[]: fits no alternative"),
        ("{faults: [{at: 1m}]}", ".spec.faults[]: fits 0 alternatives"),
        ("{faults: [{at: 1m, kill: kubelet, restart: kubelet}]}", ".spec.faults[]: fits 2 alternatives"),
        ("{faults: [{at: 1m, apiServer: {slow: 10 x}}]}", ".spec.faults[].apiServer.slow: fits no alternative"),
        ("{faults: [{at: 1m, kill: kubelet@a}]}", ".spec.faults[].kill: fits no alternative"),
        ("{expect: [{at: 1m}]}", ".spec.expect[]: fits 0 alternatives"),
        ("{containers: [{of: deployment/a, start: {gauss: 1s}}]}", ".spec.containers[].start: fits no alternative"),
        ("{model: {resync: replays}}", ".spec.model.resync: is not in"),
        ("{kubernetesVersion: 1.3}", ".spec.kubernetesVersion: is not in"),
        ("{seed: -1}", ".spec.seed: is below 0"),
        ("{timeline: [{at: 1m, kubectl: scale, pick: 0}]}", ".spec.timeline[].pick: is below 1"),
    ] {
        let text = format!("{head}{spec}\n");
        let wrong = judge_text(&text);
        assert!(wrong.iter().any(|wrong| wrong.starts_with(expected)), "{spec}: {wrong:?}");
        let source = Arc::new(Source { file: "t".into(), text });
        let documents = yaml::parse(&source, &mut Diagnostics::default());
        let problems = RefCell::new(Diagnostics::default());
        file::read(&Entry::root(&documents[0], &problems));
        assert!(problems.borrow().has_errors(), "the readers take {spec}");
    }
}
