/** Hears of repairs where events do not pass ingest: what an agent forwards by `emit` is put right there, and logged. */
import type { Log } from "../agent/index.ts";
import { ADVICE, RULES } from "../stream/index.ts";
import { REPAIRS } from "../stream/repair/index.ts";
import type { Repair } from "../stream/repair/index.ts";

const ignore = (): void => undefined;

/** A log that keeps nothing but repairs. */
export function repairLog(onRepair: (repair: Repair) => void): Log {
  return {
    debug: ignore,
    info: ignore,
    error: ignore,
    warn(message, fields = {}) {
      const { rule } = fields;
      if (isRule(rule)) onRepair({ rule, message });
    },
  };
}

const isRule = (rule: unknown): rule is Repair["rule"] =>
  typeof rule === "string" && [RULES, ADVICE, REPAIRS].some((table) => Object.hasOwn(table, rule));
