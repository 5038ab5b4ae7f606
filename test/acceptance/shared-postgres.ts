/** One PostgreSQL for the servers of a test; it is gone when the test has finished. */
import { onTestFinished } from "vitest";
import { realPostgres } from "../real-postgres.ts";

/** Starts it, and gives its address as `--store` names it. */
export async function sharedPostgres(): Promise<string> {
  const postgres = await realPostgres({ own: true });
  onTestFinished(() => postgres.stop());
  return postgres.url;
}
