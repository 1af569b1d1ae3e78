//! `[server.limits]`: what the ingest listener allows a client before a signature has been verified.

pub mod ingest;
pub mod listen;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Value;

use super::keys::LIMITS;
use super::rate::Rate;
use super::section::Section;
use hapax_api::duration::format_duration;
use hapax_api::size::{format_size, parse_size};

const CONNECTIONS: RangeInclusive<u32> = 16..=1_000_000;
const HEAD_BYTES: RangeInclusive<u64> = 8 << 10..=256 << 10;
const HEAD_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(60);
const BODY_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const BODY_RATE_MIN: RangeInclusive<u64> = 1..=1 << 20;
const BYTES: RangeInclusive<u64> = 1 << 20..=64 << 30;

const CONNECTIONS_PER_PEER_DEFAULT: u32 = 2048;
const HEAD_BYTES_DEFAULT: usize = 16 << 10;

/// The limits on the ingest listener and on each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub listen: listen::Limits,
    pub ingest: ingest::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            listen: listen::Limits {
                peer_connections_max: CONNECTIONS_PER_PEER_DEFAULT as usize,
                head_bytes_max: HEAD_BYTES_DEFAULT,
                ..listen::Limits::default()
            },
            ingest: ingest::Limits::default(),
        }
    }
}

pub(super) fn read(server: &mut Section<'_, '_, '_>) -> Limits {
    let table = server.table("limits");
    let path = server.path("limits");
    let table = table.and_then(|value| value.get_ref().as_table());
    let mut section = Section::open(path, &LIMITS, table, BTreeMap::new(), server.report);
    let mut limits = Limits::default();
    let Limits { listen, ingest } = &mut limits;
    count(&mut section, "connections", &mut listen.connections_max);
    count(
        &mut section,
        "connections_per_peer",
        &mut listen.peer_connections_max,
    );
    bytes(
        &mut section,
        "head_bytes",
        &HEAD_BYTES,
        &mut listen.head_bytes_max,
    );
    listen.head_timeout = section.duration("head_timeout", listen.head_timeout, &HEAD_TIMEOUT);
    ingest.body_timeout = section.duration("body_timeout", ingest.body_timeout, &BODY_TIMEOUT);
    let mut body_rate_min = ingest.body_rate_min as usize;
    bytes(&mut section, "body_rate_min", &BODY_RATE_MIN, &mut body_rate_min);
    ingest.body_rate_min = body_rate_min as u32;
    bytes(
        &mut section,
        "unproven_bytes",
        &BYTES,
        &mut ingest.unproven_bytes_max,
    );
    bytes(
        &mut section,
        "unproven_bytes_per_peer",
        &BYTES,
        &mut ingest.peer_unproven_bytes_max,
    );
    bytes(&mut section, "proven_bytes", &BYTES, &mut ingest.proven_bytes_max);
    let refusals = section.parsed("refusals_per_peer", str::parse::<Rate>);
    ingest.peer_refusals = refusals.unwrap_or(ingest.peer_refusals);
    limits
}

impl Limits {
    /// The largest body that always fits when no other request is in flight.
    pub(super) fn body_bytes_max(&self) -> u64 {
        let ingest = &self.ingest;
        let room = (ingest.unproven_bytes_max / 2)
            .min(ingest.peer_unproven_bytes_max)
            .min(ingest.proven_bytes_max);
        room as u64
    }

    /// Every value, as written in the file.
    pub(super) fn shown(&self) -> Vec<(&'static str, Value)> {
        let Self { listen, ingest } = self;
        let size = |bytes: usize| Value::from(format_size(bytes as u64));
        let count = |count: usize| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
        vec![
            ("connections", count(listen.connections_max)),
            ("connections_per_peer", count(listen.peer_connections_max)),
            ("head_bytes", size(listen.head_bytes_max)),
            ("head_timeout", format_duration(listen.head_timeout).into()),
            ("body_timeout", format_duration(ingest.body_timeout).into()),
            ("body_rate_min", size(ingest.body_rate_min as usize)),
            ("unproven_bytes", size(ingest.unproven_bytes_max)),
            ("unproven_bytes_per_peer", size(ingest.peer_unproven_bytes_max)),
            ("proven_bytes", size(ingest.proven_bytes_max)),
            ("refusals_per_peer", ingest.peer_refusals.to_string().into()),
        ]
    }
}

fn count(section: &mut Section<'_, '_, '_>, name: &str, value: &mut usize) {
    let default = u32::try_from(*value).unwrap_or(u32::MAX);
    *value = section.integer(name, default, &CONNECTIONS) as usize;
}

fn bytes(section: &mut Section<'_, '_, '_>, name: &str, range: &RangeInclusive<u64>, value: &mut usize) {
    let parse = |text: &str| {
        let bytes = parse_size(text).map_err(|error| error.to_string())?;
        let (least, most) = (format_size(*range.start()), format_size(*range.end()));
        let fits = usize::try_from(bytes).ok().filter(|_| range.contains(&bytes));
        fits.ok_or_else(|| format!("\"{text}\" is not between {least} and {most}"))
    };
    *value = section.parsed(name, parse).unwrap_or(*value);
}
