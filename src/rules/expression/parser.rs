//! Words to an expression, by precedence climbing.

use super::lexer::{Token, tokens};
use super::syntax::{
    CURVE_CONSTANTS, CURVE_FUNCTIONS, FORMULA_FUNCTIONS, Function, NOT_BINDS, Node, NodeKind, Operator, SIGN_BINDS,
};
use super::{Dialect, ExpressionError};
use crate::rules::suggest;

/// Deeper nesting is refused, so that reading and evaluating need a bounded stack.
const DEEPEST: usize = 100;
/// Longer texts are refused, for the same reason: a long sum is a deep tree.
const LONGEST_TOKENS: usize = 1_000;

pub(super) fn parse(text: &str, variables: &[&str], dialect: Dialect) -> Result<Node, ExpressionError> {
    let tokens = tokens(text)?;
    if tokens.len() > LONGEST_TOKENS {
        return Err(ExpressionError::new(tokens[LONGEST_TOKENS].0, "the expression is too long".into()));
    }
    let mut parser = Parser { tokens, next: 0, variables, dialect, depth: 0, predicates: 0 };
    let node = parser.conditional()?;
    match parser.peek() {
        Token::End => Ok(node),
        _ => Err(parser.unexpected("an operator")),
    }
}

struct Parser<'a> {
    tokens: Vec<(usize, Token)>,
    next: usize,
    variables: &'a [&'a str],
    dialect: Dialect,
    depth: usize,
    /// In how many predicates we are; `#` means something inside only.
    predicates: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    /// The next word; the end stays where it is.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(next) if *next == sign);
        if found {
            self.take();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> ExpressionError {
        let found = match self.peek() {
            Token::Int(number) => format!("`{number}`"),
            Token::Float(number) => format!("`{number}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_string(),
        };
        ExpressionError::new(self.at(), format!("expected {wanted}, found {found}"))
    }

    fn conditional(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ExpressionError::new(self.at(), "the expression is nested too deeply".into()));
        }
        let at = self.at();
        let mut node = self.binary(0)?;
        if self.takes("?") {
            let if_true = self.conditional()?;
            self.expect(":")?;
            let if_false = self.conditional()?;
            node = Node { at, kind: NodeKind::Conditional(Box::new([node, if_true, if_false])) };
        }
        self.depth -= 1;
        Ok(node)
    }

    /// Operators that bind at least as strongly as `least`.
    fn binary(&mut self, least: u8) -> Result<Node, ExpressionError> {
        let mut left = self.unary()?;
        // The right side of the comparison just read, for chains: `a < b < c` asks both.
        let mut compared: Option<Node> = None;
        loop {
            let sign = match self.peek() {
                Token::Sign(sign) => *sign,
                Token::Name(name) if name == "and" => "and",
                Token::Name(name) if name == "or" => "or",
                _ => return Ok(left),
            };
            let Some((operator, binds)) = Operator::of(sign).filter(|(_, binds)| *binds >= least) else {
                return Ok(left);
            };
            let at = self.at();
            self.take();
            // Powers group from the right.
            let right = self.binary(if operator == Operator::Power { binds } else { binds + 1 })?;
            let pair =
                |operator, left, right| Node { at, kind: NodeKind::Binary(operator, Box::new(left), Box::new(right)) };
            let next = operator.is_order().then(|| right.clone());
            left = match compared.take().filter(|_| operator.is_order()) {
                Some(middle) => pair(Operator::And, left, pair(operator, middle, right)),
                None => pair(operator, left, right),
            };
            compared = next;
        }
    }

    fn unary(&mut self) -> Result<Node, ExpressionError> {
        let at = self.at();
        let is_not = self.takes("!")
            || (matches!(self.peek(), Token::Name(name) if name == "not") && {
                self.take();
                true
            });
        let is_minus = !is_not && self.takes("-");
        if !is_not && !is_minus && !self.takes("+") {
            return self.primary();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ExpressionError::new(at, "the expression is nested too deeply".into()));
        }
        let operand = self.binary(if is_not { NOT_BINDS } else { SIGN_BINDS })?;
        self.depth -= 1;
        Ok(match (is_not, is_minus) {
            (true, _) => Node { at, kind: NodeKind::Not(Box::new(operand)) },
            (false, true) => Node { at, kind: NodeKind::Negate(Box::new(operand)) },
            (false, false) => operand,
        })
    }

    fn primary(&mut self) -> Result<Node, ExpressionError> {
        let at = self.at();
        let wanted = self.unexpected("a number, a name or `(`");
        let kind = match self.take() {
            Token::Int(number) => NodeKind::Int(number),
            Token::Float(number) => NodeKind::Float(number),
            Token::Sign("(") => {
                let inner = self.conditional()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Sign("[") => NodeKind::List(self.list("]")?),
            Token::Sign("#") if self.predicates > 0 => NodeKind::Element,
            Token::Sign("#") => {
                return Err(ExpressionError::new(at, "`#` stands for an element, inside of `{ }` only".into()));
            }
            Token::Name(name) => return self.named(at, &name),
            _ => return Err(wanted),
        };
        Ok(Node { at, kind })
    }

    /// Expressions with commas between them up to a closing bracket; a comma may stand before it.
    fn list(&mut self, close: &str) -> Result<Vec<Node>, ExpressionError> {
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(self.conditional()?);
            if !self.takes(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn named(&mut self, at: usize, name: &str) -> Result<Node, ExpressionError> {
        if self.takes("(") {
            return self.call(at, name);
        }
        if let Some(index) = self.variables.iter().position(|variable| *variable == name) {
            return Ok(Node { at, kind: NodeKind::Variable(index) });
        }
        let constant = CURVE_CONSTANTS.iter().find(|(known, _)| *known == name && self.dialect == Dialect::Curve);
        let kind = match (name, constant) {
            (_, Some((_, value))) => NodeKind::Float(*value),
            ("true", _) => NodeKind::Bool(true),
            ("false", _) => NodeKind::Bool(false),
            _ => {
                let help = suggest::help(name, self.variables.iter().copied());
                return Err(ExpressionError { at, message: format!("unknown name `{name}`"), help });
            }
        };
        Ok(Node { at, kind })
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Node, ExpressionError> {
        let curve: &[_] = if self.dialect == Dialect::Curve { CURVE_FUNCTIONS } else { &[] };
        let known = FORMULA_FUNCTIONS.iter().chain(curve);
        let Some((_, function)) = known.clone().find(|(known, _)| *known == name) else {
            let help = suggest::help(name, known.map(|(known, _)| *known));
            return Err(ExpressionError { at, message: format!("unknown function `{name}`"), help });
        };
        let Some(must) = function.takes_predicate() else {
            let arguments = self.list(")")?;
            return self.checked_call(at, *function, arguments);
        };
        let list = self.conditional()?;
        let with_predicate = self.takes(",");
        if !with_predicate {
            self.expect(")")?;
            return match must {
                true => {
                    Err(ExpressionError::new(at, format!("`{name}` needs a predicate after the list: `{{# > 0}}`")))
                }
                false => Ok(Node { at, kind: NodeKind::Call(*function, vec![list]) }),
            };
        }
        let in_braces = self.takes("{");
        self.predicates += 1;
        let predicate = self.conditional()?;
        self.predicates -= 1;
        if in_braces {
            self.expect("}")?;
        }
        self.expect(")")?;
        Ok(Node { at, kind: NodeKind::Each(*function, Box::new(list), Box::new(predicate)) })
    }

    fn checked_call(&self, at: usize, function: Function, arguments: Vec<Node>) -> Result<Node, ExpressionError> {
        let fits = if function.is_variadic() { !arguments.is_empty() } else { arguments.len() == 1 };
        if !fits {
            let wanted = if function.is_variadic() { "at least one argument" } else { "one argument" };
            let message = format!("`{}` takes {wanted}, found {}", function.name(), arguments.len());
            return Err(ExpressionError::new(at, message));
        }
        Ok(Node { at, kind: NodeKind::Call(function, arguments) })
    }
}
