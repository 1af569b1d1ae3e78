//! Every limit of this crate, by name. What a stranger can send is bounded before any work is spent on it.

/// The longest event id, in bytes of its text form; a longer one is replaced by `sha256:<hex>`.
pub const EVENT_ID_BYTES_MAX: usize = 255;

/// The longest event type, in bytes. A longer one is dropped: a type routes events, it never refuses them.
pub const EVENT_TYPE_BYTES_MAX: usize = 255;

/// How many signatures of a known version one header may carry. Rotation needs two; published examples have four.
pub const SIGNATURES_MAX: usize = 16;

/// The longest signature header, in bytes: room for [`SIGNATURES_MAX`] signatures and unknown versions beside them.
pub const SIGNATURE_HEADER_BYTES_MAX: usize = 4096;

/// How many secrets one verifier holds. Each costs a keyed hash over every body.
pub const SECRETS_MAX: usize = 16;

/// How many different JSON pointers one identity rule may name. Telegram has two dozen kinds of update.
pub const POINTERS_MAX: usize = 32;

/// How deep one JSON pointer may reach.
pub const POINTER_DEPTH_MAX: usize = 32;

/// How many parts a composite id or type may have.
pub const COMPOSITE_PARTS_MAX: usize = 16;

/// The widest tolerance for a signed timestamp. A day would already be no replay protection to speak of.
pub const TOLERANCE_SECONDS_MAX: u32 = 86_400;

/// The tolerance where a source names a timestamp but no tolerance.
pub const TOLERANCE_SECONDS_DEFAULT: u32 = 300;

/// How many events one request may carry. SendGrid and HubSpot stay below 1,000.
pub const BATCH_EVENTS_MAX: usize = 10_000;

/// The longest body that is looked at for a handshake.
pub const HANDSHAKE_BODY_BYTES_MAX: usize = 8192;

/// The longest challenge that is echoed.
pub const HANDSHAKE_ECHO_BYTES_MAX: usize = 1024;

/// The most digits of a number in a handshake.
pub const HANDSHAKE_DIGITS_MAX: usize = 18;

/// The longest secret that a sender hands over in a handshake.
pub const HANDED_OVER_SECRET_BYTES_MAX: usize = 256;

/// How many bytes the events of one request may have together where each repeats what surrounds it.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The longest body that a diagnosis works on. It is hashed some hundred times at most.
pub const DIAGNOSIS_BODY_BYTES_MAX: usize = 256 * 1024;

/// How many secrets of others a diagnosis tries.
pub const DIAGNOSIS_SECRETS_MAX: usize = 64;

/// How many fields a signed form may have, and how many parts one in parts. Twilio sends a few dozen.
pub const FORM_FIELDS_MAX: usize = 1_000;

/// The longest headers of one part of a form. A file's name is in them.
pub const PART_HEADER_BYTES_MAX: usize = 8192;

/// How many headers a sender may list as signed.
pub const SIGNED_HEADERS_MAX: usize = 64;
