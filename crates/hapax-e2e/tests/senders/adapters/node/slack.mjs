import { createHmac } from "node:crypto";
import bolt from "@slack/bolt";

export const LIBRARY = "@slack/bolt";

export function sign({ id, secret }) {
    const body = JSON.stringify({ type: "event_callback", event_id: id, event: { type: "app_mention" } });
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex")}`;
    return [{ "Content-Type": "application/json", "X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": signature }, body];
}

export const verify = ({ headers, body }, signingSecret) =>
    bolt.isValidSlackRequest({
        signingSecret,
        body: body.toString(),
        headers: {
            "x-slack-signature": headers["x-slack-signature"],
            "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]),
        },
    });
