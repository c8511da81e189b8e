//! The walked graph itself: that every state met was also gone on from, and that no path goes on forever.

use std::collections::HashMap;
use std::sync::Mutex;

/// Every state that was gone on from, and every step.
#[derive(Default)]
pub struct Graph {
    nodes: Mutex<Vec<u64>>,
    edges: Mutex<Vec<(u64, u64)>>,
}

impl Graph {
    pub fn node(&self, print: u64) {
        self.nodes.lock().unwrap().push(print);
    }

    pub fn edge(&self, from: u64, to: u64) {
        self.edges.lock().unwrap().push((from, to));
    }

    /// How many states there are; panics when one was met and not gone on from.
    pub fn closed(&self) -> usize {
        let mut nodes = self.nodes.lock().unwrap().clone();
        nodes.sort_unstable();
        nodes.dedup();
        for (_, to) in self.edges.lock().unwrap().iter() {
            assert!(nodes.binary_search(to).is_ok(), "a state was met and not gone on from");
        }
        nodes.len()
    }

    /// How many states lie on a cycle or behind one: none, when every path ends.
    pub fn endless(&self) -> usize {
        let mut edges = self.edges.lock().unwrap().clone();
        edges.sort_unstable();
        edges.dedup();
        let mut open: HashMap<u64, u32> = HashMap::new();
        for (from, to) in &edges {
            open.entry(*from).or_default();
            *open.entry(*to).or_default() += 1;
        }
        let mut free: Vec<u64> =
            open.iter().filter(|(_, before)| **before == 0).map(|(node, _)| *node).collect();
        while let Some(node) = free.pop() {
            open.remove(&node);
            let first = edges.partition_point(|(from, _)| *from < node);
            for (_, to) in edges[first..].iter().take_while(|(from, _)| *from == node) {
                let before = open.get_mut(to).unwrap();
                *before -= 1;
                if *before == 0 {
                    free.push(*to);
                }
            }
        }
        open.len()
    }
}
