//! Repairs with a kill of the process, or a power failure, at every single step.

use std::sync::Arc;

use super::world_tests::{Follower, LETTERS, open_on, size};
use crate::io::Disk;
use crate::storage::directory::StoppingDisk;
use crate::storage::world_tests::{file, values};
use crate::storage::{Damage, Log, Repair, RepairError, StartPoint, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The damage of a log before its repair.
#[derive(Clone, Copy, Debug)]
enum Harm {
    /// Rotten batches at the start and the end of a segment.
    Rotten,
    /// As `Rotten`, in a log with damage in another segment too.
    Elsewhere,
    LostFirst,
    LostMiddle,
    /// Rotten batches in the segment that the log appends to.
    Active,
}

/// All kinds of damage.
const HARMS: [Harm; 5] =
    [Harm::Rotten, Harm::Elsewhere, Harm::LostFirst, Harm::LostMiddle, Harm::Active];

impl Harm {
    /// The base offset of the segment to repair.
    fn base(self) -> Offset {
        let is_first = matches!(self, Self::LostFirst | Self::LostMiddle | Self::Active);
        Offset::new(if is_first { 0 } else { 3 })
    }

    /// The number of batches in the segment once it is repaired.
    fn batches(self) -> u64 {
        match self {
            Self::Rotten | Self::Elsewhere | Self::LostFirst => 3,
            Self::LostMiddle => 6,
            Self::Active => 10,
        }
    }

    /// A log with this damage, which was noted and then closed.
    fn follower(self) -> (Follower, Vec<Damage>) {
        let is_active = matches!(self, Self::Active);
        let mut follower =
            if is_active { Follower::of_one_segment() } else { Follower::of_letters() };
        match self {
            Self::Active => follower.rot_all(0, &[2, 5]),
            Self::Rotten => follower.rot_all(3, &[0, 2]),
            Self::Elsewhere => {
                follower.rot_all(3, &[0, 2]);
                follower.rot(6, 1);
            }
            Self::LostFirst => follower.lose(0),
            Self::LostMiddle => follower.lose(3),
        }
        let log = follower.open();
        let damages = log.checks().damages();
        assert!(!damages.is_empty());
        follower.marks = log.close().unwrap();
        (follower, damages)
    }

    fn repair(self, follower: &Follower, disk: Arc<dyn Disk>) -> Result<Arc<Log>, StorageError> {
        let log = open_on(disk, &follower.world, follower.starts()[0])?;
        self.repair_in(follower, &log)?;
        Ok(log)
    }

    fn repair_in(self, follower: &Follower, log: &Arc<Log>) -> Result<(), StorageError> {
        log.epochs().change().follow(LeaderEpoch(9));
        if log.tail().roll_damaged(LeaderEpoch(9))? {
            log.flush()?;
            log.checkpoints().advance()?;
        }
        let Some(mut repair) = Repair::begin(log, self.base())? else { return Ok(()) };
        while let Some(wanted) = repair.wants()? {
            let fetched = repair.take(&follower.fetch(wanted.start, 2));
            fetched.map_err(|error| match error {
                RepairError::Storage(error) => error,
                refused => panic!("{refused}"),
            })?;
        }
        assert!(repair.finish(None)?);
        Ok(())
    }
}

/// Stops the repair after each number of steps in turn, until it completes.
fn at_every_step(harm: Harm, power: bool) {
    let mut were_old = 0;
    for steps in 0.. {
        let (mut follower, before) = harm.follower();
        let path = file(harm.base().get(), "log");
        let damaged = follower.world.bytes(&path);
        let stopping = StoppingDisk::new(&follower.world.disk, steps);
        let done = harm.repair(&follower, Arc::new(stopping.clone()));
        assert_eq!(done.is_err(), stopping.has_stopped(), "{done:?} after {steps} steps");
        let is_over = done.is_ok();
        drop(done);
        if power {
            let seed = u64::try_from(steps).unwrap();
            follower.world.disk = follower.world.disk.crash(seed).unwrap();
        }
        let start = follower.starts()[if power { 2 } else { 1 }];
        assert!(matches!(start, StartPoint::Unclean { same_boot, .. } if same_boot != power));
        let disk: Arc<dyn Disk> = Arc::new(follower.world.disk.clone());
        let log = open_on(disk, &follower.world, start).unwrap();
        let found = log.checks().damages();
        let rest: Vec<_> = before.iter().filter(|one| one.segment != harm.base()).collect();
        if found == before {
            were_old += 1;
            assert_eq!(follower.world.bytes(&path), damaged, "after {steps} steps");
        } else {
            assert_eq!(found.iter().collect::<Vec<_>>(), rest, "after {steps} steps");
            let bytes = follower.world.bytes(&path);
            assert_eq!(bytes.len() as u64, size() * harm.batches(), "after {steps} steps");
        }
        harm.repair_in(&follower, &log).unwrap();
        assert_eq!(log.checks().damages().iter().collect::<Vec<_>>(), rest);
        if rest.is_empty() {
            assert_eq!(values(&log, 0, 10).len(), LETTERS.len());
            follower.marks = log.close().unwrap();
            follower.check_letters(
                &open_on(
                    Arc::new(follower.world.disk.clone()),
                    &follower.world,
                    follower.starts()[0],
                )
                .unwrap(),
            );
        }
        if is_over {
            assert!(steps > 15 && were_old > 5, "{steps} steps, {were_old} before the swap");
            return;
        }
    }
}

#[test]
fn a_repair_that_is_killed_at_any_step_leaves_the_damaged_segment_or_the_repaired_one() {
    for harm in HARMS {
        at_every_step(harm, false);
    }
}

#[test]
fn a_repair_whose_power_fails_at_any_step_leaves_the_damaged_segment_or_the_repaired_one() {
    for harm in HARMS {
        at_every_step(harm, true);
    }
}
