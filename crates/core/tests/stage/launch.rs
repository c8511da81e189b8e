//! Builds launch requests with sensible values for what a test does not name.

use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::payload::Digest;
use homing_core::refs::ParentRef;
use homing_core::spec::{Brief, Budget, Caps, Model, Order, Overrides, Spec};
use homing_core::words::Notify;

use super::parent_ref;

/// A launch under construction.
#[derive(Clone)]
pub struct Launch {
    spec: Spec,
    notify: Option<Notify>,
    parent: Option<ParentRef>,
}

/// A launch with this name, on the scripted host, told to `inbox:cli`.
pub fn task(name: &str) -> Launch {
    let brief = Brief {
        host: "script".into(),
        agent: None,
        name: Some(name.into()),
        models: [].into(),
        origin: None,
        notify: Notify::Each,
        key: None,
        request: Digest::of(name.as_bytes()),
        priority: 0,
        budget: Budget::default().into(),
        over: Overrides::default().into(),
        caps: Caps { prompts: true, goes_on: true, ..Caps::default() },
        parent_turn: None,
        batch: None,
        converses: false,
    };
    let order = Order { prompt: format!("do {name}"), ..Order::default() };
    let spec = Spec { brief, order, parent: ParentRef::None, launched_by: None, after: Vec::new() };
    Launch { spec, notify: None, parent: None }
}

/// A launch on these models, tried in order.
pub fn by_model(name: &str, models: &[&str]) -> Launch {
    task(name).models(models)
}

impl Launch {
    pub fn models(mut self, models: &[&str]) -> Self {
        let parse = |text: &&str| text.parse::<Model>().unwrap_or_else(|why| panic!("{why}"));
        self.spec.brief.models = models.iter().map(parse).collect();
        self
    }

    pub fn parent(mut self, parent: &str) -> Self {
        self.parent = Some(parent_ref(parent));
        self
    }

    /// Launched by a task, which is also told.
    pub fn by(mut self, above: TaskId) -> Self {
        self.spec.launched_by = Some(above);
        self.parent = self.parent.or(Some(ParentRef::Task(above)));
        self
    }

    pub fn notify(mut self, notify: Notify) -> Self {
        self.notify = Some(notify);
        self
    }

    pub fn after(mut self, on: &[TaskId]) -> Self {
        self.spec.after = on.to_vec();
        self
    }

    pub fn priority(mut self, priority: i32) -> Self {
        self.spec.brief.priority = priority;
        self
    }

    pub fn key(mut self, key: &str) -> Self {
        self.spec.brief.key = Some(Digest::of(key.as_bytes()));
        self
    }

    pub fn budget(mut self, budget: Budget) -> Self {
        self.spec.brief.budget = budget.into();
        self
    }

    pub fn over(mut self, over: Overrides) -> Self {
        self.spec.brief.over = over.into();
        self
    }

    pub fn caps(mut self, prompts: bool, goes_on: bool) -> Self {
        self.spec.brief.caps = Caps { prompts, goes_on, ..Caps::default() };
        self
    }

    /// A plain process: takes no further prompts and has no session to go on with.
    pub fn process(mut self) -> Self {
        self.spec.order.command = vec!["run".to_owned()];
        self.spec.brief.caps = Caps { plain: true, ..Caps::default() };
        self
    }

    /// As above, with its standard input kept open.
    pub fn talker(mut self) -> Self {
        self = self.process();
        self.spec.brief.caps.words = true;
        self
    }

    pub fn host(mut self, host: &str) -> Self {
        self.spec.brief.host = host.into();
        self
    }

    pub fn agent(mut self, agent: &str) -> Self {
        self.spec.brief.agent = Some(agent.into());
        self
    }

    pub fn origin(mut self, origin: &str) -> Self {
        self.spec.brief.origin = Some(origin.parse().unwrap_or_else(|why| panic!("{why}")));
        self
    }

    pub fn parent_turn(mut self, turn: &str) -> Self {
        self.spec.brief.parent_turn = Some(Arc::from(turn));
        self
    }

    /// To be opened as a conversation.
    pub fn converses(mut self) -> Self {
        (self.spec.brief.converses, self.notify) = (true, Some(Notify::Silent));
        self.parent = Some(ParentRef::None);
        self
    }

    pub fn batch(mut self, batch: &str) -> Self {
        self.spec.brief.batch = Some(Arc::from(batch));
        self
    }

    pub fn prompt(mut self, prompt: &str) -> Self {
        self.spec.order.prompt = prompt.to_owned();
        self
    }

    pub fn permissions(mut self, permissions: &[&str]) -> Self {
        self.spec.order.permissions = permissions.iter().map(|one| (*one).to_owned()).collect();
        self
    }

    /// Told each at once for inboxes and webhooks, by debrief else; as the doors do it.
    pub fn into_spec(mut self) -> Spec {
        let parent = self.parent.unwrap_or_else(|| parent_ref("inbox:cli"));
        let usual = if parent.has_turns() { Notify::Debrief } else { Notify::Each };
        self.spec.brief.notify = self.notify.unwrap_or(usual);
        self.spec.parent = parent;
        self.spec
    }
}
