//! Cycles in a graph of numbered nodes.

use std::collections::BTreeSet;

/// The strongly connected components of more than one node, the largest first.
///
/// A graph here has at most some hundred nodes: following all edges from each node is short, and quick enough.
pub fn cycles(nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..nodes).map(|node| reach(node, edges)).collect();
    let mut found = Vec::new();
    let mut grouped: BTreeSet<usize> = BTreeSet::new();
    for node in 0..nodes {
        let mutual = |other: &usize| reached[*other].contains(&node);
        let cycle: Vec<usize> = reached[node].iter().copied().filter(mutual).collect();
        if cycle.len() > 1 && !grouped.contains(&node) {
            grouped.extend(cycle.iter().copied());
            found.push(cycle);
        }
    }
    found.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    found
}

/// The nodes that can be reached from `start` by at least one edge.
fn reach(start: usize, edges: &BTreeSet<(usize, usize)>) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for (_, next) in edges.range((node, 0)..=(node, usize::MAX)) {
            if reached.insert(*next) {
                open.push(*next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_and_chains_are_not() {
        let edges =
            BTreeSet::from([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 6), (6, 5), (4, 4)]);
        assert_eq!(cycles(7, &edges), [vec![0, 1, 2], vec![5, 6]]);
        assert!(cycles(3, &BTreeSet::from([(0, 1), (1, 2), (0, 2)])).is_empty());
    }
}
