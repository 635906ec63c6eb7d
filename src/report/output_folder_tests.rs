//! Tests of the output folder, each in a folder of its own.

use super::*;
use crate::report::Summary;

/// An empty folder that goes away with the test.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = std::env::temp_dir().join(format!("kubesim-output-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Place(path)
    }

    fn target(&self) -> PathBuf {
        self.0.join("run")
    }

    fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn summary(seed: u64) -> String {
    Summary { seed, ..Summary::new("test", "1.36") }.to_json()
}

fn write_run(target: &Path, seed: u64) -> Result<(), OutputError> {
    let folder = OutputFolder::begin(target)?;
    folder.write(FILE_NAME, summary(seed).as_bytes())?;
    folder.write("charts/replicas.svg", b"<svg/>")?;
    folder.commit()
}

fn seed_in(target: &Path) -> u64 {
    let text = fs::read(target.join(FILE_NAME)).expect("a summary");
    serde_json::from_slice::<serde_json::Value>(&text).expect("JSON")["seed"].as_u64().expect("a seed")
}

#[test]
fn a_new_folder_holds_the_results_and_nothing_else() {
    let place = Place::new("new");
    let target = place.0.join("output/deep/run");
    write_run(&target, 1).expect("an empty place");
    assert_eq!(names(&target), ["charts", "summary.json"]);
    assert_eq!(names(target.parent().expect("a parent")), ["run"]);
}

#[test]
fn our_folder_is_replaced_as_a_whole() {
    let place = Place::new("replace");
    write_run(&place.target(), 1).expect("an empty place");
    fs::write(place.target().join("charts/left-over.svg"), "x").expect("writable");
    write_run(&place.target(), 2).expect("a folder of ours");
    assert_eq!(seed_in(&place.target()), 2);
    assert_eq!(names(&place.target().join("charts")), ["replicas.svg"]);
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn an_empty_folder_is_used_and_any_other_refused() {
    let place = Place::new("refuse");
    fs::create_dir(place.target()).expect("writable");
    OutputFolder::check(&place.target()).expect("an empty folder");
    fs::write(place.target().join("thesis.tex"), "years of work").expect("writable");
    for foreign_summary in [None, Some("{\"results\": []}")] {
        if let Some(text) = foreign_summary {
            fs::write(place.target().join(FILE_NAME), text).expect("writable");
        }
        let error = write_run(&place.target(), 1).expect_err("somebody else's folder");
        assert!(matches!(error, OutputError::NotOurs(_)), "{error}");
        assert!(error.to_string().contains("not empty"));
    }
    assert_eq!(fs::read_to_string(place.target().join("thesis.tex")).expect("still there"), "years of work");
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn a_file_is_not_a_folder() {
    let place = Place::new("file");
    fs::write(place.target(), "x").expect("writable");
    for target in [place.target(), place.target().join("below"), PathBuf::from("/")] {
        let error = OutputFolder::begin(&target).expect_err("not a place for results");
        assert!(matches!(error, OutputError::NotAFolder(_) | OutputError::NotOurs(_)), "{error}");
    }
    assert_eq!(fs::read_to_string(place.target()).expect("still there"), "x");
}

#[test]
fn a_run_that_fails_leaves_the_older_results() {
    let place = Place::new("fail");
    write_run(&place.target(), 1).expect("an empty place");
    let folder = OutputFolder::begin(&place.target()).expect("a folder of ours");
    folder.write("trace.csv", b"half").expect("writable");
    drop(folder);
    assert_eq!(seed_in(&place.target()), 1);
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn a_target_that_became_somebody_elses_meanwhile_is_left_alone() {
    let place = Place::new("meanwhile");
    let folder = OutputFolder::begin(&place.target()).expect("an empty place");
    folder.write(FILE_NAME, summary(1).as_bytes()).expect("writable");
    fs::create_dir(place.target()).expect("writable");
    fs::write(place.target().join("notes"), "x").expect("writable");
    assert!(matches!(folder.commit(), Err(OutputError::NotOurs(_))));
    assert_eq!(names(&place.target()), ["notes"]);
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn two_runs_do_not_write_to_one_folder_at_once() {
    let place = Place::new("busy");
    let first = OutputFolder::begin(&place.target()).expect("an empty place");
    let error = OutputFolder::begin(&place.target()).expect_err("the first still writes");
    assert!(matches!(error, OutputError::Busy(_)), "{error}");
    first.write(FILE_NAME, summary(1).as_bytes()).expect("the second left it alone");
    first.commit().expect("an empty place");
    assert_eq!(seed_in(&place.target()), 1);
}

#[test]
fn what_killed_runs_left_is_put_right() {
    let place = Place::new("killed");
    // Killed while writing: a hidden folder nobody holds.
    let new = place.0.join(".run.kubesim-new");
    fs::create_dir(&new).expect("writable");
    fs::write(new.join("trace.csv"), "half").expect("writable");
    // Killed between the moves: the older results are hidden and nothing is in their place.
    write_run(&place.0.join(".run.kubesim-old"), 7).expect("an empty place");
    let folder = OutputFolder::begin(&place.target()).expect("only leftovers of ours");
    assert_eq!(seed_in(&place.target()), 7, "the older results are back");
    drop(folder);
    // Killed before the older results were deleted: the newer ones win.
    write_run(&place.0.join(".run.kubesim-old"), 6).expect("an empty place");
    write_run(&place.target(), 8).expect("a folder of ours");
    assert_eq!(seed_in(&place.target()), 8);
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn a_full_disk_has_its_own_words() {
    let place = Place::new("full");
    let folder = OutputFolder::begin(&place.target()).expect("an empty place");
    let full = folder.write_error("trace.csv", ErrorKind::StorageFull.into());
    assert!(full.is_disk_full());
    assert!(full.to_string().contains("trace.csv: the disk is full"), "{full}");
    assert!(!folder.write_error("trace.csv", ErrorKind::PermissionDenied.into()).is_disk_full());
}

/// A device that is always full, where the system has one.
#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_is_recognised() {
    let Ok(mut device) = File::options().write(true).open("/dev/full") else { return };
    let error = device.write_all(b"x").expect_err("it is always full");
    assert!(is_disk_full(&error), "{error:?}");
}

#[test]
fn a_full_disk_keeps_whole_rows_and_the_summary() {
    let place = Place::new("full-disk");
    let target = place.target();
    let folder = OutputFolder::begin(&target).unwrap();
    // The disk was full in the middle of the third row.
    folder.write("trace.csv", b"time_s,event\n0,1\n0.0").unwrap();
    folder.make_room(&["trace.csv".to_string()]).unwrap();
    folder.write("summary.json", Summary::new("x", "1.36").to_json().as_bytes()).unwrap();
    folder.commit().unwrap();
    assert_eq!(fs::read(target.join("trace.csv")).unwrap(), b"time_s,event\n0,1\n");
    assert_eq!(names(&target), ["summary.json", "trace.csv"]);
}

#[test]
fn what_could_not_be_finished_is_discarded() {
    let place = Place::new("discard");
    let target = place.0.join("run");
    let folder = OutputFolder::begin(&target).expect("an empty place");
    folder.write("state.yaml", b"apiVersion: v1\nitems:\n- api").expect("room");
    folder.write("charts/replicas.svg", b"<sv").expect("room");
    for name in ["state.yaml", "charts", "nothing.csv"] {
        folder.discard(name).expect("it can be removed, or is not there");
    }
    folder.write(FILE_NAME, summary(1).as_bytes()).expect("room");
    folder.commit().expect("a summary is there");
    assert_eq!(names(&target), [FILE_NAME]);
}
