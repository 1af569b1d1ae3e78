//! Which owners are alive, and the leases of those that are not. There is only one process, but after a time without
//! successful writes it continues under a new owner id, and nobody holds the old owner's leases.

use hapax_core::Owner;
use hapax_core::store::{Alive, AliveReport, Rescued};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rescue::take_back_from;

pub(crate) fn report(desk: &mut Desk<'_>, report: AliveReport) -> Result<Vec<Rescued>, Failure> {
    let (now, patience) = (desk.moment(), report.patience);
    let owners = &mut desk.state.owners;
    let own = Alive::reported(owners.get(&report.owner).copied(), now, patience);
    owners.insert(report.owner, own);
    if !own.may_declare_dead(patience) {
        return Ok(Vec::new());
    }
    let dead = owners.iter().filter(|(_, alive)| alive.is_dead(now, patience));
    let dead: Vec<Owner> = dead.map(|(owner, _)| *owner).collect();
    let mut rescued = Vec::new();
    for owner in dead {
        let room = report.limit - rescued.len() as u32;
        let of_owner = take_back_from(desk, owner, room)?;
        if of_owner.is_empty() && room > 0 {
            desk.state.owners.remove(&owner);
        }
        rescued.extend(of_owner);
    }
    Ok(rescued)
}
