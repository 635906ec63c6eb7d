//! Rules of security contexts, and of what the pod's operating system allows.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validatePodSpecSecurityContext, ValidateSecurityContext, validateHostUsers,
//! validateLinux, validateWindows), v1.36.

use serde_json::Value;

use super::super::{Errors, Field};
use super::metadata::SUBDOMAIN;
use super::volume_paths::check_descending;
use crate::rules::names;

const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const PROFILE_CHARACTERS_MAX: usize = 4095;
const SYSCTL_CHARACTERS_MAX: usize = 253;
const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;
const USER_CHARACTERS_MAX: usize = 104;
/// Sysctls that belong to a namespace of the kernel.
const IPC_SYSCTLS: [&str; 4] = ["kernel.shm", "kernel.msg", "fs.mqueue.", "kernel.sem"];

/// The security context of a pod spec, and the namespaces of the host that it uses.
pub(super) fn check(spec: &Field<'_>, errors: &mut Errors) {
    let context = spec.get("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        check_id(&context.get(name), errors);
    }
    context.get("supplementalGroups").items().for_each(|group| check_id(&group, errors));
    if spec.get("shareProcessNamespace").is_true() && spec.get("hostPID").is_true() {
        let share = Field {
            value: spec.get("shareProcessNamespace").value,
            path: format!("{}.shareProcessNamespace", context.path),
        };
        errors.invalid(&share, "ShareProcessNamespace and HostPID cannot both be enabled");
    }
    check_sysctls(spec, errors);
    for (name, words) in [
        ("fsGroupChangePolicy", ["Always", "OnRootMismatch"]),
        ("supplementalGroupsPolicy", ["Merge", "Strict"]),
        ("seLinuxChangePolicy", ["MountOption", "Recursive"]),
    ] {
        let policy = context.get(name);
        if policy.is_given() && !words.contains(&policy.text()) {
            errors.not_supported(&policy, &words);
        }
    }
    check_profiles(&context, errors);
    check_windows_options(&context.get("windowsOptions"), errors);
    check_host_process(spec, errors);
    if *spec.get("hostUsers").value == Value::Bool(false) {
        check_own_users(spec, errors);
    }
}

/// What a pod with users of its own cannot share with the host.
fn check_own_users(spec: &Field<'_>, errors: &mut Errors) {
    let detail = "when `hostUsers` is false";
    // The server's own spelling of two of them.
    for (name, path) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.get(name).is_true() {
            errors.forbidden(&Field { value: spec.get(name).value, path: format!("{}.{path}", spec.path) }, detail);
        }
    }
    for container in LISTS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>()) {
        if !container.get("volumeDevices").is_empty() {
            errors.forbidden(&container.get("volumeDevices"), detail);
        }
    }
}

/// The security context of a container; absent is fine.
pub(super) fn check_container(context: &Field<'_>, host_users: bool, errors: &mut Errors) {
    check_id(&context.get("runAsUser"), errors);
    check_id(&context.get("runAsGroup"), errors);
    let proc = context.get("procMount");
    if proc.is_given() && !["Default", "Unmasked"].contains(&proc.text()) {
        errors.not_supported(&proc, &["Default", "Unmasked"]);
    }
    if host_users && proc.text() == "Unmasked" {
        errors.invalid(&proc, "`hostUsers` must be false to use `Unmasked`");
    }
    if *context.get("allowPrivilegeEscalation").value == Value::Bool(false) {
        if context.get("privileged").is_true() {
            errors.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        if context.at(&["capabilities", "add"]).items().any(|capability| capability.text() == "CAP_SYS_ADMIN") {
            errors.invalid(
                context,
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
            );
        }
    }
    check_profiles(context, errors);
    check_windows_options(&context.get("windowsOptions"), errors);
}

/// The number of a user or group.
fn check_id(id: &Field<'_>, errors: &mut Errors) {
    if id.int().is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id)) {
        errors.invalid(id, "must be between 0 and 2147483647, inclusive");
    }
}

fn check_sysctls(spec: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for sysctl in spec.at(&["securityContext", "sysctls"]).items() {
        let name = sysctl.get("name");
        if name.text().is_empty() {
            errors.required(&name, "");
        } else if !is_sysctl(name.text()) {
            errors.invalid(&name, &format!("must be the name of a sysctl, at most {SYSCTL_CHARACTERS_MAX} characters"));
        } else if seen.contains(&name.text()) {
            errors.duplicate(&name);
        }
        seen.push(name.text());
        let dotted = name.text().replace('/', ".");
        if spec.get("hostNetwork").is_true() && dotted.starts_with("net.") {
            errors.invalid(&name, "may not be specified when 'hostNetwork' is true");
        }
        if spec.get("hostIPC").is_true() && IPC_SYSCTLS.iter().any(|front| dotted.starts_with(front)) {
            errors.invalid(&name, "may not be specified when 'hostIPC' is true");
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_outer = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        is_outer(part.bytes().next()) && is_outer(part.bytes().next_back()) && part.bytes().all(is_inner)
    };
    name.len() <= SYSCTL_CHARACTERS_MAX && name.split(['.', '/']).all(is_part)
}

/// Profiles of seccomp and AppArmor.
fn check_profiles(context: &Field<'_>, errors: &mut Errors) {
    for name in ["seccompProfile", "appArmorProfile"] {
        let profile = context.get(name);
        if !profile.is_given() {
            continue;
        }
        let (kind, file) = (profile.get("type"), profile.get("localhostProfile"));
        match kind.text() {
            "Localhost" if !file.is_given() => errors.required(&file, "must be set when type is Localhost"),
            "Localhost" if name == "seccompProfile" => check_descending(&file, errors),
            "Localhost" => {
                if file.text().trim() != file.text() {
                    errors.invalid(&file, "must not be padded with whitespace");
                } else if file.text().is_empty() {
                    errors.required(&file, "must be set when AppArmor type is Localhost");
                }
                if file.text().len() > PROFILE_CHARACTERS_MAX {
                    errors.too_long(&file, PROFILE_CHARACTERS_MAX);
                }
            }
            "RuntimeDefault" | "Unconfined" => {}
            "" => errors.required(&kind, "type is required"),
            _ => errors.not_supported(&kind, &["Localhost", "RuntimeDefault", "Unconfined"]),
        }
        if kind.text() != "Localhost" && file.is_given() {
            errors.invalid(&file, "can only be set when type is Localhost");
        }
    }
}

fn check_windows_options(options: &Field<'_>, errors: &mut Errors) {
    let (name, credential, user) =
        (options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec"), options.get("runAsUserName"));
    if name.is_given() && !names::is_dns_subdomain(name.text()) {
        errors.invalid(&name, SUBDOMAIN);
    }
    if credential.is_given() && !(1..=CREDENTIAL_BYTES_MAX).contains(&credential.text().len()) {
        errors.invalid(&credential, "must be neither empty nor longer than 64 KiB");
    }
    if !user.is_given() {
        return;
    }
    let text = user.text();
    let account = text.rsplit('\\').next().unwrap_or_default();
    let has_odd_sign = account.contains(|sign| "\"/:;|=,+*?<>@[]".contains(sign));
    let is_odd = text.chars().any(char::is_control) || text.matches('\\').count() > 1 || has_odd_sign;
    if is_odd || account.chars().all(|sign| matches!(sign, '.' | ' ')) || account.len() > USER_CHARACTERS_MAX {
        errors.invalid(&user, "must be a user's name with at most one domain and `\\` in front");
    }
}

/// Containers that are processes of a Windows host: all of a pod or none, and in the host's network.
fn check_host_process(spec: &Field<'_>, errors: &mut Errors) {
    let of_pod = spec.at(&["securityContext", "windowsOptions", "hostProcess"]);
    let (mut all, mut count) = (0, 0);
    for container in LISTS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>()) {
        let own = container.at(&["securityContext", "windowsOptions", "hostProcess"]);
        if own.is_given() && of_pod.is_given() && own.value != of_pod.value {
            errors.invalid(&own, "pod hostProcess value must be identical if both are specified");
        }
        all += 1;
        count += usize::from(own.is_true() || (!own.is_given() && of_pod.is_true()));
    }
    if count > 0 && count != all {
        errors.invalid(
            spec,
            "If pod contains any hostProcess containers then all containers must be HostProcess containers",
        );
    }
    if count > 0 && !spec.get("hostNetwork").is_true() {
        errors.invalid(&spec.get("hostNetwork"), "must be true if pod contains any hostProcess containers");
    }
}

/// What a Linux pod cannot have.
pub(super) fn check_linux(spec: &Field<'_>, errors: &mut Errors) {
    let own = std::iter::once(spec.clone());
    for owner in own.chain(LISTS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>())) {
        let options = owner.at(&["securityContext", "windowsOptions"]);
        if options.is_given() {
            errors.forbidden(&options, "windows options cannot be set for a linux pod");
        }
    }
}

/// What a Windows pod cannot have.
pub(super) fn check_windows(spec: &Field<'_>, errors: &mut Errors) {
    let detail = "cannot be set for a windows pod";
    for name in ["hostUsers", "shareProcessNamespace", "hostPID", "hostIPC"] {
        let field = spec.get(name);
        if field.is_true() || (field.is_given() && matches!(name, "hostUsers" | "shareProcessNamespace")) {
            errors.forbidden(&field, detail);
        }
    }
    let both = ["appArmorProfile", "seLinuxOptions", "seccompProfile", "runAsUser", "runAsGroup"];
    let of_pod = [
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ];
    let of_container =
        ["capabilities", "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"];
    let mut forbid = |owner: &Field<'_>, names: &[&str]| {
        for name in both.iter().chain(names) {
            let field = owner.get("securityContext").get(name);
            if field.is_given() {
                errors.forbidden(&field, detail);
            }
        }
    };
    forbid(spec, &of_pod);
    for container in LISTS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>()) {
        forbid(&container, &of_container);
    }
}
