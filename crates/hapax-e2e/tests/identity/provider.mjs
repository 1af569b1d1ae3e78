// An identity provider for tests: node-oidc-provider, as installed in FOLDER by `./test tools`.
//
//     node provider.mjs FOLDER SETTINGS
//
// SETTINGS is JSON: `port`; `client` with its id, secret and URLs; `users` with the claims of each, by login name (any
// password is accepted); `claims_in_id_token`, or the claims are only in UserInfo; `tls` with the paths of a `key` and
// a `cert`, or it speaks plain HTTP. Each start creates a new signing key. It prints `ready`.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { pathToFileURL } from "node:url";

const [folder, settings] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${folder}/node_modules/${path}`));
const { default: Provider } = await load("oidc-provider/lib/index.js");
const { exportJWK, generateKeyPair } = await load("jose/dist/webapi/index.js");

const { port, client, users, claims_in_id_token, tls } = JSON.parse(settings);
const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const key = { ...(await exportJWK(privateKey)), use: "sig", alg: "RS256", kid: crypto.randomUUID() };

const provider = new Provider(`${tls ? "https" : "http"}://127.0.0.1:${port}`, {
    clients: [
        {
            client_id: client.id,
            client_secret: client.secret,
            redirect_uris: [client.redirect_url],
            backchannel_logout_uri: client.logout_url,
            backchannel_logout_session_required: true,
        },
    ],
    claims: { openid: ["sub"], profile: ["preferred_username", "groups", "hapax_sources"] },
    conformIdTokenClaims: !claims_in_id_token,
    cookies: { keys: [crypto.randomUUID()] },
    features: { backchannelLogout: { enabled: true } },
    // The default fetch does not call this machine.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
    findAccount: (_, id) => users[id] && { accountId: id, claims: () => ({ sub: id, ...users[id] }) },
    jwks: { keys: [key] },
    pkce: { required: () => true },
});
provider.on("server_error", (_, error) => console.error(error));
provider.on("backchannel.error", (_, error) => console.error(error));
const server = tls
    ? createTlsServer({ key: readFileSync(tls.key), cert: readFileSync(tls.cert) }, provider.callback())
    : createServer(provider.callback());
server.listen(port, "127.0.0.1", () => console.log("ready"));
