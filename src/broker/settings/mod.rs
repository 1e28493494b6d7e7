//! Settings as shown to tools: the values in force, their sources, and what may be changed.
//!
//! A topic's setting is looked up in the topic's overrides, then in the dynamic settings of this
//! broker and of all brokers, then in the broker's configuration, and finally in the defaults. Most
//! settings of the broker itself are only read at startup.

mod access;
mod altered;
mod broker;
mod change;
mod edits;
#[cfg(test)]
mod page_tests;
mod setting;
mod topic;
mod without_effect;

pub(crate) use access::Settings;
pub(crate) use altered::{Altered, alter_each, require_each_once};
pub(crate) use change::Change;
pub(crate) use edits::{check_broker_configs, inherited_list};
pub(crate) use setting::{Setting, Source, Value};
