//! Consumer groups: how they are found, their protocol on any disk, offsets that are
//! no places, and damage to their log.

mod damage;
mod finding;
mod negative;
mod protocol;
