//! Administrative requests: queries and changes.

mod changing;
mod damage;
mod deleting;
mod footprint;
mod inspection;
mod limits;
mod newest_versions;
mod nonsense;
