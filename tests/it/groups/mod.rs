//! Consumer groups: their protocol on any disk, the client's members, and damage to their log.

mod damage;
mod memberships;
mod protocol;
