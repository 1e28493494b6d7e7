//! Consumer groups: how they are found, their protocol on any disk, and damage to their log.

mod damage;
mod finding;
mod protocol;
