//! What may be a name: of objects, labels, ports, variables, keys, headers.
//!
//! Upstream: apimachinery/pkg/util/validation/validation.go, v1.36.

/// Whether the text is a qualified name: an optional DNS subdomain and `/`, then up to 63 letters, digits, `-`, `_`, `.`.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

/// Whether the text may be the value of a label; empty is allowed.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether the text is a DNS-1123 subdomain of at most 253 characters.
pub fn is_dns_subdomain(text: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Whether the text is a DNS-1123 label: up to 63 lower case letters, digits and inner `-`.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && !text.contains('.') && is_dns_subdomain(text)
}

/// Whether the text may name a port: up to 15 lower case letters, digits and single inner `-`, one of them a letter.
pub fn is_port_name(text: &str) -> bool {
    text.len() <= 15 && is_dns_label(text) && !text.contains("--") && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether the text may name an environment variable: printable ASCII without `=`.
pub fn is_variable_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=')
}

/// Whether the text may be a key of a ConfigMap or Secret.
pub fn is_config_key(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.len() <= 253 && text.bytes().all(is_inner) && text != "." && !text.starts_with("..")
}

/// Whether the text may name a header of HTTP.
pub fn is_header_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether the text may be a search domain of a resolver: a subdomain in which `_` counts as a letter, with or without a
/// point at the end, or the point alone.
pub fn is_search_domain(text: &str) -> bool {
    text == "." || is_dns_subdomain(&text.strip_suffix('.').unwrap_or(text).replace('_', "a"))
}

fn is_name_part(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends_well = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(is_inner)
        && ends_well(text.bytes().next())
        && ends_well(text.bytes().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_qualified_name("app.kubernetes.io/name") && is_qualified_name("A_b.c"));
        assert!(!is_qualified_name("a/b/c") && !is_qualified_name("x/") && !is_qualified_name("/x"));
        assert!(!is_qualified_name("") && !is_qualified_name("-a") && !is_qualified_name(&"k".repeat(64)));
        assert!(is_label_value("") && !is_label_value("a b") && !is_label_value("a-"));
        assert!(is_dns_subdomain("a-b.c1") && !is_dns_subdomain("a..b") && !is_dns_subdomain("Ab"));
    }
    #[test]
    fn narrower_names() {
        assert!(is_dns_label("1a") && !is_dns_label("a.b") && !is_dns_label(&"a".repeat(64)) && !is_dns_label(""));
        assert!(is_port_name("http-2") && !is_port_name("80") && !is_port_name("a--b") && !is_port_name("a-"));
        // 16 characters are one too many.
        assert!(is_port_name(&"p".repeat(15)) && !is_port_name(&"p".repeat(16)));
        assert!(
            is_variable_name("1 a/b") && !is_variable_name("a=b") && !is_variable_name("ä") && !is_variable_name("")
        );
        assert!(is_config_key(".a_B-c") && !is_config_key("..a") && !is_config_key(".") && !is_config_key("a/b"));
        assert!(is_header_name("X-Y1") && !is_header_name("X Y") && !is_header_name(""));
        assert!(
            is_search_domain(".") && is_search_domain("_a.b.") && !is_search_domain("a..") && !is_search_domain("")
        );
    }
}
