//! `client` of a component or an operator: what its API clients do that no flag says.

use super::diagnostic::Code;
use super::entry::{Entry, Fields};
use crate::model::Span;

/// Reads `client` of a component, whose rate limit is set by flags. Gives the time-out of its requests.
pub fn of_component(fields: &mut Fields<'_>) -> Option<Span> {
    let entry = fields.get("client")?;
    let mut client = entry.fields()?;
    let timeout = timeout(&mut client);
    for (name, flag) in [("qps", "--kube-api-qps"), ("burst", "--kube-api-burst")] {
        // Asked for only where it is given: the format does not have it.
        let given = entry.value.get(name).is_some().then(|| client.get(name)).flatten();
        if let Some(given) = given {
            let help = format!("add {flag}={} to `flags`", number(&given));
            given.problem(Code::UnknownField, format!("`{name}` of this client is a flag"), Some(help));
        }
    }
    client.finish();
    timeout
}

/// Reads `timeout`: the longest that a request may take with all its attempts; `None` without limit, as with `0s`.
///
/// Upstream: k8s.io/client-go rest/config.go (`Config.Timeout`), v1.36: zero means no time-out.
pub fn timeout(client: &mut Fields<'_>) -> Option<Span> {
    client.get("timeout").and_then(|entry| entry.duration()).filter(|timeout| *timeout > Span::ZERO)
}

fn number(entry: &Entry<'_>) -> String {
    entry.value.as_f64().map_or_else(|| "NUMBER".to_string(), |number| number.to_string())
}
