import { Bot, webhookCallback } from "grammy";

export const LIBRARY = "grammy";
// Nothing is signed.
export const TOKEN = "x-telegram-bot-api-secret-token";

export function sign({ id, secret }) {
    const user = { id: 1, is_bot: false, first_name: "Ada" };
    const message = { message_id: 1, from: user, date: 1767225599, chat: { id: 1, type: "private" }, text: "hello" };
    return [{ "Content-Type": "application/json", [TOKEN]: secret }, JSON.stringify({ update_id: Number(id), message })];
}

export async function verify({ method, url, headers, body }, secretToken) {
    const bot = new Bot("1:none", { botInfo: { id: 1, is_bot: true, first_name: "bot", username: "bot" } });
    let received;
    bot.on("message:text", ({ update }) => void (received = update.update_id));
    const answer = await webhookCallback(bot, "std/http", { secretToken })(new Request(url, { method, headers, body }));
    return answer.status === 200 && Number.isSafeInteger(received);
}
