//! Which ready pod a request goes to.

use crate::component::{Draws, Purpose};

/// Draws of the pod that a request goes to.
pub const ROUTE: Purpose = Purpose("request-route");

/// How requests are spread over ready pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Routing {
    /// One after the other.
    #[default]
    RoundRobin,
    /// Any, with equal chances, as kube-proxy with iptables does.
    Random,
    /// The one with the fewest requests; of equals the next after the last one chosen.
    LeastConnections,
    /// The one with fewer requests of two that are drawn.
    PowerOfTwoChoices,
}

/// The state of a router.
#[derive(Clone, Copy, Default, Debug)]
pub struct Router {
    /// Where the next look begins.
    next: usize,
}

impl Router {
    /// The place in `ready` of the pod that takes the next request; `None` if there is no pod. `load` gives how many requests
    /// a pod has; the draw is that of `entity` for request number `request`.
    pub fn choose<T>(
        &mut self,
        routing: Routing,
        ready: &[T],
        load: impl Fn(&T) -> u32,
        draws: &mut dyn Draws,
        (entity, request): (u64, u64),
    ) -> Option<usize> {
        let count = ready.len();
        if count <= 1 {
            return count.checked_sub(1);
        }
        let chosen = match routing {
            Routing::RoundRobin => self.next % count,
            Routing::Random => scaled(draws.bits(ROUTE, entity, request) >> 32, count),
            Routing::LeastConnections => {
                let first = self.next % count;
                let order = (first..count).chain(0..first);
                order.min_by_key(|place| load(&ready[*place])).unwrap_or(first)
            }
            Routing::PowerOfTwoChoices => {
                let bits = draws.bits(ROUTE, entity, request);
                let one = scaled(bits >> 32, count);
                // Another one: of the rest, with equal chances.
                let other = scaled(bits & u64::from(u32::MAX), count - 1);
                let other = if other >= one { other + 1 } else { other };
                if load(&ready[other]) < load(&ready[one]) { other } else { one }
            }
        };
        self.next = chosen + 1;
        Some(chosen)
    }
}

/// 32 uniform bits to a number below `count`.
fn scaled(bits: u64, count: usize) -> usize {
    ((bits * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u64);

    impl Draws for Fixed {
        fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
            self.0
        }
    }

    fn chosen(routing: Routing, loads: &[u32], bits: u64) -> Vec<usize> {
        let mut router = Router::default();
        let mut choose = || router.choose(routing, loads, |load| *load, &mut Fixed(bits), (0, 0));
        std::iter::repeat_with(&mut choose).take(4).flatten().collect()
    }

    #[test]
    fn each_rule_chooses_in_its_way() {
        // Draws: 0xC0000000 of 2^32 is three quarters, so place 3 of 4; 0x40000000 a quarter of the other three: place 0.
        let bits = 0xC000_0000_4000_0000;
        for (routing, loads, expected) in [
            (Routing::RoundRobin, &[9, 0, 0][..], &[0, 1, 2, 0][..]),
            (Routing::Random, &[0, 0, 0, 9], &[3, 3, 3, 3]),
            (Routing::LeastConnections, &[2, 1, 2, 1], &[1, 3, 1, 3]),
            (Routing::PowerOfTwoChoices, &[1, 0, 0, 2], &[0, 0, 0, 0]),
            (Routing::PowerOfTwoChoices, &[2, 0, 0, 2], &[3, 3, 3, 3]),
            (Routing::PowerOfTwoChoices, &[5], &[0, 0, 0, 0]),
            (Routing::Random, &[], &[]),
        ] {
            assert_eq!(chosen(routing, loads, bits), expected, "{routing:?} {loads:?}");
        }
        // The second choice is never the first: all bits set of two are places 1 and 0.
        assert_eq!(chosen(Routing::PowerOfTwoChoices, &[0, 1], u64::MAX), [0, 0, 0, 0]);
    }
}
