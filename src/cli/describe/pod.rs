//! Pods and templates of pods.

use serde_json::Value;

use super::controlled_by;
use super::sheet::{Sheet, list, text, text_or};
use crate::cli::inspect::Instant;
use crate::cli::inspect::age::{date, since};

/// A pod.
pub fn describe(pod: &Value, instant: &Instant, sheet: &mut Sheet) {
    let (metadata, spec, status) = (&pod["metadata"], &pod["spec"], &pod["status"]);
    sheet.line(0, format!("Name:\t{}", text(&metadata["name"])));
    sheet.line(0, format!("Namespace:\t{}", text(&metadata["namespace"])));
    if let Some(priority) = spec["priority"].as_i64() {
        sheet.line(0, format!("Priority:\t{priority}"));
    }
    optional("Priority Class Name", &spec["priorityClassName"], sheet);
    optional("Runtime Class Name", &spec["runtimeClassName"], sheet);
    optional("Service Account", &spec["serviceAccountName"], sheet);
    match text(&spec["nodeName"]) {
        "" => sheet.line(0, "Node:\t<none>".to_string()),
        node => sheet.line(0, format!("Node:\t{node}/{}", text(&status["hostIP"]))),
    }
    if status["startTime"].is_string() {
        sheet.line(0, format!("Start Time:\t{}", date(&status["startTime"])));
    }
    sheet.pairs("Labels", &metadata["labels"]);
    sheet.annotations("Annotations", &metadata["annotations"]);
    let phase = text(&status["phase"]);
    if metadata["deletionTimestamp"].is_string() && !matches!(phase, "Failed" | "Succeeded") {
        let lasts = since(&metadata["deletionTimestamp"], instant.now());
        sheet.line(0, format!("Status:\tTerminating (lasts {lasts})"));
        let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        sheet.line(0, format!("Termination Grace Period:\t{grace}s"));
    } else {
        sheet.line(0, format!("Status:\t{phase}"));
    }
    optional("Reason", &status["reason"], sheet);
    optional("Message", &status["message"], sheet);
    let ip = text(&status["podIP"]);
    sheet.line(0, format!("IP:\t{ip}"));
    match ip {
        "" => sheet.line(0, "IPs:\t<none>".to_string()),
        ip => {
            sheet.line(0, "IPs:".to_string());
            sheet.line(1, format!("IP:\t{ip}"));
        }
    }
    controlled_by(pod, sheet);
    optional("NominatedNodeName", &status["nominatedNodeName"], sheet);
    if !list(&spec["initContainers"]).is_empty() {
        containers(
            "Init Containers",
            &spec["initContainers"],
            Some((&status["initContainerStatuses"], pod)),
            "",
            sheet,
        );
    }
    containers("Containers", &spec["containers"], Some((&status["containerStatuses"], pod)), "", sheet);
    readiness_gates(spec, status, sheet);
    let conditions = list(&status["conditions"]);
    if !conditions.is_empty() {
        sheet.line(0, "Conditions:".to_string());
        sheet.line(1, "Type\tStatus".to_string());
        for condition in conditions {
            sheet.line(1, format!("{} \t{} ", text(&condition["type"]), text(&condition["status"])));
        }
    }
    volumes(&spec["volumes"], "", sheet);
    sheet.line(0, format!("QoS Class:\t{}", text(&status["qosClass"])));
    sheet.pairs("Node-Selectors", &spec["nodeSelector"]);
    tolerations("Tolerations", &spec["tolerations"], sheet);
    spread_constraints(spec, "", sheet);
}

/// A pod template of a workload.
pub fn template(template: &Value, sheet: &mut Sheet) {
    let (metadata, spec) = (&template["metadata"], &template["spec"]);
    sheet.line(0, "Pod Template:".to_string());
    sheet.pairs("  Labels", &metadata["labels"]);
    if metadata["annotations"].as_object().is_some_and(|annotations| !annotations.is_empty()) {
        sheet.annotations("  Annotations", &metadata["annotations"]);
    }
    optional("  Service Account", &spec["serviceAccountName"], sheet);
    if !list(&spec["initContainers"]).is_empty() {
        containers("Init Containers", &spec["initContainers"], None, "  ", sheet);
    }
    containers("Containers", &spec["containers"], None, "  ", sheet);
    volumes(&spec["volumes"], "  ", sheet);
    spread_constraints(spec, "  ", sheet);
    optional("  Priority Class Name", &spec["priorityClassName"], sheet);
    sheet.pairs("  Node-Selectors", &spec["nodeSelector"]);
    tolerations("  Tolerations", &spec["tolerations"], sheet);
}

fn optional(title: &str, value: &Value, sheet: &mut Sheet) {
    if !text(value).is_empty() {
        sheet.line(0, format!("{title}:\t{}", text(value)));
    }
}

/// Containers; those of a pod with their statuses and the pod itself.
fn containers(label: &str, specs: &Value, of_pod: Option<(&Value, &Value)>, space: &str, sheet: &mut Sheet) {
    sheet.line(0, format!("{space}{label}:"));
    let indent = if space.is_empty() { "" } else { " " };
    for container in list(specs) {
        sheet.line(1, format!("{indent}{}:", text(&container["name"])));
        let statuses = of_pod.map(|(statuses, _)| list(statuses)).unwrap_or_default();
        let status = statuses.iter().find(|status| status["name"] == container["name"]);
        if let Some(status) = status {
            sheet.line(2, format!("Container ID:\t{}", text(&status["containerID"])));
        }
        sheet.line(2, format!("Image:\t{}", text(&container["image"])));
        if let Some(status) = status {
            sheet.line(2, format!("Image ID:\t{}", text(&status["imageID"])));
        }
        ports("Port", "containerPort", container, sheet);
        ports("Host Port", "hostPort", container, sheet);
        for (label, field) in [("Command", "command"), ("Args", "args")] {
            let words = list(&container[field]);
            if !words.is_empty() {
                sheet.line(2, format!("{label}:"));
            }
            words.iter().flat_map(|word| text(word).split('\n')).for_each(|line| sheet.line(3, line.to_string()));
        }
        if let Some(status) = status {
            state("State", &status["state"], sheet);
            if status["lastState"]["terminated"].is_object() {
                state("Last State", &status["lastState"], sheet);
            }
            let ready = if status["ready"] == true { "True" } else { "False" };
            sheet.line(2, format!("Ready:\t{ready}"));
            sheet.line(2, format!("Restart Count:\t{}", status["restartCount"].as_i64().unwrap_or(0)));
        }
        for (label, field) in [("Limits", "limits"), ("Requests", "requests")] {
            let mut amounts: Vec<_> = container["resources"][field].as_object().into_iter().flatten().collect();
            amounts.sort_by_key(|(name, _)| name.as_str());
            if !amounts.is_empty() {
                sheet.line(2, format!("{label}:"));
            }
            for (name, amount) in amounts {
                let amount = amount.as_str().map_or_else(|| amount.to_string(), str::to_string);
                sheet.line(3, format!("{name}:\t{amount}"));
            }
        }
        for (label, field) in
            [("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")]
        {
            if container[field].is_object() {
                sheet.line(2, format!("{label}:\t{}", probe(&container[field])));
            }
        }
        environment(&container["env"], of_pod.map(|(_, pod)| pod), sheet);
        mounts(&container["volumeMounts"], sheet);
    }
}

fn ports(label: &str, field: &str, container: &Value, sheet: &mut Sheet) {
    let port = |port: &Value| {
        let (number, protocol) = (port[field].as_i64().unwrap_or(0), text_or(&port["protocol"], "TCP"));
        match text(&port["name"]) {
            "" => format!("{number}/{protocol}"),
            name => format!("{number}/{protocol} ({name})"),
        }
    };
    let ports: Vec<String> = list(&container["ports"]).iter().map(port).collect();
    let several = if ports.len() > 1 { "s" } else { "" };
    let shown = if ports.is_empty() { "<none>".to_string() } else { ports.join(", ") };
    sheet.line(2, format!("{label}{several}:\t{shown}"));
}

fn state(label: &str, state: &Value, sheet: &mut Sheet) {
    let (running, terminated) = (&state["running"], &state["terminated"]);
    if running.is_object() {
        sheet.line(2, format!("{label}:\tRunning"));
        sheet.line(3, format!("Started:\t{}", date(&running["startedAt"])));
    } else if terminated.is_object() {
        sheet.line(2, format!("{label}:\tTerminated"));
        for (name, field) in [("Reason", "reason"), ("Message", "message")] {
            if !text(&terminated[field]).is_empty() {
                sheet.line(3, format!("{name}:\t{}", text(&terminated[field])));
            }
        }
        sheet.line(3, format!("Exit Code:\t{}", terminated["exitCode"].as_i64().unwrap_or(0)));
        sheet.line(3, format!("Started:\t{}", date(&terminated["startedAt"])));
        sheet.line(3, format!("Finished:\t{}", date(&terminated["finishedAt"])));
    } else {
        sheet.line(2, format!("{label}:\tWaiting"));
        let reason = text(&state["waiting"]["reason"]);
        if !reason.is_empty() {
            sheet.line(3, format!("Reason:\t{reason}"));
        }
    }
}

fn probe(probe: &Value) -> String {
    let number = |field: &str, usual: i64| probe[field].as_i64().unwrap_or(usual);
    let attributes = format!(
        "delay={}s timeout={}s period={}s #success={} #failure={}",
        number("initialDelaySeconds", 0),
        number("timeoutSeconds", 1),
        number("periodSeconds", 10),
        number("successThreshold", 1),
        number("failureThreshold", 3),
    );
    let port = |of: &Value| of["port"].as_str().map_or_else(|| of["port"].to_string(), str::to_string);
    let (exec, http, tcp, grpc) = (&probe["exec"], &probe["httpGet"], &probe["tcpSocket"], &probe["grpc"]);
    if exec.is_object() {
        let words: Vec<&str> = list(&exec["command"]).iter().map(text).collect();
        return format!("exec [{}] {attributes}", words.join(" "));
    }
    if http.is_object() {
        let scheme = text_or(&http["scheme"], "HTTP").to_lowercase();
        let path = text(&http["path"]);
        let slash = if path.starts_with('/') || path.is_empty() { "" } else { "/" };
        return format!("http-get {scheme}://{}:{}{slash}{path} {attributes}", text(&http["host"]), port(http));
    }
    if tcp.is_object() {
        return format!("tcp-socket {}:{} {attributes}", text(&tcp["host"]), port(tcp));
    }
    if grpc.is_object() {
        return format!("grpc <pod>:{} {} {attributes}", port(grpc), text(&grpc["service"]));
    }
    format!("unknown {attributes}")
}

fn environment(variables: &Value, pod: Option<&Value>, sheet: &mut Sheet) {
    let variables = list(variables);
    let none = if variables.is_empty() { "\t<none>" } else { "" };
    sheet.line(2, format!("Environment:{none}"));
    for variable in variables {
        let (name, from) = (text(&variable["name"]), &variable["valueFrom"]);
        let (field, secret, map) = (&from["fieldRef"], &from["secretKeyRef"], &from["configMapKeyRef"]);
        let optional = |of: &Value| of["optional"] == true;
        let shown = if field.is_object() {
            let path = text(&field["fieldPath"]);
            let value = pod.map(|pod| path.split('.').fold(pod, |value, step| &value[step]));
            let version = text_or(&field["apiVersion"], "v1");
            format!("{} ({version}:{path})", value.map_or("", text))
        } else if secret.is_object() {
            let (key, name) = (text(&secret["key"]), text(&secret["name"]));
            format!("<set to the key '{key}' in secret '{name}'>\tOptional: {}", optional(secret))
        } else if map.is_object() {
            let (key, name) = (text(&map["key"]), text(&map["name"]));
            format!("<set to the key '{key}' of config map '{name}'>\tOptional: {}", optional(map))
        } else {
            text(&variable["value"]).replace('\n', "\n      \t")
        };
        sheet.line(3, format!("{name}:\t{shown}"));
    }
}

fn mounts(mounts: &Value, sheet: &mut Sheet) {
    let mut mounts: Vec<&Value> = list(mounts).iter().collect();
    mounts.sort_by_key(|mount| text(&mount["mountPath"]));
    let none = if mounts.is_empty() { "\t<none>" } else { "" };
    sheet.line(2, format!("Mounts:{none}"));
    for mount in mounts {
        let mut flags = if mount["readOnly"] == true { "ro" } else { "rw" }.to_string();
        if !text(&mount["subPath"]).is_empty() {
            flags.push_str(&format!(",path=\"{}\"", text(&mount["subPath"])));
        }
        sheet.line(3, format!("{} from {} ({flags})", text(&mount["mountPath"]), text(&mount["name"])));
    }
}

fn readiness_gates(spec: &Value, status: &Value, sheet: &mut Sheet) {
    let gates = list(&spec["readinessGates"]);
    if gates.is_empty() {
        return;
    }
    sheet.line(0, "Readiness Gates:".to_string());
    sheet.line(1, "Type\tStatus".to_string());
    for gate in gates {
        let condition = list(&status["conditions"]).iter().find(|found| found["type"] == gate["conditionType"]);
        let shown = condition.map_or("<none>", |condition| text(&condition["status"]));
        sheet.line(1, format!("{} \t{shown} ", text(&gate["conditionType"])));
    }
}

/// A kind of volume: its field, its title, and what is shown of it.
type VolumeKind = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

const VOLUMES: [VolumeKind; 5] = [
    (
        "emptyDir",
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        &[("Medium", "medium", ""), ("SizeLimit", "sizeLimit", "<unset>")],
    ),
    (
        "configMap",
        "ConfigMap (a volume populated by a ConfigMap)",
        &[("Name", "name", ""), ("Optional", "optional", "false")],
    ),
    (
        "secret",
        "Secret (a volume populated by a Secret)",
        &[("SecretName", "secretName", ""), ("Optional", "optional", "false")],
    ),
    ("hostPath", "HostPath (bare host directory volume)", &[("Path", "path", ""), ("HostPathType", "type", "")]),
    (
        "persistentVolumeClaim",
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        &[("ClaimName", "claimName", ""), ("ReadOnly", "readOnly", "false")],
    ),
];

fn volumes(volumes: &Value, space: &str, sheet: &mut Sheet) {
    let volumes = list(volumes);
    if volumes.is_empty() {
        return sheet.line(0, format!("{space}Volumes:\t<none>"));
    }
    sheet.line(0, format!("{space}Volumes:"));
    let indent = if space.is_empty() { "" } else { " " };
    for volume in volumes {
        sheet.line(1, format!("{indent}{}:", text(&volume["name"])));
        let Some((field, title, shown)) = VOLUMES.iter().find(|(field, _, _)| volume[*field].is_object()) else {
            sheet.line(1, "<unknown>".to_string());
            continue;
        };
        sheet.line(2, format!("Type:\t{title}"));
        for (label, name, usual) in *shown {
            let value = &volume[*field][*name];
            let value = match value {
                Value::Null => (*usual).to_string(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            sheet.line(2, format!("{label}:\t{value}"));
        }
    }
}

fn tolerations(title: &str, tolerations: &Value, sheet: &mut Sheet) {
    let mut sorted: Vec<&Value> = list(tolerations).iter().collect();
    sorted.sort_by_key(|toleration| text(&toleration["key"]));
    let shown = sorted.into_iter().map(|toleration| {
        let [key, value, effect] = ["key", "value", "effect"].map(|field| text(&toleration[field]));
        let mut line = key.to_string();
        if !value.is_empty() {
            line.push_str(&format!("={value}"));
        }
        if !effect.is_empty() {
            line.push_str(&format!(":{effect}"));
        }
        if toleration["operator"] == "Exists" && value.is_empty() {
            line.push_str(if line.is_empty() { "op=Exists" } else { " op=Exists" });
        }
        if let Some(seconds) = toleration["tolerationSeconds"].as_i64() {
            line.push_str(&format!(" for {seconds}s"));
        }
        line
    });
    sheet.several(title, shown.collect());
}

fn spread_constraints(spec: &Value, space: &str, sheet: &mut Sheet) {
    let constraints = list(&spec["topologySpreadConstraints"]);
    let mut sorted: Vec<&Value> = constraints.iter().collect();
    sorted.sort_by_key(|constraint| text(&constraint["topologyKey"]));
    let shown: Vec<String> = sorted
        .into_iter()
        .map(|constraint| {
            let [key, otherwise] = ["topologyKey", "whenUnsatisfiable"].map(|field| text(&constraint[field]));
            let skew = constraint["maxSkew"].as_i64().unwrap_or(1);
            let selector = crate::cli::columns::selector(&constraint["labelSelector"]);
            format!("{key}:{otherwise} when max skew {skew} is exceeded for selector {selector}")
        })
        .collect();
    if !shown.is_empty() {
        sheet.several(&format!("{space}Topology Spread Constraints"), shown);
    }
}
