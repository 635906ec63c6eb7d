//! What may be a label key or a label value.
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
}
