//! Words that many tasks share, kept once: a host, an agent, a model, a tool. Used while tasks are read from the
//! store, where each row brings its own copies, and where an observation brings a word of its own.

use std::hash::Hash;
use std::sync::Arc;

use crate::index::Index;
use crate::refs::ParentRef;
use crate::spec::Model;
use crate::task::Task;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Names {
    words: Known<str>,
    models: Known<[Model]>,
    parents: Known<ParentRef>,
    tools: Known<str>,
}

/// A child may call its tools what it likes: so many names of them are kept.
const TOOLS_MAX: usize = 1_000;

/// What is known already, by what it says.
type Known<T> = Index<Arc<T>, Arc<T>>;

impl Names {
    /// Lets a task that was just read hold the words that others hold already.
    pub fn share(&mut self, task: &mut Task) {
        once(&mut self.words, &mut task.key);
        once(&mut self.parents, &mut task.parent);
        self.share_tool(task);
        // Nobody else holds the brief yet.
        if let Some(brief) = Arc::get_mut(&mut task.brief) {
            once(&mut self.words, &mut brief.host);
            once(&mut self.models, &mut brief.models);
            let rest = [&mut brief.agent, &mut brief.parent_turn, &mut brief.batch];
            rest.into_iter().flatten().for_each(|word| once(&mut self.words, word));
        }
    }

    /// Lets a task hold the name of its last tool that others hold already.
    pub fn share_tool(&mut self, task: &mut Task) {
        if let Some(tool) = &mut task.tool
            && (self.tools.len() < TOOLS_MAX || self.tools.contains(tool))
        {
            once(&mut self.tools, tool);
        }
    }
}

fn once<T: Hash + Eq + ?Sized>(known: &mut Known<T>, new: &mut Arc<T>) {
    match known.get(new) {
        Some(known) => *new = Arc::clone(known),
        None => drop(known.insert(Arc::clone(new), Arc::clone(new))),
    }
}
