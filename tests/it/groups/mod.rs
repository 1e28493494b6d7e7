//! Consumer groups: their protocol on any disk, and damage to their log.

mod damage;
mod protocol;
