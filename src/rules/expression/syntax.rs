//! What an expression consists of once it has been read.

/// A part of an expression and where it begins.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    /// Byte offset in the text.
    pub at: usize,
    pub kind: NodeKind,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum NodeKind {
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A variable, by its place in the list of names.
    Variable(usize),
    /// `#`: the element that a predicate looks at.
    Element,
    List(Vec<Node>),
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// Condition, value if it holds, value if not.
    Conditional(Box<[Node; 3]>),
    Call(Function, Vec<Node>),
    /// A function that looks at each element of a list: function, list, what is asked of `#`.
    Each(Function, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

impl Operator {
    /// The operator a sign or word stands for, and how strongly it binds.
    pub fn of(sign: &str) -> Option<(Operator, u8)> {
        Some(match sign {
            "||" | "or" => (Operator::Or, 10),
            "&&" | "and" => (Operator::And, 15),
            "==" => (Operator::Equal, 20),
            "!=" => (Operator::NotEqual, 20),
            "<" => (Operator::Less, 20),
            "<=" => (Operator::LessOrEqual, 20),
            ">" => (Operator::Greater, 20),
            ">=" => (Operator::GreaterOrEqual, 20),
            "+" => (Operator::Add, 30),
            "-" => (Operator::Subtract, 30),
            "*" => (Operator::Multiply, 60),
            "/" => (Operator::Divide, 60),
            "%" => (Operator::Remainder, 60),
            "**" | "^" => (Operator::Power, 100),
            _ => return None,
        })
    }

    pub fn sign(self) -> &'static str {
        match self {
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
            Operator::Power => "**",
        }
    }

    /// `<`, `<=`, `>` or `>=`: those that can be chained, as in `0 < a <= 5`.
    pub fn is_order(self) -> bool {
        matches!(self, Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual)
    }
}

/// How strongly `!` and `not` bind: less than `*`, more than `+`.
pub(super) const NOT_BINDS: u8 = 50;
/// How strongly a sign binds: `-a ** 2` is `-(a ** 2)`, `-a * b` is `(-a) * b`.
pub(super) const SIGN_BINDS: u8 = 90;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Function {
    Min,
    Max,
    Mean,
    Median,
    Sum,
    Count,
    Len,
    Any,
    All,
    None,
    One,
    Map,
    Filter,
    Abs,
    Ceil,
    Floor,
    Round,
    Int,
    Float,
    Sin,
    Cos,
    Exp,
    Ln,
    Sqrt,
}

/// Functions of expr-lang.
pub(super) const FORMULA_FUNCTIONS: &[(&str, Function)] = &[
    ("min", Function::Min),
    ("max", Function::Max),
    ("mean", Function::Mean),
    ("median", Function::Median),
    ("sum", Function::Sum),
    ("count", Function::Count),
    ("len", Function::Len),
    ("any", Function::Any),
    ("all", Function::All),
    ("none", Function::None),
    ("one", Function::One),
    ("map", Function::Map),
    ("filter", Function::Filter),
    ("abs", Function::Abs),
    ("ceil", Function::Ceil),
    ("floor", Function::Floor),
    ("round", Function::Round),
    ("int", Function::Int),
    ("float", Function::Float),
];

/// Functions that curves have besides.
pub(super) const CURVE_FUNCTIONS: &[(&str, Function)] = &[
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("exp", Function::Exp),
    ("ln", Function::Ln),
    ("sqrt", Function::Sqrt),
];

/// Numbers with a name that curves have besides.
pub(super) const CURVE_CONSTANTS: &[(&str, f64)] = &[("pi", std::f64::consts::PI)];

impl Function {
    pub fn name(self) -> &'static str {
        let all = FORMULA_FUNCTIONS.iter().chain(CURVE_FUNCTIONS);
        all.clone().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }

    /// Whether a predicate follows the list: `Some(true)` if it must, `Some(false)` if it may.
    pub fn takes_predicate(self) -> Option<bool> {
        match self {
            Function::Any | Function::All | Function::None | Function::One | Function::Map | Function::Filter => {
                Some(true)
            }
            Function::Count | Function::Sum => Some(false),
            _ => None,
        }
    }

    /// Whether it takes any number of numbers, or lists of them.
    pub fn is_variadic(self) -> bool {
        matches!(self, Function::Min | Function::Max | Function::Mean | Function::Median)
    }
}
