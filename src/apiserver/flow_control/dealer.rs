//! Shuffle sharding: which few queues of a level a flow may use.
//!
//! Upstream: k8s.io/apiserver pkg/util/shufflesharding/dealer.go, v1.36.

/// Most cards of a hand.
pub const MAX_HAND: usize = 16;

/// Deals `hand.len()` different cards of a deck of `deck` cards, a function of the flow's hash alone.
///
/// Card i is one of the cards that the i before it have left over: the hash is read as a number with digits of base
/// `deck`, `deck - 1`, `deck - 2` and so on.
pub fn deal(hash: u64, deck: u16, hand: &mut [u16]) {
    debug_assert!(hand.len() <= usize::from(deck) && hand.len() <= MAX_HAND, "a hand is part of its deck");
    let mut rest = hash;
    for index in 0..hand.len() {
        let left = u64::from(deck) - index as u64;
        let mut card = (rest % left) as u16;
        rest /= left;
        // `hand` so far holds positions among what was left at each turn; going back turn by turn makes it a card.
        let place = card;
        for earlier in (0..index).rev() {
            if card >= positions(hand, earlier) {
                card += 1;
            }
        }
        hand[index] = encode(place, card);
    }
    for card in hand {
        *card &= 0xff;
    }
}

/// Position and card of a turn in one number; decks have at most 256 cards.
fn encode(place: u16, card: u16) -> u16 {
    place << 8 | card
}

fn positions(hand: &[u16], index: usize) -> u16 {
    hand[index] >> 8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hand(hash: u64, deck: u16, size: usize) -> Vec<u16> {
        let mut hand = vec![0; size];
        deal(hash, deck, &mut hand);
        hand
    }

    #[test]
    fn digits_of_the_hash_choose_among_the_cards_left() {
        // 7 = 3 + 4 * (1 + 3 * 0): card 3 of 0123, then position 1 of 012, which is 1 (below 3, not moved).
        assert_eq!(hand(7, 4, 2), [3, 1]);
        // 0 = 0 + 4 * 0: card 0, then position 0 of 123, which is 1; then position 0 of 23.
        assert_eq!(hand(0, 4, 3), [0, 1, 2]);
        // 5 = 1 + 4 * 1: card 1, then position 1 of 023, which is 2.
        assert_eq!(hand(5, 4, 2), [1, 2]);
        // All of a deck: 23 = 3 + 4 * (2 + 3 * (1 + 2 * 0)): 3, then 2 of 012, then 1 of 01, then what is left.
        assert_eq!(hand(23, 4, 4), [3, 2, 1, 0]);
    }

    #[test]
    fn hands_of_all_hashes_meet_each_pair_equally_often() {
        // 5 * 4 = 20 ordered pairs; 20 hashes in a row meet each of them once.
        let mut seen = std::collections::BTreeSet::new();
        for hash in 0..20 {
            assert!(seen.insert(hand(hash, 5, 2)));
        }
    }

    proptest! {
        /// The naive twin: take the card at the position out of what is left.
        #[test]
        fn a_hand_is_dealt_card_by_card(hash: u64, deck in 1_u16..=128, size in 1_usize..=8) {
            let size = size.min(usize::from(deck));
            let mut left: Vec<u16> = (0..deck).collect();
            let mut rest = hash;
            let twin: Vec<u16> = (0..size).map(|_| {
                let place = (rest % left.len() as u64) as usize;
                rest /= left.len() as u64;
                left.remove(place)
            }).collect();
            prop_assert_eq!(hand(hash, deck, size), twin);
        }
    }
}
