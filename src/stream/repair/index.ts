/** `heddle/stream/repair`: our gateway mode, for what an agent got wrong in sequence. Every line here is public. */
export { REPAIRS } from "./repair-rules.ts";
export { createRepairState, repair, repairEnd, repairing } from "./repair.ts";
export type { Repair, RepairOptions, RepairState, Repaired, RepairingOptions } from "./repair.ts";
