//! Three brokers in the hands of operators: listeners, damaged disks, brokers that are gone.

mod damaged;
mod forgotten;
mod listeners;
