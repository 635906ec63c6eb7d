//! What the readers of a document ask for, noted while they read: the one source of the schema.
//!
//! A reader takes an [`Entry`](super::super::entry::Entry) apart with calls such as `require("at")` or `duration()`. When
//! the entry has a [`Record`], each call leaves a trace in a tree of shapes, whose branches are fields and items.

use std::cell::RefCell;
use std::rc::Rc;

/// What a plain value must be.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// Any text.
    Text,
    /// Text, or a number that is taken as it is written.
    TextOrNumber,
    /// A whole number in a range; `i64::MAX` is no bound.
    Whole(i64, i64),
    /// A number.
    Number,
    /// `true` or `false`.
    Truth,
    /// One of a few words.
    Words(Vec<&'static str>),
    /// Something with a definition of its own in the schema.
    Special(Special),
}

/// Plain values with a grammar of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Special {
    /// `kubesim.dev/v1alpha1`.
    ApiVersion,
    /// `1h30m`.
    Duration,
    /// A duration with or without a sign.
    SignedDuration,
    /// `500m`, `16Gi`.
    Quantity,
    /// `2026-01-01T00:00:00Z`.
    Instant,
    /// `1.36`.
    KubernetesVersion,
    /// A DNS subdomain.
    Name,
    /// A whole number from 0 to 2^64 - 1.
    Seed,
    /// `deployment/api`.
    Object,
    /// `kube-controller-manager/replicaset`.
    Process,
    /// `Pod`.
    Kind,
    /// A CEL expression.
    Condition,
    /// `key=value:effect`.
    Taint,
    /// A flag of kube-controller-manager.
    ControllerManagerFlag,
    /// A flag of kube-scheduler.
    SchedulerFlag,
    /// A flag of kube-apiserver.
    ApiServerFlag,
    /// `10x`.
    Factor,
    /// `10 + t / 60`.
    Formula,
    /// Lists of manifests by the name of a file.
    Files,
    /// Anything: it is not looked at, or looked at where it is used.
    Anything,
}

/// A shape that grows while documents are read.
pub type ShapeRef = Rc<RefCell<Shape>>;

/// What was asked for at one place, over all documents read so far.
#[derive(Default, Debug)]
pub struct Shape {
    /// It was read as a plain value of these forms.
    pub forms: Vec<Form>,
    /// It was read as a mapping field by field.
    pub mapping: Option<Mapping>,
    /// It was read as a list of these.
    pub item: Option<ShapeRef>,
    /// It was read as a mapping with free keys and these values.
    pub pairs: Option<ShapeRef>,
    /// It is a use of this definition.
    pub definition: Option<&'static str>,
}

/// Fields of a mapping.
#[derive(Default, Debug)]
pub struct Mapping {
    /// The fields that were asked for, in order.
    pub fields: Vec<(&'static str, ShapeRef)>,
    /// Each time that the mapping was read.
    pub readings: Vec<Reading>,
}

/// What one reading of a mapping insisted on.
#[derive(Clone, Default, Debug)]
pub struct Reading {
    /// Fields that must be given.
    pub required: Vec<&'static str>,
    /// Of these fields exactly one must be given, and this one was.
    pub one_of: Option<(Vec<&'static str>, &'static str)>,
}

/// Where calls leave their traces.
#[derive(Clone, Debug, Default)]
pub struct Record {
    shape: ShapeRef,
    definitions: Rc<RefCell<Vec<(&'static str, ShapeRef)>>>,
}

impl Record {
    /// The shape of this place.
    pub fn shape(&self) -> &ShapeRef {
        &self.shape
    }

    /// All definitions, in the order in which they were met.
    pub fn definitions(&self) -> Vec<(&'static str, ShapeRef)> {
        self.definitions.borrow().clone()
    }

    fn at(&self, shape: ShapeRef) -> Record {
        Record { shape, definitions: self.definitions.clone() }
    }

    /// Notes a form.
    pub fn form(&self, form: Form) {
        let mut shape = self.shape.borrow_mut();
        if !shape.forms.contains(&form) {
            shape.forms.push(form);
        }
    }

    /// Notes that a field is known, and gives its place.
    pub fn field(&self, name: &'static str) -> Record {
        let mut shape = self.shape.borrow_mut();
        let fields = &mut shape.mapping.get_or_insert_default().fields;
        if let Some((_, field)) = fields.iter().find(|(known, _)| *known == name) {
            return self.at(field.clone());
        }
        fields.push((name, ShapeRef::default()));
        self.at(fields[fields.len() - 1].1.clone())
    }

    /// Notes a reading of the mapping from its first to its last field.
    pub fn reading(&self, reading: Reading) {
        self.shape.borrow_mut().mapping.get_or_insert_default().readings.push(reading);
    }

    /// The place of a list's items.
    pub fn item(&self) -> Record {
        self.at(self.shape.borrow_mut().item.get_or_insert_default().clone())
    }

    /// The place of the values of a mapping with free keys.
    pub fn pair(&self) -> Record {
        self.at(self.shape.borrow_mut().pairs.get_or_insert_default().clone())
    }

    /// The place of a definition, which this place uses.
    pub fn definition(&self, name: &'static str) -> Record {
        self.shape.borrow_mut().definition = Some(name);
        let mut definitions = self.definitions.borrow_mut();
        if let Some((_, shape)) = definitions.iter().find(|(known, _)| *known == name) {
            return self.at(shape.clone());
        }
        definitions.push((name, ShapeRef::default()));
        self.at(definitions[definitions.len() - 1].1.clone())
    }

    /// The place that a path of field names leads to.
    pub fn descend(&self, path: &str) -> Option<Record> {
        let mut place = self.clone();
        for name in path.split('.') {
            let next = {
                let shape = place.shape.borrow();
                let fields = shape.mapping.as_ref().map(|mapping| &mapping.fields)?;
                fields.iter().find(|(known, _)| *known == name).map(|(_, field)| field.clone())?
            };
            place = place.at(next);
        }
        Some(place)
    }
}
