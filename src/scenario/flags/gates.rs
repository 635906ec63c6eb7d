//! Feature gates: which there are in a version, and what a list of them switches.
//!
//! Upstream: test/compatibility_lifecycle/reference/{versioned_feature_list.yaml,feature_list.md} and
//! component-base/featuregate/feature_gate.go, v1.36.

use super::FlagTable;
use super::value::truth;
use crate::model::gates::Stage;
use crate::model::{Gate, Gates};
use crate::rules::suggest;
use crate::sim::plan::KubernetesVersion;

/// Name of a gate, the minor version in which it came (0: before 1.32), and from when on it is locked to which value.
type Row = (&'static str, u8, Option<(u8, bool)>);

/// Gates that nothing here reads.
#[rustfmt::skip]
const WITHOUT_EFFECT: &[Row] = &[
    ("APIResponseCompression", 0, None),
    ("APIServerIdentity", 0, None),
    ("APIServerTracing", 0, Some((34, true))),
    ("APIServingWithRoutine", 0, None),
    ("AggregatedDiscoveryRemoveBetaType", 33, Some((35, true))),
    ("AllowDNSOnlyNodeCSR", 0, None),
    ("AllowInsecureKubeletCertificateSigningRequests", 0, None),
    ("AllowOverwriteTerminationGracePeriodSeconds", 0, Some((35, false))),
    ("AllowParsingUserUIDFromCertAuth", 33, None),
    ("AllowUnsafeMalformedObjectDeletion", 0, None),
    ("AnonymousAuthConfigurableEndpoints", 0, Some((34, true))),
    ("AnyVolumeDataSource", 0, Some((33, true))),
    ("AuthorizeNodeWithSelectors", 0, Some((34, true))),
    ("AuthorizePodWebsocketUpgradeCreatePermission", 35, None),
    ("AuthorizeWithSelectors", 0, Some((34, true))),
    ("BtreeWatchCache", 0, Some((33, true))),
    ("CBORServingAndStorage", 0, None),
    ("CPUManagerPolicyAlphaOptions", 0, None),
    ("CPUManagerPolicyBetaOptions", 0, None),
    ("CPUManagerPolicyOptions", 0, Some((33, true))),
    ("CRDObservedGenerationTracking", 35, None),
    ("CRDValidationRatcheting", 0, Some((33, true))),
    ("CRIListStreaming", 36, None),
    ("CSIServiceAccountTokenSecrets", 35, Some((36, true))),
    ("CSIVolumeHealth", 0, None),
    ("ChangeContainerStatusOnKubeletRestart", 35, None),
    ("ClearingNominatedNodeNameAfterBinding", 34, None),
    ("ClientsAllowCBOR", 0, None),
    ("ClientsPreferCBOR", 0, None),
    ("CloudControllerManagerWatchBasedRoutesReconciliation", 35, None),
    ("CloudControllerManagerWebhook", 0, None),
    ("ClusterTrustBundle", 0, None),
    ("ClusterTrustBundleProjection", 0, None),
    ("ComponentFlagz", 0, None),
    ("ComponentStatusz", 0, None),
    ("ConcurrentWatchObjectDecode", 0, None),
    ("ConsistentListFromCache", 0, Some((34, true))),
    ("ConstrainedImpersonation", 35, None),
    ("ContainerCheckpoint", 0, None),
    ("ContainerRestartRules", 34, None),
    ("ContainerStopSignals", 33, None),
    ("ContextualLogging", 0, None),
    ("CoordinatedLeaderElection", 0, None),
    ("CrossNamespaceVolumeDataSource", 0, None),
    ("CustomCPUCFSQuotaPeriod", 0, None),
    ("CustomResourceFieldSelectors", 0, Some((32, true))),
    ("DRAAdminAccess", 0, Some((36, true))),
    ("DRAConsumableCapacity", 34, None),
    ("DRADeviceBindingConditions", 34, None),
    ("DRADeviceTaintRules", 35, None),
    ("DRADeviceTaints", 33, None),
    ("DRAExtendedResource", 34, None),
    ("DRAListTypeAttributes", 36, None),
    ("DRANodeAllocatableResources", 36, None),
    ("DRAPartitionableDevices", 33, None),
    ("DRAPrioritizedList", 33, None),
    ("DRAResourceClaimDeviceStatus", 0, None),
    ("DRAResourceClaimGranularStatusAuthorization", 36, None),
    ("DRAResourcePoolStatus", 36, None),
    ("DRASchedulerFilterTimeout", 34, None),
    ("DRAWorkloadResourceClaims", 36, None),
    ("DeclarativeValidation", 33, Some((36, true))),
    ("DeclarativeValidationBeta", 36, None),
    ("DeclarativeValidationTakeover", 33, None),
    ("DeploymentReplicaSetTerminatingReplicas", 33, None),
    ("DetectCacheInconsistency", 34, None),
    ("DisableAllocatorDualWrite", 0, Some((35, true))),
    ("DisableCPUQuotaWithExclusiveCPUs", 33, None),
    ("DisableNodeKubeProxyVersion", 0, Some((36, true))),
    ("DynamicResourceAllocation", 0, Some((35, true))),
    ("EnvFiles", 34, None),
    ("EventedPLEG", 0, None),
    ("ExecProbeTimeout", 0, Some((35, true))),
    ("ExtendWebSocketsToKubelet", 36, None),
    ("ExternalServiceAccountTokenSigner", 0, Some((36, true))),
    ("GangScheduling", 35, None),
    ("GenericWorkload", 35, None),
    ("GitRepoVolumeDriver", 33, Some((36, false))),
    ("GracefulNodeShutdown", 0, None),
    ("GracefulNodeShutdownBasedOnPodPriority", 0, None),
    ("HPAConfigurableTolerance", 33, None),
    ("HPAScaleToZero", 0, None),
    ("HostnameOverride", 34, None),
    ("ImageMaximumGCAge", 0, Some((35, true))),
    ("ImageVolume", 0, Some((36, true))),
    ("ImageVolumeWithDigest", 35, None),
    ("InOrderInformersBatchProcess", 35, None),
    ("InPlacePodLevelResourcesVerticalScaling", 35, None),
    ("InPlacePodVerticalScaling", 0, Some((35, true))),
    ("InPlacePodVerticalScalingExclusiveCPUs", 0, None),
    ("InPlacePodVerticalScalingExclusiveMemory", 34, None),
    ("InPlacePodVerticalScalingInitContainers", 36, None),
    ("InformerResourceVersion", 0, None),
    ("JobManagedBy", 0, Some((35, true))),
    ("KMSv1", 0, None),
    ("KubeletCgroupDriverFromCRI", 0, Some((34, true))),
    ("KubeletCrashLoopBackOffMax", 0, None),
    ("KubeletEnsureSecretPulledImages", 33, None),
    ("KubeletFineGrainedAuthz", 0, Some((36, true))),
    ("KubeletInUserNamespace", 0, None),
    ("KubeletPSI", 33, Some((36, true))),
    ("KubeletPodResourcesDynamicResources", 0, Some((36, true))),
    ("KubeletPodResourcesGet", 0, Some((36, true))),
    ("KubeletPodResourcesListUseActivePods", 34, None),
    ("KubeletRegistrationGetOnExistsOnly", 0, None),
    ("KubeletSeparateDiskGC", 0, None),
    ("KubeletServiceAccountTokenForCredentialProviders", 33, None),
    ("KubeletTracing", 0, Some((34, true))),
    ("ListFromCacheSnapshot", 33, None),
    ("LocalStorageCapacityIsolationFSQuotaMonitoring", 0, None),
    ("LoggingAlphaOptions", 0, None),
    ("LoggingBetaOptions", 0, None),
    ("ManifestBasedAdmissionControlConfig", 36, None),
    ("MatchLabelKeysInPodAffinity", 0, Some((33, true))),
    ("MatchLabelKeysInPodTopologySpread", 0, None),
    ("MatchLabelKeysInPodTopologySpreadSelectorMerge", 34, None),
    ("MaxUnavailableStatefulSet", 0, None),
    ("MemoryQoS", 0, None),
    ("MultiCIDRServiceAllocator", 0, Some((34, true))),
    ("MutableCSINodeAllocatableCount", 33, Some((36, true))),
    ("MutablePVNodeAffinity", 35, None),
    ("MutablePodResourcesForSuspendedJobs", 35, None),
    ("MutableSchedulingDirectivesForSuspendedJobs", 35, None),
    ("MutatingAdmissionPolicy", 0, None),
    ("NFTablesProxyMode", 0, Some((33, true))),
    ("NativeHistograms", 36, None),
    ("NodeDeclaredFeatures", 35, None),
    ("NodeInclusionPolicyInPodTopologySpread", 0, Some((33, true))),
    ("NodeLogQuery", 0, Some((36, true))),
    ("NodeSwap", 0, Some((34, true))),
    ("NominatedNodeNameForExpectation", 34, None),
    ("OpenAPIEnums", 0, None),
    ("OpportunisticBatching", 35, None),
    ("PLEGOnDemandRelist", 36, None),
    ("PersistentVolumeClaimUnusedSinceTime", 36, None),
    ("PodAndContainerStatsFromCRI", 0, None),
    ("PodCertificateRequest", 34, None),
    ("PodDeletionCost", 0, None),
    ("PodLevelResourceManagers", 36, None),
    ("PodLevelResources", 0, None),
    ("PodLogsQuerySplitStreams", 0, None),
    ("PodObservedGenerationTracking", 33, Some((35, true))),
    ("PodReadyToStartContainersCondition", 0, None),
    ("PodSchedulingReadiness", 0, Some((30, true))),
    ("PodTopologyLabelsAdmission", 33, None),
    ("PodsAPI", 36, None),
    ("PortForwardWebsockets", 0, None),
    ("PreferSameTrafficDistribution", 33, Some((35, true))),
    ("PreventStaticPodAPIReferences", 34, None),
    ("ProcMountType", 0, Some((36, true))),
    ("QOSReserved", 0, None),
    ("RecoverVolumeExpansionFailure", 0, Some((34, true))),
    ("RecursiveReadOnlyMounts", 0, Some((33, true))),
    ("ReduceDefaultCrashLoopBackOffDecay", 33, None),
    ("RelaxedEnvironmentVariableValidation", 0, Some((34, true))),
    ("RelaxedServiceNameValidation", 34, None),
    ("ReloadKubeletClientCAFile", 36, None),
    ("ReloadKubeletServerCertificateFile", 0, None),
    ("RemoteRequestHeaderUID", 0, None),
    ("ResourceHealthStatus", 0, None),
    ("ResourceHealthStatusMessage", 36, None),
    ("RestartAllContainersOnContainerExits", 35, None),
    ("RotateKubeletServerCertificate", 0, None),
    ("RuntimeClassInImageCriApi", 0, None),
    ("SELinuxChangePolicy", 0, Some((36, true))),
    ("SELinuxMount", 0, None),
    ("SELinuxMountGAReadiness", 35, None),
    ("SELinuxMountReadWriteOncePod", 0, Some((36, true))),
    ("SchedulerAsyncAPICalls", 34, None),
    ("SchedulerAsyncPreemption", 0, None),
    ("SeparateCacheWatchRPC", 0, Some((36, false))),
    ("SeparateTaintEvictionController", 0, Some((34, true))),
    ("ServiceAccountNodeAudienceRestriction", 0, None),
    ("ServiceAccountTokenJTI", 0, Some((32, true))),
    ("ServiceAccountTokenNodeBinding", 0, Some((33, true))),
    ("ServiceAccountTokenNodeBindingValidation", 0, Some((32, true))),
    ("ServiceAccountTokenPodNodeInfo", 0, Some((32, true))),
    ("ServiceCIDRStatusFieldWiping", 36, None),
    ("ShardedListAndWatch", 36, None),
    ("SizeBasedListCostEstimate", 34, None),
    ("StaleControllerConsistencyDaemonSet", 36, None),
    ("StaleControllerConsistencyJob", 36, None),
    ("StaleControllerConsistencyStatefulSet", 36, None),
    ("StatefulSetSemanticRevisionComparison", 35, None),
    ("StorageCapacityScoring", 33, None),
    ("StorageNamespaceIndex", 0, None),
    ("StorageVersionAPI", 0, None),
    ("StorageVersionHash", 0, None),
    ("StorageVersionMigrator", 0, None),
    ("StrictIPCIDRValidation", 33, None),
    ("StructuredAuthenticationConfigurationEgressSelector", 34, None),
    ("StructuredAuthenticationConfigurationJWKSMetrics", 35, None),
    ("SupplementalGroupsPolicy", 0, Some((35, true))),
    ("SystemdWatchdog", 0, Some((35, true))),
    ("TaintTolerationComparisonOperators", 35, None),
    ("TokenRequestServiceAccountUIDValidation", 34, None),
    ("TopologyAwareWorkloadScheduling", 36, None),
    ("TopologyManagerPolicyAlphaOptions", 0, None),
    ("TopologyManagerPolicyBetaOptions", 0, None),
    ("TopologyManagerPolicyOptions", 0, Some((32, true))),
    ("TranslateStreamCloseWebsocketRequests", 0, None),
    ("UnauthenticatedHTTP2DOSMitigation", 0, None),
    ("UnknownVersionInteroperabilityProxy", 0, None),
    ("UnlockWhileProcessingFIFO", 36, None),
    ("UserNamespacesHostNetworkSupport", 35, None),
    ("UserNamespacesSupport", 0, Some((36, true))),
    ("VolumeAttributesClass", 0, Some((36, true))),
    ("VolumeLimitScaling", 35, None),
    ("WatchCacheInitializationPostStartHook", 0, None),
    ("WinDSR", 0, Some((34, true))),
    ("WinOverlay", 0, Some((34, true))),
    ("WindowsCPUAndMemoryAffinity", 0, None),
    ("WindowsGracefulNodeShutdown", 0, None),
    ("WindowsHostNetwork", 0, None),
    ("WorkloadWithJob", 36, None),
];

/// Gates whose features are settled: some version that is followed here has taken them out.
#[rustfmt::skip]
const SETTLED: &[&str] = &[
    "AllowServiceLBStatusOnNonLB",
    "AppArmor",
    "AppArmorFields",
    "CPUManager",
    "CSIMigrationPortworx",
    "CloudDualStackNodeIPs",
    "ComponentSLIs",
    "CronJobsScheduledAnnotation",
    "DevicePluginCDIDevices",
    "DisableCloudProviders",
    "DisableKubeletCloudCredentialProviders",
    "EfficientWatchResumption",
    "ElasticIndexedJob",
    "HPAContainerMetrics",
    "HonorPVReclaimPolicy",
    "InPlacePodVerticalScalingAllocatedStatus",
    "InTreePluginPortworxUnregister",
    "JobBackoffLimitPerIndex",
    "JobPodFailurePolicy",
    "JobPodReplacementPolicy",
    "JobSuccessPolicy",
    "KubeProxyDrainingTerminatingNodes",
    "LegacySidecarContainers",
    "LoadBalancerIPMode",
    "LogarithmicScaleDown",
    "MemoryManager",
    "NodeOutOfServiceVolumeDetach",
    "OrderedNamespaceDeletion",
    "PDBUnhealthyPodEvictionPolicy",
    "PersistentVolumeLastPhaseTransitionTime",
    "PodDisruptionConditions",
    "PodHostIPs",
    "PodIndexLabel",
    "PodLifecycleSleepAction",
    "PodLifecycleSleepActionAllowZero",
    "ProbeHostPodSecurityStandards",
    "RelaxedDNSSearchValidation",
    "RemainingItemCount",
    "ResilientWatchCacheInitialization",
    "RetryGenerateName",
    "SchedulerQueueingHints",
    "ServiceTrafficDistribution",
    "SidecarContainers",
    "SizeMemoryBackedVolumes",
    "StableLoadBalancerNodeSet",
    "StatefulSetAutoDeletePVC",
    "StatefulSetStartOrdinal",
    "StreamingCollectionEncodingToJSON",
    "StreamingCollectionEncodingToProtobuf",
    "StrictCostEnforcementForVAP",
    "StrictCostEnforcementForWebhooks",
    "StructuredAuthenticationConfiguration",
    "StructuredAuthorizationConfiguration",
    "TopologyAwareHints",
    "UserNamespacesPodSecurityStandards",
    "ValidatingAdmissionPolicy",
    "VolumeCapacityPriority",
    "WatchBookmark",
    "WatchFromStorageWithoutResourceVersion",
    "ZeroLimitedNominalConcurrencyShares",
];

/// Gates that stand for many.
const GROUPS: [&str; 2] = ["AllAlpha", "AllBeta"];

/// Gates that only work together with another one.
///
/// Upstream: pkg/features/kube_features.go, `defaultKubernetesFeatureGateDependencies`
const DEPENDENCIES: [(Gate, Gate); 1] = [(Gate::StaleControllerConsistencyReplicaSet, Gate::AtomicFifo)];

/// The components whose flag makes a difference: others have the gate and do not ask for it.
pub(super) fn readers(gate: Gate) -> &'static [FlagTable] {
    use FlagTable::{ApiServer, ControllerManager, Scheduler};
    match gate {
        Gate::StaleControllerConsistencyReplicaSet | Gate::ControllerManagerReleaseLeaderElectionLockOnExit => {
            &[ControllerManager]
        }
        // The API server has informers too, which are not simulated.
        Gate::WatchListClient | Gate::InOrderInformers | Gate::AtomicFifo => &[ControllerManager, Scheduler],
        Gate::WatchList => &[ApiServer],
        Gate::SchedulerPopFromBackoffQ => &[Scheduler],
    }
}

/// The names of [`readers`].
pub(super) fn names_of_readers(gate: Gate) -> String {
    let names: Vec<&str> = readers(gate).iter().map(|table| table.component()).collect();
    names.join(" and ")
}

/// What a list of gates switches here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GateSettings {
    /// Gates with an effect, in the order in which they were given: the last one counts.
    pub gates: Vec<(Gate, bool)>,
    /// `AllAlpha`
    pub all_alpha: Option<bool>,
    /// `AllBeta`
    pub all_beta: Option<bool>,
}

/// What is to be said about one gate of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remark {
    /// It cannot be set: why, and a way out.
    Wrong(String, Option<String>),
    /// No version that is followed here knows it: why it cannot be set.
    Unknown(String, Option<String>),
    /// It is known and changes nothing here.
    WithoutEffect(String),
}

/// Reads `A=true,B=false`, or `kube:A=true`.
pub fn read(text: &str, version: KubernetesVersion) -> (GateSettings, Vec<Remark>) {
    let mut settings = GateSettings::default();
    let mut remarks = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let pair = pair.strip_prefix("kube:").unwrap_or(pair);
        let Some((name, value)) = pair.split_once('=') else {
            let help = Some(format!("write {pair}=true or {pair}=false"));
            remarks.push(Remark::Wrong(format!("the feature gate {pair} has no value"), help));
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        let Some(is_on) = truth(value) else {
            let message = format!("the feature gate {name} must be true or false, not `{value}`");
            let help = value.contains(' ').then(|| "gates are separated by commas".to_string());
            remarks.push(Remark::Wrong(message, help));
            continue;
        };
        remarks.extend(set(&mut settings, name, is_on, version));
    }
    (settings, remarks)
}

fn set(settings: &mut GateSettings, name: &str, is_on: bool, version: KubernetesVersion) -> Option<Remark> {
    let minor = version.minor();
    match name {
        "AllAlpha" => settings.all_alpha = Some(is_on),
        "AllBeta" => settings.all_beta = Some(is_on),
        _ => {
            let Some(gate) = Gate::ALL.into_iter().find(|gate| gate.as_str() == name) else {
                return Some(without_effect(name, is_on, version));
            };
            let Some(state) = gate.state_in(minor) else {
                return Some(too_early(name, gate.history()[0].since, version));
            };
            if state.is_locked && is_on != state.is_on {
                return Some(locked(name, is_on, state.is_on, version));
            }
            settings.gates.push((gate, is_on));
        }
    }
    None
}

fn without_effect(name: &str, is_on: bool, version: KubernetesVersion) -> Remark {
    let minor = version.minor();
    match WITHOUT_EFFECT.iter().find(|(known, _, _)| *known == name) {
        Some((_, since, _)) if *since > minor => too_early(name, *since, version),
        Some((_, _, Some((since, value)))) if *since <= minor && *value != is_on => {
            locked(name, is_on, *value, version)
        }
        None if !SETTLED.contains(&name) => {
            let help = suggest::did_you_mean(name, names());
            Remark::Unknown(format!("Kubernetes {} has no feature gate `{name}`", version.as_str()), help)
        }
        _ => no_effect(name),
    }
}

fn no_effect(name: &str) -> Remark {
    Remark::WithoutEffect(format!("the feature gate {name} has no effect in this version"))
}

fn too_early(name: &str, since: u8, version: KubernetesVersion) -> Remark {
    let message = format!("Kubernetes {} has no feature gate `{name}`: it came with 1.{since}", version.as_str());
    Remark::Wrong(message, Some("change `spec.kubernetesVersion`, or leave the gate out".to_string()))
}

fn locked(name: &str, is_on: bool, value: bool, version: KubernetesVersion) -> Remark {
    let message = format!("the feature gate {name} cannot be {is_on}: it is locked to {value} in {}", version.as_str());
    Remark::Wrong(message, Some("leave it out, or take an older `spec.kubernetesVersion`".to_string()))
}

/// Names of all gates that are known.
fn names() -> impl Iterator<Item = &'static str> + Clone {
    let with_effect = Gate::ALL.into_iter().map(Gate::as_str);
    with_effect.chain(WITHOUT_EFFECT.iter().map(|(name, _, _)| *name)).chain(GROUPS)
}

impl GateSettings {
    /// The gates of a component in a version.
    ///
    /// # Errors
    /// A gate is on that does not work without another one, which is off.
    pub fn resolve(&self, version: KubernetesVersion) -> Result<Gates, String> {
        let mut gates = Gates::default();
        for gate in Gate::ALL {
            let Some(state) = gate.state_in(version.minor()) else { continue };
            let of_group = match state.stage {
                Stage::Alpha => self.all_alpha,
                Stage::Beta => self.all_beta,
                Stage::Stable => None,
            };
            let given = self.gates.iter().rev().find(|(other, _)| *other == gate).map(|(_, is_on)| *is_on);
            gates = gates.with(gate, given.or(of_group).unwrap_or(state.is_on));
        }
        for (gate, needed) in DEPENDENCIES {
            if gates.is_on(gate) && !gates.is_on(needed) {
                return Err(format!("{} is on, but depends on {}, which is off", gate.as_str(), needed.as_str()));
            }
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarks(list: &str, version: KubernetesVersion) -> Vec<String> {
        let text = |remark: &Remark| match remark {
            Remark::Wrong(message, help) => format!("wrong: {message} ({})", help.clone().unwrap_or_default()),
            Remark::Unknown(message, help) => format!("unknown: {message} ({})", help.clone().unwrap_or_default()),
            Remark::WithoutEffect(message) => message.clone(),
        };
        read(list, version).1.iter().map(text).collect()
    }

    #[test]
    fn gates_are_known_by_version() {
        let v36 = KubernetesVersion::V1_36;
        assert!(remarks("StaleControllerConsistencyReplicaSet=false, SchedulerPopFromBackoffQ=1", v36).is_empty());
        assert_eq!(
            remarks("StaleControllerConsistencyReplicaSets=false", v36),
            ["unknown: Kubernetes 1.36 has no feature gate `StaleControllerConsistencyReplicaSets` (did you mean \
              `StaleControllerConsistencyReplicaSet`?)"]
        );
        let way_out = "leave it out, or take an older `spec.kubernetesVersion`";
        assert_eq!(
            remarks("InOrderInformers=false,GitRepoVolumeDriver=true,APIServerTracing=false", v36),
            [
                format!(
                    "wrong: the feature gate InOrderInformers cannot be false: it is locked to true in 1.36 ({way_out})"
                ),
                format!(
                    "wrong: the feature gate GitRepoVolumeDriver cannot be true: it is locked to false in 1.36 ({way_out})"
                ),
                format!(
                    "wrong: the feature gate APIServerTracing cannot be false: it is locked to true in 1.36 ({way_out})"
                ),
            ]
        );
        assert!(remarks("InOrderInformers=false", KubernetesVersion::V1_35).is_empty());
        assert_eq!(
            remarks("AtomicFIFO=true", KubernetesVersion::V1_35),
            [
                "wrong: Kubernetes 1.35 has no feature gate `AtomicFIFO`: it came with 1.36 (change `spec.kubernetesVersion`, or \
              leave the gate out)"
            ]
        );
        assert_eq!(
            remarks("kube:HPAScaleToZero=true,SidecarContainers=true", v36),
            [
                "the feature gate HPAScaleToZero has no effect in this version",
                "the feature gate SidecarContainers has no effect in this version"
            ]
        );
        assert_eq!(
            remarks("WatchList,WatchListClient=maybe", v36),
            [
                "wrong: the feature gate WatchList has no value (write WatchList=true or WatchList=false)",
                "wrong: the feature gate WatchListClient must be true or false, not `maybe` ()"
            ]
        );
    }

    #[test]
    fn gates_stand_as_given_or_as_their_version_has_them() {
        let gates = |text: &str, version| read(text, version).0.resolve(version);
        let on = |gates: Gates| Gate::ALL.into_iter().filter(|gate| gates.is_on(*gate)).collect::<Vec<_>>();
        for version in KubernetesVersion::ALL {
            assert_eq!(gates("", version), Ok(version.gates().controller_manager));
        }
        assert_eq!(on(gates("", KubernetesVersion::V1_32).unwrap()), [Gate::WatchList]);
        assert_eq!(
            on(gates("", KubernetesVersion::V1_35).unwrap()),
            [Gate::WatchListClient, Gate::WatchList, Gate::InOrderInformers, Gate::SchedulerPopFromBackoffQ]
        );
        let v36 = KubernetesVersion::V1_36;
        let alone = gates("AllBeta=false,WatchList=true", v36).unwrap();
        assert_eq!(on(alone), [Gate::WatchList, Gate::InOrderInformers]);
        assert!(gates("WatchList=false,WatchList=true", v36).unwrap().is_on(Gate::WatchList));
        assert!(gates("AllAlpha=true", v36).unwrap().is_on(Gate::ControllerManagerReleaseLeaderElectionLockOnExit));
        assert_eq!(
            gates("AtomicFIFO=false", v36),
            Err("StaleControllerConsistencyReplicaSet is on, but depends on AtomicFIFO, which is off".to_string())
        );
    }

    #[test]
    fn every_gate_stands_in_one_place() {
        let mut all: Vec<&str> = names().chain(SETTLED.iter().copied()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
