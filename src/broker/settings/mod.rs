//! Settings as tools see them: what is in force and where it was said, and who may change it.
//!
//! A topic's setting is looked for at the topic, then among what was said of this broker and of all
//! brokers while they ran, then in the broker's configuration; at last there is a default. Most
//! settings of the broker itself are read at its start and cannot be changed while it runs.

mod altered;
mod broker;
mod change;
mod edits;
mod live;
#[cfg(test)]
mod page_tests;
mod setting;
mod topic;
mod without_effect;

pub(crate) use altered::{Altered, alter_each};
pub(crate) use broker::{all_brokers_settings, broker_settings};
pub(crate) use change::{Change, change};
pub(crate) use edits::{check_broker_configs, inherited_list};
pub(crate) use live::in_force;
pub(crate) use setting::{Setting, Source, Value};
pub(crate) use topic::topic_settings;
