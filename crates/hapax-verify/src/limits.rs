//! All limits of this crate. Untrusted input is bounded before any work is spent on it.

/// The maximum length of an event id's text form, in bytes; a longer one is replaced by `sha256:<hex>`.
pub const EVENT_ID_BYTES_MAX: usize = 255;

/// The maximum length of an event type, in bytes. A longer one is dropped: an event is never refused because of its
/// type.
pub const EVENT_TYPE_BYTES_MAX: usize = 255;

/// The maximum number of signatures of a known version in one header. Rotation needs two; published examples have four.
pub const SIGNATURES_MAX: usize = 16;

/// The maximum length of a signature header, in bytes: enough for [`SIGNATURES_MAX`] signatures and some of unknown
/// versions.
pub const SIGNATURE_HEADER_BYTES_MAX: usize = 4096;

/// The maximum number of secrets in one verifier. Each costs a keyed hash over every body.
pub const SECRETS_MAX: usize = 16;

/// The maximum number of different JSON pointers in one identity rule. Telegram has two dozen kinds of update.
pub const POINTERS_MAX: usize = 32;

/// The maximum depth of a JSON pointer.
pub const POINTER_DEPTH_MAX: usize = 32;

/// The maximum number of parts in a composite id or type.
pub const COMPOSITE_PARTS_MAX: usize = 16;

/// The widest tolerance for a signed timestamp. Even a day offers hardly any replay protection.
pub const TOLERANCE_SECONDS_MAX: u32 = 86_400;

/// The default tolerance, if a source configures a timestamp but no tolerance.
pub const TOLERANCE_SECONDS_DEFAULT: u32 = 300;

/// The maximum number of events in one request. SendGrid and HubSpot stay below 1,000.
pub const BATCH_EVENTS_MAX: usize = 10_000;

/// The maximum length of a body that is checked for a handshake.
pub const HANDSHAKE_BODY_BYTES_MAX: usize = 8192;

/// The maximum length of a challenge that is echoed.
pub const HANDSHAKE_ECHO_BYTES_MAX: usize = 1024;

/// The maximum number of digits of a number in a handshake.
pub const HANDSHAKE_DIGITS_MAX: usize = 18;

/// The maximum length of a secret that a provider sends in a handshake.
pub const HANDED_OVER_SECRET_BYTES_MAX: usize = 256;

/// The maximum total size of the events of one request, if each repeats its surroundings.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The maximum length of a body that is diagnosed. It is hashed a few hundred times at most.
pub const DIAGNOSIS_BODY_BYTES_MAX: usize = 256 * 1024;

/// The maximum number of other holders' secrets that a diagnosis tries.
pub const DIAGNOSIS_SECRETS_MAX: usize = 64;

/// The maximum number of fields in a signed form, and of parts in a multipart form. Twilio sends a few dozen.
pub const FORM_FIELDS_MAX: usize = 1_000;

/// The maximum length of the headers of one part of a form, which include a file's name.
pub const PART_HEADER_BYTES_MAX: usize = 8192;

/// The maximum number of headers that a provider may list as signed.
pub const SIGNED_HEADERS_MAX: usize = 64;
