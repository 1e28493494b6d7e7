//! The events of which only the log of a broker tells.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Weak};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::world::World;

/// Parts of messages, and the events that they tell of.
const TOLD: &[(&str, &str)] = &[
    (" takes over ", "handed over"),
    ("'write.caching' is over", "caching ended"),
    ("their logs are reported", "log reported"),
    (" stays the leader of ", "hand-over cut short"),
    (" falls behind broker ", "answer not taken"),
    ("without the registered key", "fetch of an unknown incarnation"),
    ("the disk has lost flushed records of", "disk has lost records"),
    (" has lost records: broker ", "leader has lost records"),
    ("had lost are given up", "loss given up"),
];

/// Reads the log of all brokers of a run.
pub(crate) struct LogReader {
    world: Weak<World>,
}

/// The message of an event, and its fields.
#[derive(Default)]
struct Message {
    text: String,
    fields: String,
}

impl LogReader {
    pub(crate) fn of(world: &Arc<World>) -> Self {
        Self { world: Arc::downgrade(world) }
    }
}

impl Subscriber for LogReader {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG && metadata.target().starts_with("streamlog::")
    }

    fn event(&self, event: &Event<'_>) {
        let Some(world) = self.world.upgrade() else { return };
        let mut message = Message::default();
        event.record(&mut message);
        let Message { text, fields } = message;
        world.tell(|| format!("    {text}{fields}"));
        for (_, name) in TOLD.iter().filter(|(part, _)| text.contains(part)) {
            world.note(name, &[]);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
