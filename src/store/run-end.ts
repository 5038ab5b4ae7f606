/** How a run stands, and how it ended: read off its terminal event, so that no caller can say otherwise. */
import type { Event, Interrupt, TokenUsage } from "../protocol/index.ts";

/** How a run can end. */
export const ENDINGS = ["finished", "interrupted", "cancelled", "failed"] as const;

/** How a run stands. */
export type RunState = "running" | (typeof ENDINGS)[number];

/** How a run ended. */
export interface RunEnd {
  /** In which way. */
  readonly status: (typeof ENDINGS)[number];
  /** The questions that it left open. */
  readonly interrupts: readonly Interrupt[];
  /** The frontend calls that it left open. */
  readonly pendingToolCallIds: readonly string[];
  /** Why it failed. */
  readonly error?: { readonly message: string; readonly code?: string };
  /** What its models used, as far as it said so. */
  readonly usage?: readonly TokenUsage[];
}

/** How a run ends with these events; undefined where none of them is terminal. A late RUN_ERROR outdoes what came before. */
export function endOf(events: readonly Event[]): RunEnd | undefined {
  let end: RunEnd | undefined;
  for (const event of events) {
    if (event.type === "RUN_ERROR") {
      const { message, code, usage } = event;
      const error = code === undefined ? { message } : { message, code };
      end = { status: "failed", interrupts: [], pendingToolCallIds: [], error, ...(usage && { usage }) };
    } else if (event.type === "RUN_FINISHED" && end === undefined) {
      const { outcome, usage } = event;
      end = {
        status: STATUS_OF[outcome?.type ?? "success"],
        interrupts: outcome?.type === "interrupt" ? outcome.interrupts : [],
        pendingToolCallIds: outcome?.type === "success" ? (outcome.pendingToolCallIds ?? []) : [],
        ...(usage && { usage }),
      };
    }
  }
  return end;
}

const STATUS_OF = { success: "finished", interrupt: "interrupted", cancelled: "cancelled" } as const;
