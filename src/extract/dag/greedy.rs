//! A greedy choice.

use std::collections::VecDeque;

use super::classes::{ClassId, Classes, is_below};

/// Classes that a form of one class uses, itself included, each with what its node costs; in the order of classes.
type Cover = Vec<(ClassId, f64)>;

/// The best known form of a class.
#[derive(Clone)]
struct Best {
    cover: Cover,
    cost: f64,
    node: usize,
}

/// Which of the classes that are to be looked at comes next. It decides which of several forms of one cost a class gets, and with it what
/// others share.
#[derive(Clone, Copy)]
pub(super) enum Next {
    Oldest,
    Newest,
}

/// For every class the node whose form costs least, where each form counts every class that it uses once; none where a class has no form.
pub(super) fn greedy(classes: &Classes, next: Next) -> Vec<Option<usize>> {
    let count = classes.choices.len();
    let users = classes.users();
    let has_leaf = |&class: &ClassId| classes.choices[class].iter().any(|node| node.children.is_empty());
    let mut queue: VecDeque<ClassId> = (0..count).filter(has_leaf).collect();
    let mut best: Vec<Option<Best>> = vec![None; count];
    let mut is_queued = vec![false; count];
    queue.iter().for_each(|&class| is_queued[class] = true);
    let take = |queue: &mut VecDeque<ClassId>| match next {
        Next::Oldest => queue.pop_front(),
        Next::Newest => queue.pop_back(),
    };
    while let Some(class) = take(&mut queue) {
        is_queued[class] = false;
        let mut changed = false;
        for (place, node) in classes.choices[class].iter().enumerate() {
            let known = best[class].as_ref().map(|best| best.cost);
            let Some(form) = form(&best, class, node.cost, &node.children, known) else { continue };
            let cost = form.iter().map(|(_, cost)| cost).sum::<f64>();
            if known.is_none_or(|known| is_below(cost, known)) {
                best[class] = Some(Best { cover: form, cost, node: place });
                changed = true;
            }
        }
        if changed {
            for &user in &users[class] {
                if !std::mem::replace(&mut is_queued[user], true) {
                    queue.push_back(user);
                }
            }
        }
    }
    best.into_iter().map(|best| best.map(|best| best.node)).collect()
}

/// The classes that a node uses through the best known forms of its children; `None` where one has no form, where the node would use its
/// own class, and where a single child costs no less than what is known.
fn form(best: &[Option<Best>], class: ClassId, cost: f64, children: &[ClassId], known: Option<f64>) -> Option<Cover> {
    let mut cover: Cover = Vec::new();
    for &child in children {
        let of_child = best[child].as_ref()?;
        if known.is_some_and(|known| of_child.cost + cost >= known)
            || of_child.cover.binary_search_by_key(&class, |&(c, _)| c).is_ok()
        {
            return None;
        }
        cover = if cover.is_empty() { of_child.cover.clone() } else { union(&cover, &of_child.cover) };
    }
    let place = cover.partition_point(|&(c, _)| c < class);
    cover.insert(place, (class, cost));
    Some(cover)
}

/// All classes of two covers. Where both have one, the lower cost counts, which is that of its later form.
fn union(a: &Cover, b: &Cover) -> Cover {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let ((x, of_x), (y, of_y)) = (a[i], b[j]);
        all.push(if x < y {
            i += 1;
            (x, of_x)
        } else if y < x {
            j += 1;
            (y, of_y)
        } else {
            (i, j) = (i + 1, j + 1);
            (x, of_x.min(of_y))
        });
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    all
}
