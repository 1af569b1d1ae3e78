/** Next.js calls this once, before the first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === "nodejs") {
    const { createSchema } = await import("./lib/database");
    await createSchema();
  }
}
