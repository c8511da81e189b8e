//! What an embedder asks for, said with a builder.

use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::TaskId;
use homing_core::payload::Digest;
use homing_core::refs::{Origin, ParentRef};
use homing_core::spec::{Brief, Budget, Caps, Model, Order, Overrides, Spec};
use homing_core::words::Notify;
use homing_ports::host::Wanted;

/// A launch in the making.
#[derive(Debug, Clone)]
pub struct Launch {
    host: String,
    agent: Option<String>,
    name: Option<String>,
    models: Vec<Model>,
    order: Order,
    parent: ParentRef,
    launched_by: Option<TaskId>,
    origin: Option<Origin>,
    notify: Option<Notify>,
    key: Option<String>,
    priority: i32,
    budget: Budget,
    over: Overrides,
    after: Vec<TaskId>,
    batch: Option<String>,
    parent_turn: Option<String>,
    converses: bool,
}

impl Launch {
    /// A task for an agent on a host.
    pub fn prompt(host: &str, prompt: &str) -> Self {
        let order = Order { prompt: prompt.to_owned(), ..Order::default() };
        Self::with_order(host, order)
    }

    /// A plain process.
    pub fn command<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Self {
        let order =
            Order { command: words.into_iter().map(Into::into).collect(), ..Order::default() };
        Self::with_order("process", order)
    }

    /// A task for any host, with a command, a prompt, or both.
    pub fn order(host: &str, command: Vec<String>, prompt: &str) -> Self {
        Self::with_order(host, Order { prompt: prompt.to_owned(), command, ..Order::default() })
    }

    fn with_order(host: &str, order: Order) -> Self {
        Self {
            host: host.to_owned(),
            agent: None,
            name: None,
            models: Vec::new(),
            order,
            parent: ParentRef::Inbox { name: "cli".into(), key: None },
            launched_by: None,
            origin: None,
            notify: None,
            key: None,
            priority: 0,
            budget: Budget::default(),
            over: Overrides::default(),
            after: Vec::new(),
            batch: None,
            parent_turn: None,
            converses: false,
        }
    }

    /// A conversation instead of a task: it is told nobody of, and its turns come later.
    pub(crate) fn conversing(mut self) -> Self {
        (self.converses, self.parent, self.notify) = (true, ParentRef::None, Some(Notify::Silent));
        self
    }

    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    pub fn agent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.to_owned());
        self
    }

    /// Again for fallbacks, in the order they are tried.
    pub fn model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }

    pub fn parent(mut self, parent: ParentRef) -> Self {
        self.parent = parent;
        self
    }

    /// The task that delegates: depth, limits, cancel and budgets go by it.
    pub fn launched_by(mut self, task: TaskId) -> Self {
        self.launched_by = Some(task);
        self
    }

    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    pub fn notify(mut self, notify: Notify) -> Self {
        self.notify = Some(notify);
        self
    }

    /// The same key again gives the same task.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// This task's own values over the defaults, all of them; `timeout` sets one.
    pub fn limits(mut self, over: Overrides) -> Self {
        self.over = over;
        self
    }

    /// Runs once this one has completed.
    pub fn after(mut self, task: TaskId) -> Self {
        self.after.push(task);
        self
    }

    pub fn batch(mut self, name: &str) -> Self {
        self.batch = Some(name.to_owned());
        self
    }

    /// The parent's turn that launches.
    pub fn in_turn(mut self, turn: &str) -> Self {
        self.parent_turn = Some(turn.to_owned());
        self
    }

    /// Ended when it takes longer than this; the host is asked first.
    pub fn timeout(mut self, at_most: Duration) -> Self {
        self.over.timeout_ms = Some(u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX));
        self
    }

    pub fn cwd(mut self, dir: &str) -> Self {
        self.order.cwd = Some(dir.to_owned());
        self
    }

    pub fn system(mut self, text: &str) -> Self {
        self.order.system = Some(text.to_owned());
        self
    }

    pub fn tools(mut self, names: Vec<String>) -> Self {
        self.order.tools = names;
        self
    }

    pub fn permissions(mut self, rules: Vec<String>) -> Self {
        self.order.permissions = rules;
        self
    }

    /// Its standard input is kept for `Homing::send`; else it ends after the prompt.
    pub fn stdin_open(mut self, open: bool) -> Self {
        self.order.stdin_open = open;
        self
    }

    pub(crate) fn keeps_stdin(&self) -> bool {
        self.order.stdin_open
    }

    /// Names of variables whose values the host was given to keep.
    pub fn env(mut self, names: Vec<String>) -> Self {
        self.order.env = names;
        self
    }

    /// The child may delegate.
    pub fn delegate(mut self, may: bool) -> Self {
        self.order.delegate = may;
        self
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// What the host is asked about before anything is accepted: the agent with each of the models.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = Wanted> {
        let arc = |text: &Option<String>| text.as_deref().map(Arc::from);
        let (name, agent) = (arc(&self.name), arc(&self.agent));
        let order = Order { prompt: String::new(), ..self.order.clone() };
        let wanted = Wanted { name, agent, model: None, order, above: None };
        let none = self.models.is_empty().then(|| wanted.clone());
        let each = self
            .models
            .iter()
            .map(move |model| Wanted { model: Some(model.clone()), ..wanted.clone() });
        none.into_iter().chain(each)
    }

    /// The whole request, as the core takes it.
    pub(crate) fn spec(mut self, caps: Caps) -> Spec {
        // What is not asked for but found: the same key may come with another of these.
        let parent_turn = self.parent_turn.take();
        let notify = self.notify.unwrap_or(match &self.parent {
            ParentRef::Inbox { .. } | ParentRef::Webhook(_) | ParentRef::None => Notify::Each,
            ParentRef::Task(_) | ParentRef::Conversation(_) | ParentRef::Session { .. } => {
                Notify::Debrief
            }
        });
        let arc = |text: Option<String>| text.map(Arc::<str>::from);
        let mut spec = Spec {
            brief: Brief {
                host: self.host.into(),
                agent: arc(self.agent),
                name: arc(self.name),
                models: self.models.into(),
                origin: self.origin,
                notify,
                key: None,
                request: Digest::of(b""),
                priority: self.priority,
                budget: self.budget.into(),
                over: self.over.into(),
                caps: Caps::default(),
                parent_turn: None,
                batch: arc(self.batch),
                converses: self.converses,
            },
            order: self.order,
            parent: self.parent,
            launched_by: self.launched_by,
            after: self.after,
        };
        // Plain data with text keys: it always has a form as JSON.
        spec.brief.request = Digest::of(&serde_json::to_vec(&spec).unwrap_or_default());
        spec.brief.key = self.key.map(|key| Digest::of(key.as_bytes()));
        spec.brief.caps = Caps { words: caps.words && spec.order.stdin_open, ..caps };
        spec.brief.parent_turn = parent_turn.map(Arc::from);
        spec
    }
}
