//! KubeControllerManagerConfiguration: the settings behind kube-controller-manager's flags.
//!
//! Upstream: kube-controller-manager/config/v1alpha1/types.go and controller-manager/config/v1alpha1/types.go, v1.36. Its
//! types have no names for JSON, so that fields begin with capital letters there; both ways are read.

use super::super::diagnostic::Code;
use super::super::entry::{Entry, Fields};
use super::super::flags::notice;
use super::super::schema::shape::Special;
use super::super::settings::Settings;
use super::parts::{self, either};

/// Controllers that are not simulated: their sections, with the small and the capital letter.
const OTHERS: &[(&str, &str)] = &[
    ("attachDetachController", "AttachDetachController"),
    ("cronJobController", "CronJobController"),
    ("csrSigningController", "CSRSigningController"),
    ("daemonSetController", "DaemonSetController"),
    ("deprecatedController", "DeprecatedController"),
    ("deviceTaintEvictionController", "DeviceTaintEvictionController"),
    ("endpointController", "EndpointController"),
    ("endpointSliceController", "EndpointSliceController"),
    ("endpointSliceMirroringController", "EndpointSliceMirroringController"),
    ("ephemeralVolumeController", "EphemeralVolumeController"),
    ("hpaController", "HPAController"),
    ("jobController", "JobController"),
    ("kubeCloudShared", "KubeCloudShared"),
    ("legacySATokenCleaner", "LegacySATokenCleaner"),
    ("namespaceController", "NamespaceController"),
    ("nodeIPAMController", "NodeIPAMController"),
    ("nodeLifecycleController", "NodeLifecycleController"),
    ("persistentVolumeBinderController", "PersistentVolumeBinderController"),
    ("podGCController", "PodGCController"),
    ("replicationController", "ReplicationController"),
    ("resourceClaimController", "ResourceClaimController"),
    ("resourceQuotaController", "ResourceQuotaController"),
    ("saController", "SAController"),
    ("serviceController", "ServiceController"),
    ("statefulSetController", "StatefulSetController"),
    ("ttlAfterFinishedController", "TTLAfterFinishedController"),
    ("validatingAdmissionPolicyStatusController", "ValidatingAdmissionPolicyStatusController"),
];

/// Reads the document.
pub fn read(root: &Entry<'_>) -> Settings {
    let mut settings = Settings::default();
    let Some(mut fields) = parts::begin(root) else { return settings };
    if let Some(section) = either(&mut fields, "generic", "Generic").and_then(|entry| entry.fields()) {
        generic(section, &mut settings);
    }
    settings.deployment_syncs = workers(
        &mut fields,
        ("deploymentController", "DeploymentController"),
        ("concurrentDeploymentSyncs", "ConcurrentDeploymentSyncs"),
        &[],
    );
    settings.replicaset_syncs = workers(
        &mut fields,
        ("replicaSetController", "ReplicaSetController"),
        ("concurrentRSSyncs", "ConcurrentRSSyncs"),
        &[],
    );
    settings.gc_syncs = workers(
        &mut fields,
        ("garbageCollectorController", "GarbageCollectorController"),
        ("concurrentGCSyncs", "ConcurrentGCSyncs"),
        &[("enableGarbageCollector", "EnableGarbageCollector"), ("gcIgnoredResources", "GCIgnoredResources")],
    );
    for (small, capital) in OTHERS {
        if let Some(entry) = either(&mut fields, small, capital) {
            notice(&entry, format!("{} has no effect in this version", entry.path));
        }
    }
    fields.finish();
    settings
}

fn generic(mut fields: Fields<'_>, settings: &mut Settings) {
    if let Some(entry) = either(&mut fields, "minResyncPeriod", "MinResyncPeriod") {
        settings.min_resync_period = entry.duration();
    }
    if let Some(entry) = either(&mut fields, "clientConnection", "ClientConnection") {
        parts::client_connection(&entry, settings);
    }
    if let Some(entry) = either(&mut fields, "leaderElection", "LeaderElection") {
        settings.election = parts::leader_election(&entry);
    }
    for (small, capital) in [("address", "Address"), ("port", "Port"), ("debugging", "Debugging")] {
        either(&mut fields, small, capital).inspect(|entry| entry.is_a(Special::Anything));
    }
    for (small, capital) in [
        ("controllerStartInterval", "ControllerStartInterval"),
        ("controllers", "Controllers"),
        ("leaderMigrationEnabled", "LeaderMigrationEnabled"),
        ("leaderMigration", "LeaderMigration"),
    ] {
        if let Some(entry) = either(&mut fields, small, capital) {
            notice(&entry, format!("{} has no effect in this version", entry.path));
        }
    }
    fields.finish();
}

/// The number of workers in a controller's section; zero is as good as not given.
fn workers(
    fields: &mut Fields<'_>,
    section: (&'static str, &'static str),
    field: (&'static str, &'static str),
    unused: &[(&'static str, &'static str)],
) -> Option<u32> {
    let mut section = either(fields, section.0, section.1)?.fields()?;
    let entry = either(&mut section, field.0, field.1);
    for (small, capital) in unused {
        if let Some(entry) = either(&mut section, small, capital) {
            notice(&entry, format!("{} has no effect in this version", entry.path));
        }
    }
    section.finish();
    let entry = entry?;
    let number = parts::whole(&entry)?;
    if number < 0 {
        entry.problem(Code::BadValue, format!("must be a whole number above zero, not {number}"), None);
    }
    u32::try_from(number).ok().filter(|workers| *workers > 0)
}
