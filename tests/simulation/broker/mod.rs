//! A broker: all shipped layers from the handlers of requests down to the logs. Its tasks run in
//! this thread; its disk, its network and the metadata store are those of the simulation.

mod assembly;
mod flushing;
mod leading;
mod log_events;
mod scheduler;

pub(crate) use assembly::Broker;
pub(crate) use leading::bytes_of;
pub(crate) use log_events::LogReader;
