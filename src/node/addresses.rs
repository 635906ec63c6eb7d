//! Addresses of pods: a /24 network a node, given out in turn as the usual network plug-ins do.
//!
//! Upstream: none (containernetworking/plugins, host-local, gives the next free address after the last one).

use crate::model::Name;

/// First and last host number of a node's network that pods can have.
const FIRST: u8 = 2;
const LAST: u8 = 254;

/// The addresses of one node.
#[derive(Clone, PartialEq, Debug)]
pub struct AddressPool {
    row: u32,
    used: Vec<u8>,
    last: u8,
}

impl AddressPool {
    /// The network of the node in this row, with no address in use.
    pub fn new(row: u32) -> AddressPool {
        AddressPool { row, used: Vec::new(), last: FIRST - 1 }
    }

    /// The node's own address, which pods in the host's network share.
    pub fn host(&self) -> Name {
        Name::from(format!("192.168.{}.{}", self.row / 250 % 256, self.row % 250 + 1))
    }

    /// Takes the next free address after the last one given. A node with more pods than addresses gives one out twice.
    pub fn take(&mut self) -> Name {
        let after = |host: u8| if host >= LAST { FIRST } else { host + 1 };
        let mut host = after(self.last);
        while self.used.contains(&host) && self.used.len() < usize::from(LAST - FIRST) + 1 {
            host = after(host);
        }
        self.last = host;
        self.used.push(host);
        Name::from(format!("{}{host}", self.prefix()))
    }

    /// Marks an address as in use (a pod that was running before the kubelet started).
    pub fn keep(&mut self, address: &Name) {
        if let Some(host) = self.host_number(address) {
            self.used.push(host);
            self.last = self.last.max(host);
        }
    }

    /// Gives an address back.
    pub fn release(&mut self, address: &Name) {
        let host = self.host_number(address);
        if let Some(position) = self.used.iter().position(|used| Some(*used) == host) {
            self.used.remove(position);
        }
    }

    fn prefix(&self) -> String {
        format!("10.{}.{}.", (244 + self.row / 256) % 256, self.row % 256)
    }

    fn host_number(&self, address: &Name) -> Option<u8> {
        address.as_str().strip_prefix(&self.prefix())?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_in_turn() {
        let mut pool = AddressPool::new(3);
        assert_eq!(pool.take(), "10.244.3.2");
        assert_eq!(pool.take(), "10.244.3.3");
        pool.release(&"10.244.3.2".into());
        pool.keep(&"10.244.3.9".into());
        assert_eq!(pool.take(), "10.244.3.10");
        // 11 to 254 are 244 addresses; then 2 again, 3 is in use.
        for _ in 0..244 {
            pool.take();
        }
        assert_eq!(pool.take(), "10.244.3.2");
        assert_eq!(pool.take(), "10.244.3.4");
    }

    #[test]
    fn rows_beyond_255_move_to_the_next_network() {
        // 600 = 2 * 256 + 88; 600 = 2 * 250 + 100.
        let mut pool = AddressPool::new(600);
        assert_eq!(pool.take(), "10.246.88.2");
        assert_eq!(pool.host(), "192.168.2.101");
    }
}
