//! Asking a finished run again: its folder holds its whole input, so any instant of it can be had back.
//!
//! ```no_run
//! # use kubesim::{experiment::replay::Replay, model::Span};
//! let replay = Replay::open("output/quickstart".as_ref(), None)?;
//! let past = replay.until(Span::from_seconds(90))?;
//! println!("{} pods", past.world.api().truth().iter(kubesim::model::Kind::Pod).count());
//! # Ok::<(), kubesim::experiment::replay::ReplayError>(())
//! ```

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::model::scheduling::SchedulingNote;
use crate::model::time::SECOND_NS;
use crate::model::{Record, Span, Time};
use crate::report::summary;
use crate::rules::suggest;
use crate::scenario::{self, Diagnostics, Overrides, resolved};
use crate::sim::{NoObserver, Observer, Plan, World};
use crate::trace::hasher::TraceHasher;
use crate::trace::row;
use crate::trace::sink::{CsvSink, RecordSink};

/// A finished run, from its folder of results.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The run's plan; a partial run's is that of the whole.
    pub plan: Arc<Plan>,
    /// How long the run was.
    pub length: Span,
    /// The run's own folder: that of its variant where there are several.
    pub folder: PathBuf,
    /// Version of kubesim that wrote the folder.
    pub version: String,
    /// Hash of the run's trace.
    hash: String,
}

/// An instant of a finished run.
#[derive(Clone)]
pub struct Past {
    /// The world at the end of the instant.
    pub world: World,
    /// The instant.
    pub at: Time,
    /// What is to be known about it: that this program does not give the trace that the folder holds.
    pub notice: Option<String>,
}

/// Why a finished run cannot be asked.
#[derive(Debug)]
pub enum ReplayError {
    /// The folder, the variant or the instant does not exist; what it is, in words.
    NotThere(String),
    /// A file of the folder cannot be read.
    Unreadable(PathBuf, io::Error),
    /// The folder's scenario cannot be read any more.
    Scenario(PathBuf, Diagnostics),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::NotThere(text) => f.write_str(text),
            ReplayError::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            ReplayError::Scenario(path, problems) => {
                write!(f, "{} cannot be run by this version of kubesim:\n{problems}", path.display())
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// What summary.json says of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The run's own folder.
    pub folder: PathBuf,
    /// The variant; empty where there is one run only.
    pub variant: String,
    /// How long the run was; `None` when the file does not say.
    pub length: Option<Span>,
    seed: Option<u64>,
    replication: u64,
    version: String,
    hash: String,
}

/// Finds a run in a folder of results, its own or that of a variant.
///
/// # Errors
/// The folder holds no results of ours, several variants and none is named, or not the one that is.
pub fn find(folder: &Path, variant: Option<&str>) -> Result<Recorded, ReplayError> {
    let top = top_summary(folder)?;
    let all: Vec<&Value> = top["variants"].as_array().into_iter().flatten().collect();
    let names: Vec<&str> = all.iter().filter_map(|one| one["variant"].as_str()).collect();
    let shown = folder.display();
    let not_there = |text: String| Err(ReplayError::NotThere(text));
    match variant {
        None if names.is_empty() => Ok(recorded(folder.to_path_buf(), &top)),
        None => not_there(format!("{shown} holds the variants {}: name one with --variant", names.join(", "))),
        Some(name) => match all.iter().find(|one| one["variant"] == name) {
            Some(found) => Ok(recorded(folder.join(name), found)),
            None if names.is_empty() => not_there(format!("{shown} holds no variants, and no `{name}`")),
            None => {
                let help = suggest::help(name, names.iter().copied());
                let help = help.unwrap_or_else(|| format!("there are {}", names.join(", ")));
                not_there(format!("{shown} holds no variant `{name}` ({help})"))
            }
        },
    }
}

/// The summary on top of a folder.
fn top_summary(folder: &Path) -> Result<Value, ReplayError> {
    let path = folder.join(summary::FILE_NAME);
    let shown = folder.display();
    let nothing = || ReplayError::NotThere(format!("{shown} holds no results of kubesim: run a scenario first"));
    let top: Value = match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Err(nothing()),
        Err(error) => return Err(ReplayError::Unreadable(path, error)),
    };
    match top["kind"].as_str() {
        Some(summary::KIND) => Ok(top),
        Some(summary::SWEEP_KIND) => Err(ReplayError::NotThere(format!(
            "{shown} holds a sweep, which keeps numbers only: run the point to ask, with --set and --replication as in \
             results.csv"
        ))),
        _ => Err(nothing()),
    }
}

fn recorded(folder: PathBuf, summary: &Value) -> Recorded {
    let text = |key: &str| summary[key].as_str().unwrap_or_default().to_string();
    let seconds = summary["simulated_seconds"].as_f64();
    Recorded {
        folder,
        variant: text("variant"),
        length: seconds.map(|seconds| Span((seconds * SECOND_NS as f64).round() as i64)),
        seed: summary["seed"].as_u64(),
        replication: summary["replication"].as_u64().unwrap_or(0),
        version: text("version"),
        hash: text("hash"),
    }
}

impl Replay {
    /// Opens the run in a folder of results, or one of its variants.
    ///
    /// # Errors
    /// Those of [`find`], or the folder's scenario cannot be read.
    pub fn open(folder: &Path, variant: Option<&str>) -> Result<Replay, ReplayError> {
        let recorded = find(folder, variant)?;
        let path = folder.join(resolved::FILE_NAME);
        if !path.is_file() {
            let text = format!("{} does not hold what was run: run the scenario again", folder.display());
            return Err(ReplayError::NotThere(text));
        }
        let loaded = scenario::load(std::slice::from_ref(&path), &Overrides::default())
            .map_err(|problems| ReplayError::Scenario(path.clone(), problems))?;
        let plan = loaded.plans.into_iter().find(|plan| plan.variant == recorded.variant);
        let Some(mut plan) = plan else {
            let text = format!("{} holds no variant `{}`", path.display(), recorded.variant);
            return Err(ReplayError::NotThere(text));
        };
        plan.seed = recorded.seed.unwrap_or(plan.seed);
        plan.replication = recorded.replication;
        Ok(Replay {
            plan: Arc::new(plan),
            length: recorded.length.unwrap_or_default(),
            folder: recorded.folder,
            version: recorded.version,
            hash: recorded.hash,
        })
    }

    /// The world at the end of an instant, counted from the start of the run.
    ///
    /// # Errors
    /// The run was over before, or its objects are refused now.
    pub fn until(&self, at: Span) -> Result<Past, ReplayError> {
        self.until_with(at, &mut NoObserver)
    }

    /// The same, with somebody who is told of all records up to the instant.
    ///
    /// # Errors
    /// Those of [`Replay::until`].
    pub fn until_with(&self, at: Span, observer: &mut dyn Observer) -> Result<Past, ReplayError> {
        if at > self.length {
            return Err(ReplayError::NotThere(format!("the run ended at {}, before {at}", self.length)));
        }
        let start = self.plan.start_at;
        let mut world = World::new(self.plan.clone()).map_err(ReplayError::NotThere)?;
        let mut looking = Looking { trace: CsvSink::new(Counter(0), start), observer };
        world.run_until(start + at, &mut looking);
        let (Counter(bytes), hash) = looking.trace.finish().expect("counting takes every write");
        let hash = hash.to_string();
        let is_same = match at == self.length {
            true => hash == self.hash,
            // Without a trace nothing can be compared.
            false => self.hash_of_beginning(bytes).is_none_or(|beginning| beginning == hash),
        };
        Ok(Past { world, at: start + at, notice: (!is_same).then(|| self.differs()) })
    }

    /// The end of the run.
    ///
    /// # Errors
    /// Its objects are refused now.
    pub fn end(&self) -> Result<Past, ReplayError> {
        self.until(self.length)
    }

    fn differs(&self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        let versions = match self.version == own {
            true => format!("another build of kubesim {own}"),
            false => format!("kubesim {}, and this is {own}", self.version),
        };
        format!(
            "{} was written by {versions}: the run takes another course here, and what is shown may differ from the files",
            self.folder.display()
        )
    }

    /// Hash of the rows in the first so many bytes of trace.csv; `None` without such a file, no hash when it is shorter.
    fn hash_of_beginning(&self, bytes: u64) -> Option<String> {
        let mut file = BufReader::new(File::open(self.folder.join("trace.csv")).ok()?);
        let mut header = vec![0; row::HEADER.len()];
        file.read_exact(&mut header).ok()?;
        let mut hasher = TraceHasher::new(self.plan.start_at);
        let mut rest = bytes - header.len() as u64;
        let mut piece = vec![0; 1 << 16];
        while rest > 0 {
            let length = usize::try_from(rest).map_or(piece.len(), |rest| rest.min(piece.len()));
            if file.read_exact(&mut piece[..length]).is_err() {
                return Some(String::new());
            }
            hasher.update(&piece[..length]);
            rest -= length as u64;
        }
        Some(hasher.hash().to_string())
    }
}

/// Takes the trace of a run for somebody else who looks on.
struct Looking<'a> {
    trace: CsvSink<Counter>,
    observer: &'a mut dyn Observer,
}

impl Observer for Looking<'_> {
    fn record(&mut self, record: &Record) {
        self.trace.record(record);
        self.observer.record(record);
    }

    fn explained(&mut self, now: Time, note: &SchedulingNote) {
        self.observer.explained(now, note);
    }
}

/// Counts bytes.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
