//! Words and flags of a command line, as shells and kubectl read them.

use super::parser::CommandError;
use crate::rules::suggest;

/// A flag that a command takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlagSpec {
    /// `--namespace`
    pub long: &'static str,
    /// `-n`, or empty.
    pub short: &'static str,
    /// Whether a value follows; otherwise it is a switch.
    pub takes_value: bool,
}

/// A flag with a value.
pub const fn with_value(long: &'static str, short: &'static str) -> FlagSpec {
    FlagSpec { long, short, takes_value: true }
}

/// A flag that is on or off.
pub const fn switch(long: &'static str) -> FlagSpec {
    FlagSpec { long, short: "", takes_value: false }
}

/// A command line after its verb, taken apart.
pub struct Arguments {
    /// What is not a flag, in order.
    pub words: Vec<String>,
    flags: Vec<(&'static str, String)>,
}

impl Arguments {
    /// Takes words apart by the flags that the command knows.
    ///
    /// # Errors
    /// An unknown flag, or one without its value.
    pub fn parse(verb: &str, words: Vec<String>, known: &[FlagSpec]) -> Result<Arguments, CommandError> {
        let mut arguments = Arguments { words: Vec::new(), flags: Vec::new() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                arguments.words.push(word);
                continue;
            }
            let (spec, attached) = find(verb, &word, known)?;
            let value = match (attached, spec.takes_value) {
                (Some(value), _) => value,
                (None, false) => "true".to_string(),
                (None, true) => {
                    words.next().ok_or_else(|| CommandError::new(format!("{} needs a value", spec.long)))?
                }
            };
            arguments.flags.push((spec.long, value));
        }
        Ok(arguments)
    }

    /// All values of a flag.
    pub fn values(&self, long: &str) -> impl Iterator<Item = &str> {
        self.flags.iter().filter(move |(name, _)| *name == long).map(|(_, value)| value.as_str())
    }

    /// The value of a flag; the last one counts.
    pub fn value(&self, long: &str) -> Option<&str> {
        self.values(long).last()
    }

    /// Whether a switch is on.
    ///
    /// # Errors
    /// Its value is neither true nor false.
    pub fn is_set(&self, long: &str) -> Result<bool, CommandError> {
        match self.value(long) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(CommandError::new(format!("{long} must be true or false, not `{other}`"))),
        }
    }

    /// The whole number given to a flag.
    ///
    /// # Errors
    /// Its value is no whole number.
    pub fn number(&self, long: &str) -> Result<Option<i64>, CommandError> {
        let parse = |text: &str| {
            let wrong = || CommandError::new(format!("{long} must be a whole number, not `{text}`"));
            text.parse().map_err(|_| wrong())
        };
        self.value(long).map(parse).transpose()
    }
}

/// The flag that a word names, and the value in the same word (`--flag=value`, `-nvalue`).
fn find(verb: &str, word: &str, known: &[FlagSpec]) -> Result<(FlagSpec, Option<String>), CommandError> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value.to_string())),
        _ => (word, None),
    };
    if let Some(spec) = known.iter().find(|spec| spec.long == name || spec.short == name) {
        return Ok((*spec, value));
    }
    if let Some((spec, rest)) = known.iter().find_map(|spec| {
        let rest = word
            .strip_prefix(spec.short)
            .filter(|_| spec.takes_value && !spec.short.is_empty() && !word.starts_with("--"))?;
        Some((spec, rest))
    }) {
        return Ok((*spec, Some(rest.strip_prefix('=').unwrap_or(rest).to_string())));
    }
    let error = CommandError::new(format!("unknown flag `{name}` of kubectl {verb}"));
    Err(CommandError { help: suggest::help(name, known.iter().map(|spec| spec.long)), ..error })
}

/// Splits a line into words as a shell does: blanks separate, quotes hold together, a backslash takes the next sign literally
/// (within double quotes only before `"` and `\`).
///
/// # Errors
/// A quote that is not closed, or a sign that would need a shell (`|`, `>`, `;`, `&`, `$(`).
pub fn split_words(line: &str) -> Result<Vec<String>, CommandError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some(open), sign) if sign == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(signs.next()),
            (Some('"'), '\\') if signs.peek().is_some_and(|next| matches!(next, '"' | '\\')) => {
                word.get_or_insert_default().extend(signs.next());
            }
            (None, sign) if sign.is_whitespace() => words.extend(word.take()),
            (None, '|' | '>' | '<' | ';' | '&' | '`') => {
                return Err(CommandError::new(format!("`{sign}` needs a shell, and there is none"))
                    .help("write one kubectl command an entry; quote signs that belong to it"));
            }
            (_, sign) => word.get_or_insert_default().push(sign),
        }
    }
    if quote.is_some() {
        return Err(CommandError::new("a quote is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_split_as_in_a_shell() {
        let split = |line: &str| split_words(line).unwrap_or_else(|error| vec![format!("error: {}", error.message)]);
        assert_eq!(split(r#"a  'b c' "d\"e" f\ g '' h"i"j"#), ["a", "b c", "d\"e", "f g", "", "hij"]);
        assert_eq!(split("a | b"), ["error: `|` needs a shell, and there is none"]);
        assert_eq!(split("\"a"), ["error: a quote is not closed"]);
        assert_eq!(split(r#""a\nb""#), ["a\\nb"]);
    }
}
