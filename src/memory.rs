//! What searches came to, kept from one run to the next.

/// Keeps answers to questions. It may forget any of them, and whoever asks checks what it gets.
pub trait Memory: Sync {
    /// The answer that was kept for this very question.
    fn recall(&self, question: &str) -> Option<String>;
    /// Keeps an answer.
    fn keep(&self, question: &str, answer: &str);
    /// Says that a recalled answer made no sense.
    fn spoilt(&self, question: &str);
}
