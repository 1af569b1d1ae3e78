/** The providers' own libraries and ours agree: each accepts what the other signs, and refuses what was changed. */

import * as octokit from "@octokit/webhooks-methods";
import * as standardWebhooks from "standardwebhooks";
import Stripe from "stripe";
import * as svix from "svix";
import twilio from "twilio";
import { describe, expect, it } from "vitest";

import { native } from "../dist/native.js";

type Headers = Record<string, string>;

interface Sdk {
  secret: string;
  signs(secret: string): Promise<[Headers, string]>;
  /** Throws or returns false if it refuses. */
  accepts(secret: string, headers: Headers, body: string): Promise<unknown>;
}

const URL = "https://hooks.example.com/in?tenant=1";
const WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const EVENT = JSON.stringify({ id: "evt_1", object: "event", type: "invoice.paid", data: { note: "Zoë ♥ 😀" } });
const stripe = new Stripe("sk_test_none").webhooks;

function seconds(now: Date): string {
  return String(Math.floor(now.getTime() / 1000));
}

const SDKS: Record<string, Sdk> = {
  stripe: {
    secret: "whsec_test",
    signs: async (secret) => [{ "stripe-signature": stripe.generateTestHeaderString({ payload: EVENT, secret }) }, EVENT],
    accepts: async (secret, headers, body) => stripe.constructEvent(body, headers["stripe-signature"]!, secret),
  },
  svix: {
    secret: WHSEC,
    signs: async (secret) => {
      const now = new Date();
      const signature = new svix.Webhook(secret).sign("msg_1", now, EVENT);
      return [{ "svix-id": "msg_1", "svix-timestamp": seconds(now), "svix-signature": signature }, EVENT];
    },
    accepts: async (secret, headers, body) => new svix.Webhook(secret).verify(body, headers),
  },
  "standard-webhooks": {
    secret: WHSEC,
    signs: async (secret) => {
      const now = new Date();
      const signature = new standardWebhooks.Webhook(secret).sign("msg_1", now, EVENT);
      return [{ "webhook-id": "msg_1", "webhook-timestamp": seconds(now), "webhook-signature": signature }, EVENT];
    },
    accepts: async (secret, headers, body) => new standardWebhooks.Webhook(secret).verify(body, headers),
  },
  github: {
    secret: "It's a Secret to Everybody",
    signs: async (secret) => {
      const signature = await octokit.sign(secret, EVENT);
      return [{ "x-github-delivery": "delivery-1", "x-github-event": "issues", "x-hub-signature-256": signature }, EVENT];
    },
    accepts: (secret, headers, body) => octokit.verify(secret, body, headers["x-hub-signature-256"]!),
  },
  twilio: {
    secret: "0123456789abcdef0123456789abcdef",
    signs: async (secret) => {
      const form = { MessageSid: "SM1", MessageStatus: "delivered", Body: "Zoë ♥ 😀" };
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "i-twilio-idempotency-token": "token-1",
        "x-twilio-signature": twilio.getExpectedTwilioSignature(secret, URL, form),
      };
      return [headers, new URLSearchParams(form).toString()];
    },
    accepts: async (secret, headers, body) => {
      const form = Object.fromEntries(new URLSearchParams(body));
      return twilio.validateRequest(secret, headers["x-twilio-signature"]!, URL, form);
    },
  },
};

describe.each(Object.entries(SDKS))("%s", (provider, { secret, signs, accepts }) => {
  const source = native().Source.provider(provider, [secret], { publicUrl: URL });

  it("signs what we accept", async () => {
    const [headers, body] = await signs(secret);
    const receive = (text: string) => source.receive("POST", "tenant=1", Object.entries(headers), Buffer.from(text));
    const ids = [receive(body), receive(body)].map(({ events }) => events?.map(({ eventId }) => eventId));
    expect(ids[0]).toHaveLength(1);
    expect(ids[1]).toEqual(ids[0]);
    expect(receive(changed(body)).error?.code).toBe("signature_invalid");
  });

  it("accepts what we sign", async () => {
    const made = source.sample();
    const headers = Object.fromEntries(made.headers.map(([name, value]) => [name.toLowerCase(), value]));
    const body = made.body.toString();
    for (let delivery = 0; delivery < 2; delivery += 1) expect(await isAccepted(accepts(secret, headers, body))).toBe(true);
    expect(await isAccepted(accepts(secret, headers, changed(body)))).toBe(false);
  });
});

/** The same body with one letter changed. */
function changed(body: string): string {
  return body.replace("e", "E");
}

function isAccepted(verdict: Promise<unknown>): Promise<boolean> {
  return verdict.then((found) => found !== false).catch(() => false);
}
