import { database } from "../../lib/database";

export const dynamic = "force-dynamic";

export async function GET(): Promise<Response> {
  return Response.json(await database()("payments").select("event_id", "amount"));
}
