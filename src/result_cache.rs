//! What searches came to, kept from one run to the next.

/// Keeps answers to questions. It may forget any of them, and whoever asks checks what it gets.
pub trait ResultCache: Sync {
    /// The answer that was kept for this very question.
    fn get(&self, question: &str) -> Option<String>;
    /// Keeps an answer.
    fn put(&self, question: &str, answer: &str);
    /// Says that the answer to a question made no sense.
    fn invalid(&self, question: &str);
}
