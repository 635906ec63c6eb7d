//! Splits the text of an expression into words.

use super::ExpressionError;

/// One word of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A whole number.
    Int(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// A name, a function or a word that stands for an operator (`and`, `or`, `not`).
    Name(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// Longer signs first, so that `**` is not read as two stars.
const SIGNS: &[&str] = &[
    "**", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "^", "<", ">", "!", "?", ":", "(", ")", "[",
    "]", "{", "}", ",", "#",
];

/// The words of a text with the byte offset of each; the last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ExpressionError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            let length = number_length(rest);
            found.push((at, number(&rest[..length], at)?));
            at += length;
        } else if is_name_start(first) {
            let length = rest.find(|c: char| !is_name_start(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
            found.push((at, Token::Name(rest[..length].to_string())));
            at += length;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push((at, Token::Sign(sign)));
            at += sign.len();
        } else {
            return Err(ExpressionError::new(at, format!("`{first}` has no meaning here")));
        }
    }
    found.push((text.len(), Token::End));
    Ok(found)
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

/// Bytes that belong to a number: digits, underscores between them, a point, an exponent with its sign.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let after_exponent = length > 0 && matches!(bytes[length - 1], b'e' | b'E');
        match byte {
            b'0'..=b'9' | b'_' | b'.' | b'e' | b'E' => length += 1,
            b'+' | b'-' if after_exponent => length += 1,
            _ => break,
        }
    }
    length
}

fn number(text: &str, at: usize) -> Result<Token, ExpressionError> {
    let digits = text.replace('_', "");
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let token = match is_whole {
        true => digits.parse().ok().map(Token::Int),
        false => digits.parse().ok().map(Token::Float),
    };
    token.ok_or_else(|| ExpressionError::new(at, format!("`{text}` is not a number")))
}
