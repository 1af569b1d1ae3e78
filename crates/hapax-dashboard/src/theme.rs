//! Light, dark, or the system's theme: a form that works without JavaScript, stored in a cookie that the script may
//! set, too.

use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use http::header::SET_COOKIE;
use maud::{Markup, html};

use super::fields::Fields;
use super::next::local;
use hapax_admin::access::{check_origin, cookie};
use hapax_admin::api_error::ApiResult;

const COOKIE_NAME: &str = "hapax_theme";
const YEAR_SECONDS: u32 = 365 * 24 * 60 * 60;

/// The colour theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The system's theme.
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// The theme from the cookie.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self::named(cookie(headers, COOKIE_NAME).unwrap_or_default())
    }

    /// Its name in the cookie, the form and the page.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|theme| theme.name() == name);
        found.unwrap_or(Self::Auto)
    }
}

/// `POST /theme`. It is harmless, so the login page has it, too.
pub(super) async fn choose(headers: HeaderMap, fields: Fields) -> ApiResult<Response> {
    check_origin(&headers)?;
    let theme = Theme::named(fields.get("theme").unwrap_or_default());
    let cookie = format!(
        "{COOKIE_NAME}={}; Path=/; Max-Age={YEAR_SECONDS}; SameSite=Strict",
        theme.name()
    );
    let back = local(fields.get("back").unwrap_or_default());
    Ok(([(SET_COOKIE, cookie)], Redirect::to(back)).into_response())
}

/// The theme switch.
pub(super) fn switch(chosen: Theme, back: &str) -> Markup {
    html! {
        form class="theme" method="post" action="/theme" data-theme-switch {
            input type="hidden" name="back" value=(back);
            div role="group" aria-label="Colours" {
                @for theme in Theme::ALL {
                    button type="submit" name="theme" value=(theme.name()) aria-pressed=((theme == chosen).to_string()) {
                        (words(theme))
                    }
                }
            }
        }
    }
}

const fn words(theme: Theme) -> &'static str {
    match theme {
        Theme::Auto => "Auto",
        Theme::Light => "Light",
        Theme::Dark => "Dark",
    }
}
