//! The reports of logs whose partitions have no leader (rule R21 in docs/replication.md): the
//! controller finds them in the registration.

use crate::metadata::image::LogReports;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::{Metadata, MetadataError};

impl Metadata {
    /// Replaces the reports of this broker, in its registration and in later ones.
    ///
    /// # Errors
    /// Those of the store. Even then, later registrations have these reports.
    pub async fn report_logs(&self, reports: &LogReports) -> Result<(), MetadataError> {
        if let Some(registration) = &mut *self.registration.lock().await {
            registration.reports.clone_from(reports);
        }
        let mut attempts = Attempts::default();
        loop {
            let change = self.change_registration(|own| own.reports.clone_from(reports));
            match change.await {
                Ok(()) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }
}
