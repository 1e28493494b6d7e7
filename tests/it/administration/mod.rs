//! What administrators and their tools ask of a broker, and what they change.

mod changing;
mod damage;
mod deleting;
mod footprint;
mod inspection;
mod limits;
mod newest_versions;
mod nonsense;
