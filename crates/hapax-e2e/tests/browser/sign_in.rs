//! Single sign-on in a real browser. To it the provider is another site, as it is in production: our same-site cookies
//! are not sent from there.

use super::chromium::{Kind, browse};
use super::site::TOKEN;
use hapax_testkit::{ClaimsIn, IdentityProvider, Sender, Setup, Sink};

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_back_from_the_provider_is_on_the_page_that_was_wanted() {
    for kind in [Kind::Usual, Kind::Plain] {
        let sink = Sink::start().await;
        let setup = Setup::stripe_to(&sink).server(&format!("admin_token = \"{TOKEN}\""));
        let dashboard = format!("http://localhost:{}", setup.admin.port());
        let mut provider = IdentityProvider::new(&dashboard, setup.admin, ClaimsIn::IdToken);
        provider.start().await;
        let service = setup.table(&provider.table()).start().await;
        service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
        browse(&dashboard, kind, async |browser| {
            browser.open("/events?q=evt_1").await;
            browser.click("main a.button.primary").await;
            browser.fill("input[name=login]", "ada").await;
            browser.fill("input[name=password]", "any").await;
            browser.click("button[type=submit]").await;
            browser.find("input[name=prompt][value=consent]").await;
            browser.click("button[type=submit]").await;
            browser.until_shown("oidc:ada").await;
            assert_eq!(browser.path().await, "/events?q=evt_1");
            browser.until_shown("evt_1").await;
            browser.click(".who button").await;
            browser.until_shown("You have signed out.").await;
        })
        .await;
    }
}
