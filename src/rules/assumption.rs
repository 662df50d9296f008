//! What a rule assumes, about the very tensors that it was applied to.

use super::expr::{Arithmetic, Comparison, Expr, Scope, TensorRef};
use super::function::TensorFunction;
use super::rule::Rule;
use super::terms::Terms;
use super::vars::Bindings;
use crate::ir::{AttrValue, DType};

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Piece<Id> {
    Text(String),
    /// The name of this tensor.
    Tensor(Id),
    /// The name of this tensor, or of its cast to the type.
    Cast(Id, DType),
}

/// An assumption in words.
pub(crate) type Sentence<Id> = Vec<Piece<Id>>;

/// What assuming a function of a tensor says; other functions stand as the rule writes them. `{}` is the tensor, `{1}` the
/// first argument behind it.
const WORDS: [(&str, &str); 9] = [
    ("is_real", "every element of {} is a real number"),
    ("stays_real", "every element of {} is a real number"),
    ("is_above", "every element of {} is above {1}"),
    ("is_below", "every element of {} is below {1}"),
    ("in_range", "{} stays within the range of {1}"),
    ("keeps_a_finite_key", "the mask {} is above -inf somewhere in every row"),
    ("mask_keeps_a_key", "the mask {} is true somewhere in every row"),
    ("hides_as_infinity", "the mask {} hides by {1} as it would by -inf: scores stay within the range for that"),
    (
        "lowest_is_infinite",
        "the mask {} hides by its lowest number as it would by -inf: scores stay within the range for that",
    ),
];

impl Rule {
    /// Condition number `at` of an instance of this rule, in words; one sentence for every tensor if it is about a list.
    pub fn assumption<T: Terms>(&self, at: usize, terms: &T, bindings: &Bindings<T::Id>) -> Vec<Sentence<T::Id>> {
        let Some(condition) = self.conditions.get(at) else { return Vec::new() };
        let sentence = |element| {
            let mut said = Said { scope: Scope { terms, bindings, element }, pieces: Vec::new() };
            said.expr(&condition.expr);
            said.pieces
        };
        elements(&condition.expr, bindings).into_iter().map(sentence).collect()
    }

    /// What condition number `at` assumes of tensors, as far as it says between which numbers all of their elements lie: each tensor
    /// with the two numbers, neither of which its elements are.
    pub(crate) fn assumed_limits<T: Terms>(
        &self,
        at: usize,
        terms: &T,
        bindings: &Bindings<T::Id>,
    ) -> Vec<(T::Id, f64, f64)> {
        let Some(condition) = self.conditions.get(at) else { return Vec::new() };
        let mut all = Vec::new();
        for element in elements(&condition.expr, bindings) {
            limits(&condition.expr, &Scope { terms, bindings, element }, &mut all);
        }
        all
    }
}

/// The places in a list of which an expression speaks, or no place at all if it is about single tensors.
fn elements<Id>(expr: &Expr, bindings: &Bindings<Id>) -> Vec<Option<usize>> {
    let mut list = None;
    expr.walk(&mut |e| {
        if let Expr::Tensor(_, TensorRef::Element(l), _) = e {
            list = Some(*l);
        }
    });
    let count = list.map(|l| bindings.lists.get(l).and_then(Option::as_ref).map_or(0, Vec::len));
    count.map_or(vec![None], |n| (0..n).map(Some).collect())
}

/// Adds the limits that hold where `expr` does.
fn limits<T: Terms>(expr: &Expr, scope: &Scope<'_, T>, all: &mut Vec<(T::Id, f64, f64)>) {
    match expr {
        Expr::And(a, b) => {
            limits(a, scope, all);
            limits(b, scope, all);
        }
        Expr::Tensor(function, tensor, rest) => {
            let argument = rest.first().and_then(|e| e.eval(scope).ok());
            let limit = limit(*function, argument.as_ref());
            all.extend(limit.and_then(|(low, high)| Some((scope.tensor(*tensor)?, low, high))));
        }
        _ => {}
    }
}

/// The numbers between which a function says that the elements of its tensor lie, neither of them included.
fn limit(function: TensorFunction, argument: Option<&AttrValue>) -> Option<(f64, f64)> {
    let number = || argument?.as_float();
    match (function.name, argument) {
        ("is_real" | "stays_real", _) => Some((f64::NEG_INFINITY, f64::INFINITY)),
        ("is_above", _) => Some((number()?, f64::INFINITY)),
        ("is_below", _) => Some((f64::NEG_INFINITY, number()?)),
        ("in_range", Some(AttrValue::DType(to))) if !to.is_float() => {
            let low = if to.contains(-1.0) { -to.magnitude() } else { 0.0 };
            Some((low - 1.0, to.magnitude() + 1.0))
        }
        _ => None,
    }
}

struct Said<'a, T: Terms> {
    scope: Scope<'a, T>,
    pieces: Sentence<T::Id>,
}

impl<T: Terms> Said<'_, T> {
    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    fn tensor(&mut self, tensor: TensorRef) {
        match self.scope.tensor(tensor) {
            Some(id) => self.pieces.push(Piece::Tensor(id)),
            None => self.text("?"),
        }
    }

    /// The tensor that a function is about.
    fn subject(&mut self, function: TensorFunction, tensor: TensorRef, rest: &[Expr]) {
        let to = match rest {
            [to] if function.name == "in_range" => to.eval(&self.scope).ok(),
            _ => None,
        };
        match (to, self.scope.tensor(tensor)) {
            (Some(AttrValue::DType(to)), Some(id)) => self.pieces.push(Piece::Cast(id, to)),
            _ => self.tensor(tensor),
        }
    }

    fn list(&mut self, items: &[Expr], separator: &str) {
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                self.text(separator);
            }
            self.expr(item);
        }
    }

    /// What has a value stands as that value: nobody who reads a report knows the rule's names for it.
    fn expr(&mut self, expr: &Expr) {
        if let Ok(value) = expr.eval(&self.scope) {
            return self.text(&value.to_string());
        }
        match expr {
            Expr::Value(value) => self.text(&value.to_string()),
            Expr::Attr(_) | Expr::Count(_) => self.text("?"),
            Expr::Same(_, e) => {
                self.text("same(");
                self.expr(e);
                self.text(")");
            }
            Expr::Tensor(function, tensor, rest) => self.call(*function, *tensor, rest),
            Expr::Call(function, arguments) => {
                self.text(function.name);
                self.text("(");
                self.list(arguments, ", ");
                self.text(")");
            }
            Expr::List(items) => {
                self.text("[");
                self.list(items, ", ");
                self.text("]");
            }
            Expr::Index(list, index) => {
                self.expr(list);
                self.text("[");
                self.expr(index);
                self.text("]");
            }
            Expr::Slice(list, from, to) => {
                self.expr(list);
                self.text("[");
                from.iter().for_each(|e| self.expr(e));
                self.text(":");
                to.iter().for_each(|e| self.expr(e));
                self.text("]");
            }
            Expr::Neg(e) => {
                self.text("-");
                self.expr(e);
            }
            Expr::Not(e) => {
                self.text("not ");
                self.expr(e);
            }
            Expr::And(a, b) => self.between(a, " and ", b),
            Expr::Or(a, b) => self.between(a, " or ", b),
            Expr::Compare(how, a, b) => self.between(
                a,
                match how {
                    Comparison::Eq => " == ",
                    Comparison::Ne => " != ",
                    Comparison::Lt => " < ",
                    Comparison::Le => " <= ",
                    Comparison::Gt => " > ",
                    Comparison::Ge => " >= ",
                },
                b,
            ),
            Expr::Arithmetic(how, a, b) => self.between(
                a,
                match how {
                    Arithmetic::Add => " + ",
                    Arithmetic::Sub => " - ",
                    Arithmetic::Mul => " * ",
                    Arithmetic::Div => " / ",
                },
                b,
            ),
        }
    }

    fn between(&mut self, a: &Expr, word: &str, b: &Expr) {
        self.expr(a);
        self.text(word);
        self.expr(b);
    }

    fn call(&mut self, function: TensorFunction, tensor: TensorRef, rest: &[Expr]) {
        let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == function.name) else {
            self.text(function.name);
            self.text("(");
            self.tensor(tensor);
            for argument in rest {
                self.text(", ");
                self.expr(argument);
            }
            return self.text(")");
        };
        let mut words = *words;
        while let Some((before, after)) = words.split_once('{') {
            self.text(before);
            let Some((which, after)) = after.split_once('}') else { break };
            match which.parse::<usize>().ok().and_then(|n| rest.get(n.checked_sub(1)?)) {
                Some(argument) => self.expr(argument),
                None => self.subject(function, tensor, rest),
            }
            words = after;
        }
        self.text(words);
    }
}
