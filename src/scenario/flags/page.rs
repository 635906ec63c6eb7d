//! docs/components.md, written from the tables.

use super::FlagTable;
use super::gates::names_of_readers;
use crate::model::Gate;
use crate::sim::plan::KubernetesVersion;

const HEAD: &str = "# Settings of control-plane components

kube-controller-manager, kube-scheduler and kube-apiserver are set as the real ones are, in any of three ways:

- **Flags** in the scenario: `spec.controlPlane.controllerManager.flags`, `.scheduler.flags`, `.apiServer.flags`, each a list of `--flag=value`.
- **A static-Pod manifest** in the stream, as kubeadm writes it: a Pod in `kube-system` with a container that runs the binary. Its `command` and `args` are the flags. The pod itself is not run, a notice says so. Several pods of one component, as a control plane of three hosts has, are so many replicas (of kube-apiserver: so many servers) unless the scenario gives `replicas`; flags without an effect here, such as addresses, may differ between them, others may not. Several kube-controller-managers or kube-schedulers elect one of them unless `--leader-elect=false`. Flags and gates that the version of its image had and the simulated version has no more are notices instead of errors.
- **A configuration file** in the stream: KubeSchedulerConfiguration (`kubescheduler.config.k8s.io/v1`) or KubeControllerManagerConfiguration (`kubecontrollermanager.config.k8s.io/v1alpha1`). It counts as the file of `--config`, whether the flag is given or not.

A list of flags in the scenario beside a static Pod, static Pods with different flags, and two files for one component are errors that name both places.

Where flags and a file say the same:

- **kube-scheduler**: with a file only the flags of leader election and `--feature-gates` count, field by field before the file; all others that the file could say are ignored, with a notice. What the file leaves out has the file's default. This is what the real one does.
- **kube-controller-manager**: flags count before the file, field by field. The real one reads no file at all, so that this is ours.

A flag that the real component does not have is an error with a suggestion, as is a value that it does not take; a real flag that is in no table below gives a notice. Underscores in names count as dashes. Rules of leader election: every time above zero, lease duration > renew deadline > 1.2 x retry period; they are judged after flags and file are put together, and not with `--leader-elect=false`.

Written from src/scenario/flags; a test holds the two equal.
";

const FILES: &str = "
## Configuration files
Every field of a KubeSchedulerConfiguration is judged: unknown fields, types, ranges, duplicates, arguments of plugins. These change something:

| field | what it is; default |
| --- | --- |
| `percentageOfNodesToScore`, that of the only profile before it | share of the nodes that are looked at once enough fit; 0: adaptive |
| `podInitialBackoffSeconds`, `podMaxBackoffSeconds` | back-off of pods that were tried in vain; 1 and 10 |
| `clientConnection.qps`, `.burst` | client of the scheduler, and the other one of its Events; 50 and 100 |
| `leaderElection.*` | as the flags above |

Profiles with another name, plugins, their arguments and extenders give a notice: all pods get the default profile. Versions before v1 are errors that name them.

Of a KubeControllerManagerConfiguration these change something; fields may begin with a small or a capital letter:

| field | flag |
| --- | --- |
| `generic.minResyncPeriod` | `--min-resync-period` |
| `generic.clientConnection.qps`, `.burst` | `--kube-api-qps`, `--kube-api-burst` |
| `generic.leaderElection.*` | `--leader-elect-*` |
| `replicaSetController.concurrentRSSyncs` | `--concurrent-replicaset-syncs` |
| `deploymentController.concurrentDeploymentSyncs` | `--concurrent-deployment-syncs` |
| `garbageCollectorController.concurrentGCSyncs` | `--concurrent-gc-syncs` |

Of a KubeletConfiguration the eviction thresholds are judged (0% and 100% mean: ignore this signal); the kubelets do not follow it yet, and a notice says so. Files of kind, kubeadm and kube-proxy give a notice.
";

/// The text of docs/components.md.
pub fn markdown() -> String {
    let mut text = HEAD.to_string();
    text.push_str("\n## Flags\n");
    for table in FlagTable::ALL {
        text.push_str(&format!(
            "`spec.controlPlane.{}.flags`, {}:\n\n| flag | what it is; default |\n| --- | --- |\n",
            table.field(),
            table.component()
        ));
        for flag in table.with_effect() {
            text.push_str(&format!("| `{}` | {} |\n", flag.name, flag.meaning));
        }
        text.push_str(&format!("\n{} more are known and have no effect.\n\n", table.without_effect().count()));
    }
    text.push_str(
        "## Feature gates\n`--feature-gates=NAME=true,NAME=false`. Which gates there are, their defaults and whether they are locked \
         follows `spec.kubernetesVersion`: a gate that the version does not have, and another value of a locked one, are errors. \
         `AllAlpha` and `AllBeta` set those of the table. Other real gates give a notice, as do those that the component does not read.\n\n| gate |",
    );
    for version in KubernetesVersion::ALL {
        text.push_str(&format!(" {} |", version.as_str()));
    }
    text.push_str(" read by |\n| --- | --- | --- | --- | --- |\n");
    for gate in Gate::ALL {
        text.push_str(&format!("| `{}` |", gate.as_str()));
        for version in KubernetesVersion::ALL {
            let state = gate.state_in(version.minor());
            let word = state.map_or("-", |state| if state.is_on { "on" } else { "off" });
            let locked = if state.is_some_and(|state| state.is_locked) { ", locked" } else { "" };
            text.push_str(&format!(" {word}{locked} |"));
        }
        text.push_str(&format!(" {} |\n", names_of_readers(gate)));
    }
    text.push_str(FILES);
    text
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::*;
    use crate::scenario::diagnostic::{Diagnostics, Source};
    use crate::scenario::settings::Settings;
    use crate::scenario::{component_config, yaml};

    /// `KUBESIM_WRITE_DOCS=1 cargo test --lib page` writes the file anew.
    #[test]
    fn the_page_is_written_from_the_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/components.md");
        if std::env::var_os("KUBESIM_WRITE_DOCS").is_some() {
            std::fs::write(path, markdown()).expect("docs/ can be written");
        }
        assert_eq!(std::fs::read_to_string(path).expect("docs/components.md is there"), markdown());
    }

    /// Paths in the first cells of a table; `.burst` after `a.qps` is `a.burst`, `*` stands for one of many.
    fn paths(heading: &str) -> Vec<String> {
        let table = FILES.split(heading).nth(1).unwrap();
        let rows = table.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
        let mut paths: Vec<String> = Vec::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            for name in row.split(" | ").next().unwrap().split('`').skip(1).step_by(2) {
                let whole = match name.strip_prefix('.') {
                    Some(last) => format!("{}.{last}", paths.last().unwrap().rsplit_once('.').unwrap().0),
                    None => name.replace('*', "leaseDuration"),
                };
                paths.push(whole);
            }
        }
        paths
    }

    /// Each field of a file that the page names changes a setting.
    #[test]
    fn files_change_what_the_page_says() {
        let heads = [
            (
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
                "KubeSchedulerConfiguration is",
            ),
            (
                "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n",
                "Of a KubeControllerManagerConfiguration",
            ),
        ];
        let mut count = 0;
        for (head, heading) in heads {
            for path in paths(heading) {
                let value = if path.ends_with("Period") || path.ends_with("Duration") { "20s" } else { "7" };
                let open = path.replace('.', ": {");
                let text = format!("{head}{open}: {value}{}\n", "}".repeat(path.matches('.').count()));
                let source = Arc::new(Source { file: "f".into(), text: text.clone() });
                let document = yaml::parse(&source, &mut Diagnostics::default()).remove(0);
                let problems = RefCell::new(Diagnostics::default());
                assert_ne!(component_config::read(&document, &problems), Settings::default(), "{text}");
                assert!(problems.borrow().is_empty(), "{text}{}", problems.borrow());
                count += 1;
            }
        }
        assert_eq!(count, 13);
    }
}
