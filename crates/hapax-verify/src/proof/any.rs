//! Several ways to prove the same thing: the first one present in a request counts, and no other is tried.
//!
//! Each secret belongs to every way whose shape it has, so a source with only a signing secret cannot be downgraded to
//! a token.

use super::{Proof, Prove, Proven, Setup, Stop};
use crate::delivery::Sign;
use crate::identity::ValuePath;
use crate::options::Options;
use crate::rejection::Rejection;
use crate::request::Request;
use crate::setup::SetupError;
use crate::trace::Trace;

pub(super) struct AnyProof {
    ways: Vec<Way>,
}

struct Way {
    proof: Box<dyn Prove>,
    /// For each of its secrets, the index among all secrets.
    places: Vec<usize>,
}

impl AnyProof {
    pub(super) fn new(proofs: &[Proof], setup: &Setup<'_>) -> Result<Self, SetupError> {
        let way = |proof: &Proof| {
            let mine = setup
                .secrets
                .iter()
                .enumerate()
                .filter(|(_, secret)| proof.takes(secret));
            let (places, secrets): (Vec<usize>, Vec<&str>) =
                mine.map(|(place, secret)| (place, *secret)).unzip();
            let proof = proof.compile(&Setup {
                secrets: &secrets,
                options: setup.options,
            })?;
            Ok(Way { proof, places })
        };
        let ways = proofs.iter().map(way).collect::<Result<Vec<_>, SetupError>>()?;
        Ok(AnyProof { ways })
    }

    fn way(&self, request: &Request<'_>) -> Option<&Way> {
        let mut present = self.ways.iter().filter(|way| way.proof.applies(request));
        // A provider may prove itself in two ways at once; a way that no configured secret can check is ignored.
        let checkable = present.clone().find(|way| !way.places.is_empty());
        checkable.or_else(|| present.next()).or(self.ways.first())
    }
}

impl Prove for AnyProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let Some(way) = self.way(request) else {
            return Err(Stop::Rejected(Rejection::SignatureMissing {
                header: "signature".to_owned(),
            }));
        };
        let mut proven = way.proof.prove(request, trace)?;
        proven.secret_index = proven
            .secret_index
            .and_then(|index| way.places.get(index).copied());
        Ok(proven)
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        self.ways.iter().any(|way| way.proof.applies(request))
    }

    fn is_in_body(&self) -> bool {
        self.ways.iter().any(|way| way.proof.is_in_body())
    }

    fn covers(&self, place: &ValuePath) -> bool {
        self.ways.iter().all(|way| way.proof.covers(place))
    }

    fn covers_first_of(&self, headers: &[String]) -> bool {
        self.ways.iter().all(|way| way.proof.covers_first_of(headers))
    }
}

pub(super) fn signer(proofs: &[Proof], secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
    let fitting = proofs.iter().find(|proof| proof.takes(secret));
    match fitting.or(proofs.first()) {
        Some(proof) => proof.signer(secret, options),
        None => Err(SetupError::SchemeIncomplete { what: "proof" }),
    }
}
