//! The same work on many documents, on all cores. What comes out is in the order of the documents, whoever was first.

use rayon::prelude::*;

/// Fewer items are not worth a thread.
const WORTH_THREADS: usize = 64;
/// Documents may be nested as deeply on these threads as on the program's own.
const STACK_BYTES: usize = 8 << 20;

/// What a function makes of each item, in the order of the items.
pub(super) fn map<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() < WORTH_THREADS {
        return items.iter().map(function).collect();
    }
    match rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build() {
        Ok(pool) => pool.install(|| items.par_iter().map(&function).collect()),
        // A system without threads to spare.
        Err(_) => items.iter().map(function).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_items() {
        for count in [0, WORTH_THREADS - 1, WORTH_THREADS, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let squares: Vec<usize> = items.iter().map(|item| item * item).collect();
            assert_eq!(map(&items, |item| item * item), squares);
        }
    }
}
