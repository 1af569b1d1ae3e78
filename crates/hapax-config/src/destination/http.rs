//! The keys of an `http` destination: the URL, and how requests to it are written.

use hapax_core::Secret;
use http::Uri;

use super::{KindName, KindSettings, URL};
use crate::attempts::{self, KeyForm, check_signing_secret};
use crate::http_url::{http_url, shown_url};
use crate::section::Section;
use crate::setting::Key;

pub(super) static SIGNING_SECRET: Key<Secret> = attempts::SIGNING_SECRET.only(&["http"]);
pub(super) static IDEMPOTENCY_KEY: Key<KeyForm> = attempts::IDEMPOTENCY_KEY.only(&["http"]);

/// A URL that receives a request.
#[derive(Clone, Debug)]
pub struct Http {
    pub url: Uri,
    /// Signs the request as in Standard Webhooks.
    pub secret: Option<Secret>,
    pub key_form: KeyForm,
}

/// The keys as written in the file. They are read for every kind of destination.
pub(super) struct Keys {
    secret: Option<Secret>,
    key_form: KeyForm,
}

impl Keys {
    pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Self {
        Self {
            secret: section.secret(&SIGNING_SECRET),
            key_form: section.get(&IDEMPOTENCY_KEY),
        }
    }

    /// The destination that the keys describe.
    pub(super) fn mean(self, section: &mut Section<'_, '_, '_>, url: Option<Secret>) -> Option<Http> {
        if !section.has(&URL) {
            section.missing(
                &URL,
                "an http destination needs it, such as \"http://127.0.0.1:3000/webhooks\"",
            );
        }
        check_signing_secret(section, self.secret.as_ref());
        let url = http_url(url?.expose())
            .map_err(|error| section.problem(&URL, error))
            .ok()?;
        section.show(&URL, shown_url(&url));
        Some(Http {
            url,
            secret: self.secret,
            key_form: self.key_form,
        })
    }
}

impl KindSettings for Http {
    fn name(&self) -> KindName {
        KindName::Http
    }

    fn target(&self) -> String {
        shown_url(&self.url)
    }
}
