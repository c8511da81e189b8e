//! Words that many tasks share, kept once: a host, an agent, a model. Used while tasks are read from the
//! store, where each row brings its own copies.

use std::sync::Arc;

use crate::index::Index;
use crate::refs::ParentRef;
use crate::task::Task;

/// See the module.
#[derive(Debug, Default)]
pub struct Names(Index<Arc<str>, Arc<str>>);

impl Names {
    /// Lets a task that was just read hold the words that others hold already.
    pub fn share(&mut self, task: &mut Task) {
        self.one(&mut task.key);
        match &mut task.parent {
            ParentRef::None | ParentRef::Task(_) => {}
            ParentRef::Inbox { name, key } => {
                self.one(name);
                self.maybe(key);
            }
            ParentRef::Conversation(name) | ParentRef::Webhook(name) => self.one(name),
            ParentRef::Session { host, instance, session } => {
                self.one(host);
                self.maybe(instance);
                self.one(session);
            }
        }
        // Nobody else holds the brief yet.
        if let Some(brief) = Arc::get_mut(&mut task.brief) {
            self.one(&mut brief.host);
            self.maybe(&mut brief.agent);
            self.maybe(&mut brief.parent_turn);
            self.maybe(&mut brief.batch);
            // A list that is read makes room for four.
            brief.models.shrink_to_fit();
            for model in &mut brief.models {
                self.one(&mut model.provider);
                self.one(&mut model.id);
                self.maybe(&mut model.variant);
            }
        }
    }

    fn one(&mut self, word: &mut Arc<str>) {
        match self.0.get(word) {
            Some(known) => *word = Arc::clone(known),
            None => drop(self.0.insert(Arc::clone(word), Arc::clone(word))),
        }
    }

    fn maybe(&mut self, word: &mut Option<Arc<str>>) {
        if let Some(word) = word {
            self.one(word);
        }
    }
}
